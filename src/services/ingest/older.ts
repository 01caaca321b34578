/**
 * Whether a new fact replaces an older one of its entity (`tools-graph.md` §3.10). The judge is asked outside of any transaction; whoever retires the older
 * row does so together with storing the new one, and only while the older one still says what was judged.
 */
import { cleanName } from "../../domain/names.ts";
import type { CallContext } from "../../kernel/context.ts";
import { MemoryError } from "../../kernel/errors.ts";
import type { Database } from "../../store/port.ts";
import { nearestObservation } from "../../store/queries/ingest.ts";
import { isStillThere } from "../../store/queries/rem-reading.ts";
import { addsNothing } from "../duplicates/gate.ts";
import { findEntity } from "../entities/resolve.ts";
import { type Judge, LEAST_MS, type PairJudgment } from "../judge/judge.ts";
import type { PlacedNote } from "../observations/observations.ts";

/** Below it two texts of one entity are about different things, and a judge is not worth its money. */
const RELATED_SIMILARITY = 0.3;
/** A verdict that is not surer than this retires nothing. */
const CONFIDENCE = 0.5;
/** Share of what is left of the call that judging may take. */
const SHARE = 0.8;

/** What is to happen to the older row that a note was compared with. */
export interface OlderVerdict {
  readonly decision: "update" | "add" | "noop";
  readonly id: string;
  /** What was judged. */
  readonly content: string;
}

export interface OlderParts {
  readonly db: Database;
  readonly judge: Judge;
  readonly now: () => Date;
}

/** `supersedes` and `contradicts` retire the older text, unless the judge says that the older one is what holds; `unknown` leaves both. */
function decide({ verdict, confidence, newer, backend }: PairJudgment): OlderVerdict["decision"] {
  if (verdict === "complementary" || verdict === "unrelated") return confidence > CONFIDENCE ? "add" : "noop";
  const replaces = verdict === "supersedes" || verdict === "contradicts";
  const hasRead = backend !== "heuristic" && backend !== "none";
  return replaces && hasRead && confidence > CONFIDENCE && newer !== "a" ? "update" : "noop";
}

/** Verdicts by the place of the note; none for a note that has nothing like it, and for those that no time was left for (`noop`). */
export async function judgeOlder(
  { db, judge, now }: OlderParts,
  ctx: CallContext,
  notes: readonly PlacedNote[],
): Promise<Map<number, OlderVerdict>> {
  const deadline = ctx.deadline.share(SHARE);
  const pairs = await db.read(ctx, async (tx) => {
    const found: { note: PlacedNote; id: string; content: string; createdAt: string }[] = [];
    for (const note of notes) {
      const entity = await findEntity(tx, cleanName(note.entityName), ctx.scope).catch((error: unknown) => {
        // A name that several projects have is refused when it is written.
        if (error instanceof MemoryError && error.code === "ambiguous") return undefined;
        throw error;
      });
      if (entity === undefined) continue;
      const near = await tx.first(nearestObservation({ entityId: entity.id, content: note.content, scope: ctx.scope }));
      if (near !== undefined && near.similarity >= RELATED_SIMILARITY && !addsNothing(note.content, near.content))
        found.push({ note, ...near });
    }
    return found;
  });
  const verdicts = new Map<number, OlderVerdict>();
  for (const { note, id, content, createdAt } of pairs) {
    // Forgotten, withheld or rewritten while those before it were judged: no model is shown it any more.
    const isGone = verdicts.size > 0 && (await db.read(ctx, (tx) => tx.first(isStillThere({ id, content })))) === undefined;
    const judged =
      isGone || deadline.remainingMs() < LEAST_MS
        ? undefined
        : await judge.judgePair(ctx, { text: content, createdAt }, { text: note.content, createdAt: now().toISOString() }, deadline);
    verdicts.set(note.index, { decision: judged === undefined ? "noop" : decide(judged), id, content });
  }
  return verdicts;
}
