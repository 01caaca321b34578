/**
 * `dedupe --judge`: a language model that a person chose reads what is known of two entities whose names look alike (`cli-daemon.md` §3.11). It decides
 * nothing by itself: the merges that follow are shown, and done on request. With three rows of 150 characters it once declared two projects equal.
 */
import { type EntityVerdict, type Merges, mergesOf } from "../../domain/same-entities.ts";
import { readSameReply } from "../../domain/trust/reply.ts";
import type { CallScope } from "../../kernel/context.ts";
import { cancelled, MemoryError, present } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { redact } from "../../kernel/secrets.ts";
import { oneLine } from "../../kernel/text.ts";
import type { Ladder } from "../../llm/ladder.ts";
import type { Database } from "../../store/port.ts";
import { type EntityEvidence, entitiesThere, entityEvidence, evidenceCosine } from "../../store/queries/entity-evidence.ts";
import { dataRules, fenced } from "../judge/prompts.ts";

export interface ExplainedVerdict extends EntityVerdict {
  /** What the model gave as its reason, or why it said nothing. */
  readonly reason: string | null;
}

export interface JudgedEntities extends Merges {
  readonly verdicts: readonly ExplainedVerdict[];
  /** Pairs that nobody was asked about, since the models failed. */
  readonly unasked: number;
  /** Why nobody could be asked, or why no more was; undefined where all were. */
  readonly problem: string | undefined;
}

export interface SameJudge {
  judge(
    ctx: CallScope & { readonly log: Logger },
    pairs: readonly { readonly a: string; readonly b: string }[],
    onPair: (done: number, total: number) => void,
  ): Promise<JudgedEntities>;
}

/** One verdict is a line. */
const REPLY_TOKENS = 256;
/** Longest piece of a memory in a prompt, code points. */
const SAMPLE_CHARS = 300;
const NAME_CHARS = 200;
/** Failures in a row that mean that the model is gone. */
const MOST_FAILURES = 2;

const NOBODY = "No language model may be asked: nobody has chosen one ('memory-industry llm set …' or 'llm use …'). Nothing was judged.";

export interface SameJudgeParts {
  readonly db: Database;
  /** Of the running embedding model: vectors of another say nothing beside its own. */
  readonly label: string;
  readonly ladder: () => Ladder;
  readonly nonce: () => string;
  /** For one question to one model, milliseconds. */
  readonly timeoutMs: number;
}

export function createSameJudge({ db, label, ladder, nonce, timeoutMs }: SameJudgeParts): SameJudge {
  /** The first model that answers; undefined where none does. */
  const ask = async (ctx: CallScope & { readonly log: Logger }, { chats }: Ladder, prompt: string) => {
    let failure: string | undefined;
    for (const chat of chats) {
      if (ctx.signal.aborted) throw cancelled();
      try {
        const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(timeoutMs)]);
        return { reply: await chat.complete({ prompt, maxTokens: REPLY_TOKENS }, signal) };
      } catch (error) {
        if (ctx.signal.aborted || !(error instanceof MemoryError)) throw error;
        ctx.log.warn("a model that compares two entities failed", { backend: chat.backend, code: error.code });
        failure = present(error).text;
      }
    }
    return { failure };
  };

  return {
    async judge(ctx, pairs, onPair) {
      const models = ladder();
      const answers: ExplainedVerdict[] = [];
      const done = async (unasked: number, problem?: string): Promise<JudgedEntities> => {
        // A model takes its time, and its reason may say what was known: of what was taken away meanwhile nothing is repeated.
        const ids = [...new Set(answers.flatMap(({ a, b }) => [a, b]))];
        const there = new Set(
          ids.length === 0 ? [] : (await db.read(ctx, (tx) => tx.all(entitiesThere({ ids, scope: ctx.scope })))).map(({ id }) => id),
        );
        const verdicts = answers.filter(({ a, b }) => there.has(a) && there.has(b));
        return { ...mergesOf(verdicts), verdicts, unasked, problem };
      };
      if (models.chats.length === 0) return await done(pairs.length, models.problem ?? NOBODY);
      let failures = 0;
      for (const [at, { a, b }] of pairs.entries()) {
        // What is compared is read, then thought about outside of the transaction.
        const known = await db.read(ctx, async (tx) => {
          const rows = await tx.all(entityEvidence({ ids: [a, b], scope: ctx.scope }));
          return { rows, cosine: (await tx.first(evidenceCosine({ a, b, label })))?.cosine ?? null };
        });
        const [left, right] = [known.rows.find(({ id }) => id === a), known.rows.find(({ id }) => id === b)];
        // Merged or deleted since they were found: there is nothing to ask about.
        if (left === undefined || right === undefined) {
          onPair(at + 1, pairs.length);
          continue;
        }
        const { reply, failure } = await ask(ctx, models, samePrompt(left, right, known.cosine, nonce()));
        failures = reply === undefined ? failures + 1 : 0;
        answers.push({ a, b, ...(reply === undefined ? { ...NO_VERDICT, reason: failure ?? null } : readSameReply(reply)) });
        onPair(at + 1, pairs.length);
        if (failures === MOST_FAILURES) return await done(pairs.length - at - 1, failure);
      }
      return await done(0);
    },
  };
}

const NO_VERDICT = { verdict: "unknown", confidence: 0 } as const;

function side(
  label: string,
  { name, projectName, observations, sessions, firstAt, lastAt, samples }: EntityEvidence,
  nonce: string,
): string {
  const facts = [
    `name: ${oneLine(name, NAME_CHARS)}`,
    `project: ${projectName === null ? "none" : oneLine(projectName, NAME_CHARS)}`,
    `observations: ${observations}, in ${sessions} sessions${firstAt === null ? "" : `, from ${firstAt.slice(0, 10)} to ${(lastAt ?? firstAt).slice(0, 10)}`}`,
    ...samples.map((text) => `- ${oneLine(redact(text), SAMPLE_CHARS)}`),
  ];
  return fenced(label, redact(facts.join("\n")), nonce);
}

/** Are these two one thing? */
export const samePrompt = (a: EntityEvidence, b: EntityEvidence, cosine: number | null, nonce: string): string =>
  [
    "Two entries of a memory have names that look alike. Decide whether they are one and the same thing, written in two ways, or two different things.",
    dataRules(nonce),
    "That they are stored separately is no evidence: that is what is being checked. Nor is a common subject: two guides, two versions or two modules of one product are different things.",
    ...(cosine === null
      ? []
      : [`Mean similarity of what is stored about them: ${cosine.toFixed(3)} of 1. In a memory of one domain all entries are similar.`]),
    side("A", a, nonce),
    side("B", b, nonce),
    'Answer with one line of JSON and nothing else: {"verdict": "same" | "different" | "unknown", "confidence": 0 to 1, "reason": "one short sentence"}',
  ].join("\n\n");
