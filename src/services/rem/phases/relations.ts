/** Relations of entities that have none, read out of what is known of them by a chosen language model (`tools-maintenance.md` §18.4). Off unless set. */
import { readExtraction } from "../../../domain/extraction.ts";
import { relationTypes } from "../../../domain/graph/edges.ts";
import { nameKey } from "../../../domain/names.ts";
import { deadlineIn } from "../../../kernel/deadline.ts";
import { findSecret, redact } from "../../../kernel/secrets.ts";
import { charCount, firstChars } from "../../../kernel/text.ts";
import type { Tx } from "../../../store/port.ts";
import {
  bestLinkedNames,
  entitiesToScan,
  entitiesWaiting,
  keptTexts,
  markScanned,
  namesThere,
  scanFailed,
  textsToScan,
} from "../../../store/queries/rem-reading.ts";
import { askLadder, READING_SHARE } from "../../ingest/ask.ts";
import { dataRules, fenced } from "../../judge/prompts.ts";
import { storeReadEdge } from "../../relations/read-edge.ts";
import { batchSize, type Reading, readRows, scopeOf } from "../asking.ts";
import type { Phase } from "../phase.ts";

/** What a model is shown: the newest texts, up to so many characters, and names that are known already. */
const SHOWN_TEXTS = 12;
const SHOWN_CHARS = 4_000;
const KNOWN_NAMES = 60;

interface Scanned {
  readonly id: string;
  readonly name: string;
  readonly entityType: string;
  readonly projectId: string | null;
}

/** Names are given so that a thing that is known is not born again under another spelling; an empty list must be an easy answer, or links are invented. */
const prompt = ({ name, entityType }: Scanned, texts: readonly string[], known: readonly string[], nonce: string): string =>
  [
    "Say which other things the ENTITY is directly related to, as far as the NOTES say so.",
    dataRules(nonce),
    `relation_type is one of ${relationTypes.join(", ")}. A relation that the notes do not state is no relation. An empty list is a valid and frequent answer.`,
    fenced("ENTITY", redact(`${name} (${entityType})`), nonce),
    fenced("NOTES", texts.map((text) => `- ${redact(text)}`).join("\n"), nonce),
    ...(known.length === 0
      ? []
      : [`Where one of these names is meant, use it as it stands:\n${fenced("KNOWN NAMES", known.map(redact).join("\n"), nonce)}`]),
    'Answer with JSON and nothing else: {"relations": [{"from": "…", "to": "…", "relation_type": "…"}]}',
  ].join("\n\n");

/** The newest texts, whole ones first; what does not fit is cut. */
function shown(texts: readonly string[]): string[] {
  const kept: string[] = [];
  let left = SHOWN_CHARS;
  for (const text of texts) {
    if (left <= 0) break;
    kept.push(firstChars(text, left));
    left -= charCount(text);
  }
  return kept;
}

export const relations: Phase = {
  name: "relations",
  columns: { count: "entitiesScanned", failed: "relationScanFailed" },
  run: async (ctx, parts) => {
    const { db, settings, nonce } = parts;
    const knownNames = new Map<string | null, readonly string[]>();

    const there = async (tx: Tx, names: readonly string[], projectId: string | null) =>
      names.length === 0 ? [] : (await tx.all(namesThere({ names, projectId }))).map(({ name }) => name);

    /** @param gone names that the model was shown and that have been forgotten or renamed since: none of them is born again. */
    const write = async (tx: Tx, entity: Scanned, reply: string, gone: ReadonlySet<string>) => {
      const scope = scopeOf(entity.projectId);
      for (const { from, to, relation } of readExtraction(reply).relations) {
        if (findSecret(`${from}\n${to}`) !== undefined || gone.has(nameKey(from)) || gone.has(nameKey(to))) continue;
        const refused = await storeReadEdge(tx, scope, { from, to, relation });
        if (refused !== undefined) ctx.log.debug("a relation that a model read was not stored", { code: refused.code });
      }
    };

    return await readRows<Scanned>(ctx, parts, {
      variable: "CUBA_REM_RELATION_BATCH",
      setting: settings.relationBatch,
      rows: () =>
        db.read(ctx, async (tx) => {
          const waiting = settings.relationBatch === "auto" ? (await tx.first(entitiesWaiting()))?.count : undefined;
          return await tx.all(entitiesToScan({ limit: batchSize(settings.relationBatch, waiting) }));
        }),
      async read(entity, ladder) {
        const scope = scopeOf(entity.projectId);
        const { texts, known } = await db.read({ ...ctx, scope }, async (tx) => {
          const before = knownNames.get(entity.projectId);
          return {
            texts: await tx.all(textsToScan({ entityId: entity.id, limit: SHOWN_TEXTS })),
            known:
              before === undefined
                ? (await tx.all(bestLinkedNames({ projectId: entity.projectId, limit: KNOWN_NAMES }))).map(({ name }) => name)
                : await there(tx, before, entity.projectId),
          };
        });
        knownNames.set(entity.projectId, known);
        const [newest] = texts;
        // Deleted or withheld since the batch was read.
        if (newest === undefined) return { kind: "refused" };
        const asked = await askLadder(
          { signal: ctx.signal, log: ctx.log, deadline: deadlineIn(settings.scanTimeoutMs / READING_SHARE) },
          ladder,
          prompt(entity, shown(texts.map(({ content }) => content)), known, nonce()),
        );
        if (asked.kind === "none" || !readExtraction(asked.reply).isReadable) return { kind: "failed" };
        return await db.write<Reading>({ ...ctx, scope }, async (tx) => {
          // What was forgotten, withheld or rewritten while the model worked says nothing any more; the entity waits for the next cycle, if it is there.
          const ids = texts.map(({ id }) => id);
          const kept = await tx.all(keptTexts({ ids, contents: texts.map(({ content }) => content) }));
          if (kept.length < ids.length) return { kind: "refused" };
          const still = new Set(await there(tx, known, entity.projectId));
          await write(tx, entity, asked.reply, new Set(known.filter((name) => !still.has(name)).map(nameKey)));
          await tx.run(markScanned({ id: entity.id, seenAt: newest.seenAt }));
          return { kind: "read", count: 1 };
        });
      },
      fail: async ({ id }) => {
        await db.write(ctx, (tx) => tx.run(scanFailed(id)));
      },
    });
  },
};
