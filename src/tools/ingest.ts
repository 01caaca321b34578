import { z } from "zod";
import { cleanName } from "../domain/names.ts";
import { kindOfParagraph } from "../domain/paragraphs.ts";
import { invalid } from "../kernel/errors.ts";
import { charCount, isBlank } from "../kernel/text.ts";
import type { ExtractResult } from "../services/ingest/ingest.ts";
import { MAX_CONTENT_CHARS } from "../services/observations/kinds.ts";
import type { BatchResult } from "../services/observations/observations.ts";
import { readNotes } from "../services/observations/read-notes.ts";
import { batchAnswer } from "./batch-answer.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, entityName, flag, listOf, storableText } from "./fields.ts";
import { fitRows } from "./fit.ts";
import { sameNoteItem, wantedItem } from "./note-item.ts";

/** Most memories of one call. */
const MOST_ITEMS = 200;
/** Longest text that can fit into one call as paragraphs, code points; a longer one is refused unread. */
const PARSE_CHARS = MOST_ITEMS * MAX_CONTENT_CHARS;
/** Longest text that a model is given, code points: some 15,000 tokens. */
const EXTRACT_CHARS = 60_000;
/** What the list of relations that could not be written may take. */
const UNLINKED_TOKENS = 1_000;

const filled = storableText().refine((value) => !isBlank(value), { message: "text that is not blank" });
/** The two actions publish one parameter; only a model's text has a longest length. */
const textMeta = { description: "parse, auto_extract", minLength: 1 };

/** One switch for the three actions: what strangers wrote waits for review, whichever way it comes in. */
const untrusted = flag("text of strangers: waits for review; auto_extract: no relations").default(false);
const withheld = (isUntrusted: boolean) => (isUntrusted ? ("quarantined" as const) : undefined);

const nothing: BatchResult = {
  added: 0,
  deduplicated: 0,
  reinforced: 0,
  chunks: 0,
  ids: new Map(),
  entities: new Map(),
  rejected: [],
  ready: 0,
  possibleConflicts: [],
  overloads: [],
};
const noNotes = { notes: [], skipped: [], rejected: [] };

export default defineTool({
  name: "cuba_ingesta",
  group: "graph",
  profile: "lean",
  title: "Bulk input",
  describe:
    "Many memories at once. ingest: items. parse: a text, one memory a paragraph. auto_extract: a model that a person chose reads a text for lasting facts and relations.",
  hints: { readOnly: false, destructive: false, openWorld: true },
  selector: { name: "action", describe: "what to do", default: "ingest" },
  actions: {
    ingest: action({
      input: z.object({
        items: listOf(sameNoteItem, 1, MOST_ITEMS, "ingest: memories as in cuba_cronica batch_add"),
        untrusted,
        ...allowSecret,
      }),
      secretGate: ["items[].content", "items[].entity_name"],
      run: async (ctx, a, { observations }) => {
        const read = readNotes(a.items, { trust: withheld(a.untrusted), wanted: wantedItem });
        const stored = read.notes.length === 0 ? nothing : await observations.addMany(ctx, read.notes);
        return { action: "ingest", ...marked(a.untrusted), ...(await ingested(stored, read, a.items.length)) };
      },
    }),
    parse: action({
      input: z.object({ entity_name: entityName("parse: what it is about"), text: filled.meta(textMeta), untrusted, ...allowSecret }),
      secretGate: ["text", "entity_name"],
      run: async (ctx, a, { observations, textReader }) => {
        const name = cleanName(a.entity_name, "entity_name");
        if (a.text.length > PARSE_CHARS && charCount(a.text) > PARSE_CHARS)
          throw invalid(
            `text has more than ${PARSE_CHARS} characters; at most ${MOST_ITEMS} paragraphs of ${MAX_CONTENT_CHARS} fit in a call. Nothing was written. Split the text and send the parts one after the other.`,
            { field: "text" },
          );
        const { kept, short } = await textReader.paragraphs(ctx, a.text, MAX_CONTENT_CHARS);
        if (kept.length > MOST_ITEMS)
          throw invalid(
            `text has ${kept.length} paragraphs; at most ${MOST_ITEMS} fit in a call. Nothing was written. Split the text and send the parts one after the other.`,
            { field: "text" },
          );
        const skipped = short === 0 ? {} : { skipped_short: short };
        if (kept.length === 0) {
          const note = "No paragraph of the text is longer than 10 characters. Nothing was written.";
          return { action: "parse", entity_name: name, parsed_count: 0, note, ...(await ingested(nothing, noNotes, 0)), ...skipped };
        }
        const notes = kept.map((content, index) => ({
          index,
          entityName: name,
          content,
          observationType: kindOfParagraph(content),
          source: "agent" as const,
          trust: withheld(a.untrusted),
        }));
        const stored = await observations.addMany(ctx, notes, async (_tx, outcomes) => {
          const [first] = outcomes;
          // All paragraphs are about one entity: what refuses one refuses all.
          if (first?.kind === "refused") throw first.error;
        });
        const about = stored.entities.get(0);
        return {
          action: "parse",
          entity_name: about?.entityName ?? name,
          ...(about?.requestedName === undefined ? {} : { requested_name: about.requestedName }),
          parsed_count: kept.length,
          ...marked(a.untrusted),
          ...(await ingested(stored, { ...noNotes, notes }, kept.length)),
          ...skipped,
        };
      },
    }),
    auto_extract: action({
      input: z.object({
        text: filled
          .refine((value) => charCount(value) <= EXTRACT_CHARS, { message: `text of at most ${EXTRACT_CHARS} characters; split it` })
          .meta(textMeta),
        entity_hint: entityName("auto_extract: subject").optional(),
        supersede_conflicts: flag("auto_extract: the judge may retire what a fact replaces; deletes nothing").default(false),
        untrusted,
        ...allowSecret,
      }),
      secretGate: ["text", "entity_hint"],
      run: async (ctx, a, { ingest }) =>
        await extracted(
          await ingest.extract(ctx, {
            text: a.text.trim(),
            hint: a.entity_hint,
            supersede: a.supersede_conflicts,
            untrusted: a.untrusted,
            allowSecret: a.allow_secret ?? false,
          }),
          a.untrusted,
        ),
    }),
  },
});

const marked = (isUntrusted: boolean): Answer => (isUntrusted ? { untrusted: true } : {});

const ingested = async (stored: BatchResult, read: ReturnType<typeof readNotes>, items: number): Promise<Answer> => ({
  ...(await batchAnswer(stored, read, items)),
  skipped_invalid: read.skipped.length,
  total_items: items,
});

async function extracted(result: ExtractResult, untrusted: boolean): Promise<Answer> {
  const head = { action: "auto_extract", untrusted };
  if (result.kind === "none") {
    const { reason, note, tried } = result;
    return { ...head, extracted: 0, added: 0, relations_linked: 0, degraded: true, reason, note, ...(tried.length === 0 ? {} : { tried }) };
  }
  const { found, read, stored, linked, unlinked, unsupported, invented, undecided, superseded, backend, tried } = result;
  const shown = await fitRows({ rows: unlinked.map((each) => ({ ...each })), total: unlinked.length, offset: 0, budget: UNLINKED_TOKENS });
  const rest = {
    relations_linked: linked,
    backend,
    ...(unlinked.length === 0 ? {} : { relations_rejected: shown.rows, relations_rejected_total: unlinked.length }),
    ...(found.dropped === 0 ? {} : { dropped: found.dropped }),
    ...(tried.length === 0 ? {} : { tried }),
  };
  if (found.facts.length === 0) return { ...head, extracted: 0, added: 0, ...rest, note: emptyNote(result, untrusted) };
  // What overload retired is told by its warning; here the word means what the judge retired.
  const { superseded: _, ...batch } = await ingested(stored, read, found.facts.length);
  const add = read.notes.length - superseded - (undecided ?? 0);
  return {
    ...head,
    extracted: found.facts.length,
    ...batch,
    ...rest,
    ...(unsupported === 0 ? {} : { unsupported }),
    ...(invented === 0 ? {} : { invented }),
    ...(undecided === undefined ? {} : { superseded, operations: { add, update: superseded, delete: 0, noop: undecided } }),
  };
}

function emptyNote({ found }: Extract<ExtractResult, { kind: "read" }>, untrusted: boolean): string {
  if (!found.isReadable) return "The model's answer could not be read as facts. Nothing was written. Try again, or use action=parse.";
  if (found.relations.length === 0) return "The model found nothing in the text that lasts. Nothing was written.";
  return untrusted
    ? `The model found ${found.relations.length} relations and no fact; relations of an untrusted text are not written.`
    : "The model found relations and no fact.";
}
