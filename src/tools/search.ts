import { z } from "zod";
import { DIVERSITY_LAMBDA } from "../domain/defaults.ts";
import { parseInstant } from "../domain/timestamps.ts";
import type { CallContext } from "../kernel/context.ts";
import { invalid } from "../kernel/errors.ts";
import { type Ablation, holdsObservations, searchScopes } from "../services/search/request.ts";
import { type Answer, type Arguments, action, defineTool } from "./define.ts";
import { CONTENT_CHARS, choice, clamped, filledText, flag, instant, int } from "./fields.ts";
import { issueError, jsonSchema } from "./schema.ts";
import { shapeHybrid, shapeVerification } from "./search-shape.ts";
import type { Services } from "./services.ts";

const DEFAULT_LIMIT = 10;
const MOST_ROWS = 50;
/** Holds the ten rows of a default answer in the compact form. */
const DEFAULT_TOKENS = 5_000;
/** More than any answer has: "no budget". */
const MOST_TOKENS = 1_000_000;
const TAG_CHARS = 200;

const query = filledText(CONTENT_CHARS, "what to look for; verify: the claim to check");

/** A share that is moved to the nearest of 0 and 1. */
const share = z
  .number()
  .transform((value) => Math.min(1, Math.max(0, value)))
  .meta({ description: "with diversify: 1 = relevance only, 0 = diversity only", minimum: 0, maximum: 1 });

const hybridInput = z.object({
  query,
  scope: choice(searchScopes, "kinds of rows").default("all"),
  limit: clamped(1, MOST_ROWS, "most rows").default(DEFAULT_LIMIT),
  before: instant("only rows created up to then").optional(),
  after: instant("only rows created from then on").optional(),
  format: choice(["compact", "verbose"], "verbose adds the scores of each arm").default("compact"),
  tags: filledText(TAG_CHARS, "only observations with this tag").optional(),
  max_tokens: int(1, MOST_TOKENS, "token budget of the results").default(DEFAULT_TOKENS),
  diversify: flag("prefer rows that differ from each other").default(false),
  mmr_lambda: share.default(DIVERSITY_LAMBDA),
  abstain_ood: flag("answer nothing where the question lies outside of this memory").default(false),
  ood_threshold: z.number().positive().describe("distance from which abstain_ood refuses, instead of the calibrated one").optional(),
  enable_bm25: flag("false leaves the BM25 arm out").default(true),
  rerank: flag("read the best rows again with a cross-encoder; needs that model").optional(),
  associative: flag("spread over the graph; measured to hurt").default(false),
  include_unscoped: flag("with an active project, also rows of no project").default(false),
  track_access: flag("false: the rows returned do not count as used").default(true),
});
export type HybridArguments = z.output<typeof hybridInput>;

/** A search as a client gets it; `ablation` is for measurements. */
export async function answerHybrid(
  ctx: CallContext,
  a: HybridArguments,
  { search, presentation, references }: Pick<Services, "search" | "presentation" | "references">,
  ablation?: Ablation,
): Promise<Answer> {
  const [after, before] = [a.after, a.before].map((text) => (text === undefined ? undefined : parseInstant(text)));
  if (after !== undefined && before !== undefined && after.epochMicros > before.epochMicros)
    throw invalid(`after must be an instant up to before; got after ${after.text} and before ${before.text}. Nothing was searched.`, {
      field: "after",
    });
  if (a.tags !== undefined && !holdsObservations(a.scope))
    throw invalid(
      `tags narrows observations and scope '${a.scope}' has none. Use scope all or observations, or leave tags out. Nothing was searched.`,
      {
        field: "tags",
      },
    );
  const answer = await search.hybrid(
    ctx,
    {
      query: a.query,
      scope: a.scope,
      limit: a.limit,
      before: before?.text,
      after: after?.text,
      tag: a.tags,
      diversify: a.diversify,
      mmrLambda: a.mmr_lambda,
      abstainOod: a.abstain_ood,
      oodThreshold: a.ood_threshold,
      enableBm25: a.enable_bm25,
      rerank: a.rerank,
      associative: a.associative,
      includeUnscoped: a.include_unscoped,
      trackAccess: a.track_access,
    },
    ablation,
  );
  const missing = await references?.missing(
    ctx,
    answer.found.map(({ row }) => row.content),
  );
  return shapeHybrid(a.query, answer, missing ?? [], a.tags, {
    format: a.format,
    maxTokens: a.max_tokens,
    compactChars: presentation.compactChars,
  });
}

/** `cuba_faro` with public arguments, as the dispatcher would run it but for a model that is still loading, which is waited for; what `eval` measures. @throws MemoryError `invalid`. */
export const faroAsAsked =
  (services: Pick<Services, "search" | "presentation">) =>
  async (ctx: CallContext, args: Arguments, ablation: Ablation): Promise<Answer> => {
    const { mode: _mode, ...rest } = args;
    const checked = hybridInput.safeParse(rest);
    if (!checked.success) throw issueError("cuba_faro", checked.error.issues, rest, jsonSchema(hybridInput));
    return answerHybrid(ctx, checked.data, services, { ...ablation, patient: true });
  };

export default defineTool({
  name: "cuba_faro",
  group: "search",
  profile: "lean",
  title: "Search memory",
  describe:
    "Search memory before answering: words and meaning together. Rows: e entity, c content, t type, i importance, s score; the compact form saves 30 % of the tokens. rerank needs its model: off unless asked for, on in mode completo or on a card. degraded says what was not searched. mode=verify checks one claim against memory.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  selector: { name: "mode", describe: "search, or check a claim", default: "hybrid" },
  actions: {
    hybrid: action({ input: hybridInput, run: (ctx, args, services) => answerHybrid(ctx, args, services) }),
    verify: action({
      input: z.object({ query }),
      run: async (ctx, { query: claim }, { search, presentation, references }) => {
        const verification = await search.verify(ctx, claim);
        const missing = await references?.missing(ctx, [claim, ...verification.evidence.map(({ content }) => content)]);
        return shapeVerification(claim, verification, missing ?? [], presentation.compactChars);
      },
    }),
  },
});
