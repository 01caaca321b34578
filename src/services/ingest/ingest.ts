/**
 * Memories read out of a text by a model (`tools-graph.md` §4.4, auto_extract). The model is asked outside of any transaction; facts, relations and what
 * they retire are written in one. What the model says is somebody's text: it is checked like any other, and nothing of it is ever deleted for it.
 */
import { type Extraction, readExtraction, supportCheck } from "../../domain/extraction.ts";
import { namesCheck, occurrenceCheck } from "../../domain/occurrence.ts";
import type { CallContext } from "../../kernel/context.ts";
import { findSecret } from "../../kernel/secrets.ts";
import type { Ladder } from "../../llm/ladder.ts";
import type { ChatBackend } from "../../llm/port.ts";
import type { Tx } from "../../store/port.ts";
import type { TriedRung } from "../judge/judge.ts";
import { observationTypes } from "../observations/kinds.ts";
import type { BatchResult, Observations } from "../observations/observations.ts";
import { type ReadNotes, readNotes } from "../observations/read-notes.ts";
import type { NoteStore, RefusedNote, StoredNote } from "../observations/store.ts";
import { storeReadEdge } from "../relations/read-edge.ts";
import { askLadder } from "./ask.ts";
import { judgeOlder, type OlderParts, type OlderVerdict } from "./older.ts";
import { extractionPrompt } from "./prompt.ts";

export interface ExtractRequest {
  readonly text: string;
  readonly hint: string | undefined;
  /** Ask the judge whether a fact replaces an older one. */
  readonly supersede: boolean;
  /** Nobody vouches for the text: everything is withheld, no relation is written, nothing is retired. */
  readonly untrusted: boolean;
  readonly allowSecret: boolean;
  /** Runs in the transaction that writes, behind the facts. What it throws leaves nothing written. */
  readonly after?: (tx: Tx, found: Extraction) => Promise<void>;
}

export interface UnlinkedRelation {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

interface Tally {
  /** Relations created or strengthened. */
  linked: number;
  readonly unlinked: UnlinkedRelation[];
  /** Older rows retired. */
  superseded: number;
}

export type ExtractResult =
  | {
      readonly kind: "none";
      readonly reason: "no_backend" | "backend_failed" | "out_of_budget" | "spent";
      readonly note: string;
      readonly tried: readonly TriedRung[];
    }
  | ({
      readonly kind: "read";
      readonly backend: ChatBackend;
      readonly tried: readonly TriedRung[];
      readonly found: Extraction;
      /** The facts as notes, and those that cannot be stored. */
      readonly read: ReadNotes;
      readonly stored: BatchResult;
      /** Facts without a word of the text; withheld. */
      readonly unsupported: number;
      /** Facts about, or with, a name that the text does not have; not stored. */
      readonly invented: number;
      /** Facts that the judge left undecided; undefined where it was not asked. */
      readonly undecided: number | undefined;
    } & Tally);

export interface Ingest {
  /** No model, a slow one and a failing one are outcomes. @throws MemoryError where writing failed: nothing was written then. */
  extract(ctx: CallContext, request: ExtractRequest): Promise<ExtractResult>;
}

export interface IngestParts extends OlderParts {
  readonly observations: Pick<Observations, "addMany">;
  readonly notes: Pick<NoteStore, "supersede">;
  readonly ladder: (sampling: CallContext["sampling"]) => Ladder;
  /** Unguessable text for the markers of a prompt. */
  readonly nonce: () => string;
}

/** What the text is about may stand beside it. */
const occurrenceIn = ({ text, hint }: ExtractRequest) => occurrenceCheck(hint === undefined ? text : `${hint}\n${text}`);

/** The facts as notes of a model; one that holds a credential is refused like a caller's, and one with a name that the text does not have was made up. */
function notesOf(
  { facts }: Extraction,
  request: ExtractRequest,
): { readonly read: ReadNotes; readonly unsupported: number; readonly invented: number } {
  const { text, untrusted, allowSecret } = request;
  const isSupported = supportCheck(text);
  const occurs = occurrenceIn(request);
  const hasItsNames = namesCheck(text, occurs);
  const refused: { index: number; reason: string }[] = [];
  let unsupported = 0;
  let invented = 0;
  const read = readNotes(
    facts.map((fact, index) => {
      const secret = allowSecret ? undefined : findSecret(`${fact.entityName}\n${fact.content}`);
      const madeUp = !occurs(fact.entityName) ? "its subject" : !hasItsNames(fact.content) ? "a name in it" : undefined;
      const isVouchedFor = isSupported(fact.content);
      if (secret !== undefined)
        refused.push({ index, reason: `refusing to write facts[${index}]: what looks like a ${secret.label} is in it` });
      else if (madeUp !== undefined) {
        invented++;
        refused.push({ index, reason: `facts[${index}] was not stored: ${madeUp} does not stand in the text` });
      } else if (!isVouchedFor) unsupported++;
      return {
        entity_name: fact.entityName,
        content: fact.content,
        observation_type: observationTypes.find((type) => type === fact.observationType) ?? "fact",
        source: "inference",
        trust: untrusted || !isVouchedFor ? "quarantined" : "trusted",
      };
    }),
  );
  const isRefused = (index: number) => refused.some((each) => each.index === index);
  return {
    read: {
      ...read,
      notes: read.notes.filter(({ index }) => !isRefused(index)),
      rejected: [...read.rejected.filter(({ index }) => !isRefused(index)), ...refused],
    },
    unsupported,
    invented,
  };
}

export function createIngest(parts: IngestParts): Ingest {
  /** One edge that cannot be written stops none of the others. */
  const link = async (tx: Tx, ctx: CallContext, { relations }: Extraction, request: ExtractRequest, tally: Tally) => {
    const occurs = occurrenceIn(request);
    for (const { from, to, relation } of relations) {
      if (!request.allowSecret && findSecret(`${from}\n${to}`) !== undefined) {
        tally.unlinked.push({ from: "***", to: "***", reason: "refusing to write a name that looks like a credential" });
        continue;
      }
      if (!occurs(from) || !occurs(to)) {
        tally.unlinked.push({ from, to, reason: "a name that does not stand in the text" });
        continue;
      }
      const refused = await storeReadEdge(tx, ctx.scope, { from, to, relation });
      if (refused === undefined) tally.linked++;
      else tally.unlinked.push({ from, to, reason: refused.message.replace(/ Nothing was written\./g, "") });
    }
  };

  /** After its replacement is stored: what the gate dropped, or withheld, retires nothing. */
  const retire = async (
    tx: Tx,
    ctx: CallContext,
    places: readonly number[],
    stored: readonly (StoredNote | RefusedNote)[],
    verdicts: ReadonlyMap<number, OlderVerdict>,
    tally: Tally,
  ) => {
    for (const [at, note] of stored.entries()) {
      const verdict = verdicts.get(places[at] ?? -1);
      if (verdict?.decision !== "update" || note.kind !== "added" || note.trust !== "trusted") continue;
      const pair = { id: verdict.id, content: verdict.content, successor: note.id };
      if (await parts.notes.supersede(tx, ctx, pair)) tally.superseded++;
    }
  };

  return {
    async extract(ctx, request) {
      const prompt = extractionPrompt(request.text, request.hint, parts.nonce());
      const asked = await askLadder(ctx, parts.ladder(ctx.sampling), prompt);
      if (asked.kind === "none") return asked;
      const found = readExtraction(asked.reply);
      const { read, unsupported, invented } = notesOf(found, request);
      const isJudged = request.supersede && !request.untrusted;
      const vouchedFor = read.notes.filter(({ trust }) => trust !== "quarantined");
      const verdicts = isJudged ? await judgeOlder(parts, ctx, vouchedFor) : new Map<number, OlderVerdict>();
      const places = read.notes.map(({ index }) => index);
      let tally: Tally = { linked: 0, unlinked: [], superseded: 0 };
      const stored = await parts.observations.addMany(ctx, read.notes, async (tx, outcomes) => {
        await request.after?.(tx, found);
        // A transaction that is tried again counts from the beginning.
        tally = { linked: 0, unlinked: [], superseded: 0 };
        if (!request.untrusted) await link(tx, ctx, found, request, tally);
        await retire(tx, ctx, places, outcomes, verdicts, tally);
      });
      const undecided = isJudged ? [...verdicts.values()].filter(({ decision }) => decision === "noop").length : undefined;
      return { kind: "read", backend: asked.backend, tried: asked.tried, found, read, stored, unsupported, invented, undecided, ...tally };
    },
  };
}
