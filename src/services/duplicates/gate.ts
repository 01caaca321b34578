/**
 * The duplicate gate at work (`tools-graph.md` §3.9): finds what a new text could repeat, among stored rows and among the items of its own
 * call, and lets the rules decide. Nothing is written here.
 */
import { DUPLICATE_SIMILARITY, type DuplicateCandidate, decideDuplicate, type GateDecision } from "../../domain/duplicate-gate.ts";
import { sameWords } from "../../domain/same-words.ts";
import { trigramSimilarity } from "../../domain/trigrams.ts";
import type { Trust } from "../../domain/trust.ts";
import type { Scope } from "../../kernel/context.ts";
import type { Tx } from "../../store/port.ts";
import { gateCandidates, recentSimilarities } from "../../store/queries/observations.ts";
import { textMarks } from "./marks.ts";

/** A text at the gate. */
export interface GateText {
  readonly id: string;
  readonly entityId: string;
  readonly content: string;
  readonly trust: Trust;
  /** The caller insists: it is stored whatever there is. */
  readonly force: boolean;
}

export interface Verdict {
  readonly decision: GateDecision;
  /** The row it repeats has all its vectors. */
  readonly ready: boolean;
}

/** Items of one call that share a mark and are compared, at most; as many as rows of the database (`SAME_MARK_ROWS`). */
const SAME_MARK_ITEMS = 5;

const unique: GateDecision = { kind: "unique", possibleConflict: undefined, matchesQuarantined: [] };

/** What stands between and around the words: everything but letters, digits and blanks, without the full stop at the end. */
const symbols = (text: string) =>
  text
    .normalize("NFKC")
    .replace(/[\p{L}\p{M}\p{N}\s]+/gu, "")
    .replace(/[.。]+$/u, "");

/**
 * True where a text says nothing that the other does not say. Same words are not enough: `a - b` is not `a + b`, `Done?` is not `Done!`,
 * and of two chat turns that differ in a comma both were said (`design.md` §6, "kept"). A full stop at the end adds nothing.
 */
export const addsNothing = (a: string, b: string): boolean => sameWords(a, b) && symbols(a) === symbols(b);

/** Same words under other symbols: neither a repetition nor a contradiction, so no business of the gate. */
const isOtherwiseSaid = (a: string, b: string) => sameWords(a, b) && symbols(a) !== symbols(b);

/** Accepted items of one call by the marks of their texts. */
class Accepted {
  readonly #byMark = new Map<string, GateText[]>();

  add(item: GateText): void {
    for (const mark of textMarks(item.content)) {
      const key = `${item.entityId}${mark}`;
      const known = this.#byMark.get(key);
      if (known === undefined) this.#byMark.set(key, [item]);
      else known.push(item);
    }
  }

  candidates(item: GateText): DuplicateCandidate[] {
    const near = new Set(
      textMarks(item.content).flatMap((mark) => this.#byMark.get(`${item.entityId}${mark}`)?.slice(-SAME_MARK_ITEMS) ?? []),
    );
    return [...near].map(({ id, content, trust }) => ({ id, content, trust, similarity: trigramSimilarity(content, item.content) }));
  }
}

/** Verdicts in the order of the items; each item is compared with the accepted ones before it too. Entities must be locked by the caller. */
export async function judgeTexts(tx: Tx, items: readonly GateText[], scope: Scope): Promise<Verdict[]> {
  const asked = items.flatMap((item, index) => (item.force ? [] : [{ index, entityId: item.entityId, content: item.content }]));
  const stored = asked.length === 0 ? [] : await tx.all(gateCandidates({ items: asked, scope }));
  const byItem = Map.groupBy(stored, (row) => row.index);
  const accepted = new Accepted();
  const verdicts: Verdict[] = [];
  for (const [index, item] of items.entries()) {
    const rows = byItem.get(index) ?? [];
    const candidates = item.force
      ? []
      : [...rows, ...accepted.candidates(item)].filter((candidate) => !isOtherwiseSaid(item.content, candidate.content));
    const decision = candidates.length === 0 ? unique : await decide(tx, item, candidates, scope);
    if (decision.kind === "unique") accepted.add(item);
    const existing = decision.kind === "unique" ? undefined : decision.existingId;
    verdicts.push({ decision, ready: rows.some((row) => row.id === existing && row.ready) });
  }
  return verdicts;
}

/** The newest rows are only asked for where the answer depends on them: a row of the same words that is not similar enough by itself. */
async function decide(tx: Tx, item: GateText, candidates: readonly DuplicateCandidate[], scope: Scope): Promise<GateDecision> {
  const { content, trust, entityId } = item;
  const depends = candidates.some((candidate) => candidate.similarity <= DUPLICATE_SIMILARITY && sameWords(content, candidate.content));
  const recent = depends ? await tx.all(recentSimilarities({ entityId, content, scope, onlyTrusted: trust === "trusted" })) : [];
  return decideDuplicate({ content, trust, candidates, recentSimilarities: recent.map((row) => row.similarity) });
}
