import { z } from "zod";
import { invalid } from "../kernel/errors.ts";
import { redact } from "../kernel/secrets.ts";
import type { TrustedKind } from "../services/feedback.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, CONTENT_CHARS, choice, clamped, entityName, filledText, offset, uuid } from "./fields.ts";
import { fitRows, fitText, tokensLeft } from "./fit.ts";

/** Rows of each list where nothing else was asked for, and at most. */
const PENDING_ROWS = 20;
const MOST_PENDING = 200;

const observationId = uuid("observation");
const targets = z.object({
  observation_id: observationId.optional(),
  entity_name: entityName("positive, negative: the entity").optional(),
});
const judged = z.object({
  kind: choice(["observation", "episode", "error"], "promote, quarantine").default("observation"),
  id: uuid("promote, quarantine: row of that kind").optional(),
  observation_id: observationId.optional(),
});

const weigh = (verdict: "positive" | "negative") =>
  action({
    input: targets,
    run: async (ctx, a, { feedback }) => {
      if (a.observation_id === undefined && a.entity_name === undefined)
        throw invalid("observation_id or entity_name is required: what the feedback is about. Nothing was written.", {
          field: "observation_id",
        });
      const count = await feedback.weigh(ctx, verdict, { observationId: a.observation_id, entityName: a.entity_name });
      return verdict === "positive"
        ? { action: verdict, boosted_count: count, rule: "oja_positive_robbins_monro" }
        : { action: verdict, decreased_count: count, rule: "oja_negative_robbins_monro" };
    },
  });

/** The row that is meant. `observation_id` alone means an observation, whatever else there is. */
function rowOf({ kind, id, observation_id: other }: z.output<typeof judged>): { readonly kind: TrustedKind; readonly id: string } {
  const found = id ?? (kind === "observation" ? other : undefined);
  if (found !== undefined) return { kind, id: found };
  const field = kind === "observation" ? "observation_id" : "id";
  throw invalid(`${field} is required: the ${kind}'s UUID. Nothing was written. action=pending lists what waits.`, { field });
}

const decided = (action: "promote" | "quarantine", { kind, id }: ReturnType<typeof rowOf>): Answer => ({
  action,
  kind,
  [kind === "observation" ? "observation_id" : "id"]: id,
  trust: action === "promote" ? "trusted" : "quarantined",
  retrievable: action === "promote",
});

export default defineTool({
  name: "cuba_eco",
  group: "maintenance",
  profile: "standard",
  title: "Feedback",
  describe:
    "Feedback on memories: positive or negative changes their weight, correct rewrites one (the old text stays as history), pending lists what is quarantined, promote and quarantine decide it.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  actions: {
    positive: weigh("positive"),
    negative: weigh("negative"),
    correct: action({
      input: z.object({
        observation_id: observationId,
        correction: filledText(CONTENT_CHARS, "correct: the text that is right"),
        ...allowSecret,
      }),
      secretGate: ["correction"],
      run: async (ctx, a, { feedback }) => {
        const versioned = await feedback.correct(ctx, a.observation_id, a.correction);
        return { action: "correct", observation_id: a.observation_id, ...(await fitText("new_content", a.correction)), versioned };
      },
    }),
    promote: action({
      input: judged.extend(allowSecret),
      run: async (ctx, a, { feedback }) => {
        const row = rowOf(a);
        await feedback.trust(ctx, row, "trusted", { allowSecret: a.allow_secret === true });
        return decided("promote", row);
      },
    }),
    quarantine: action({
      input: judged,
      run: async (ctx, a, { feedback }) => {
        const row = rowOf(a);
        await feedback.trust(ctx, row, "quarantined", { allowSecret: true });
        return decided("quarantine", row);
      },
    }),
    pending: action({
      input: z.object({ limit: clamped(1, MOST_PENDING, "pending: rows of each list").default(PENDING_ROWS), offset: offset.optional() }),
      run: async (ctx, a, { feedback }) => {
        const start = a.offset ?? 0;
        const { observations, episodes, errors, totals } = await feedback.pending(ctx, { limit: a.limit, offset: start });
        const note = "withheld from cuba_faro and cuba_expediente until promoted: cuba_eco action=promote with kind and id.";
        const shelf = { offset: start, budget: await tokensLeft({ note }, 3) };
        const lists = [
          await fitRows({
            ...shelf,
            rows: observations.map((row) => ({
              kind: "observation",
              observation_id: row.id,
              entity: row.entity,
              content: redact(row.content),
              source: row.source,
              created_at: row.createdAt,
            })),
            total: totals.observations,
            long: "content",
          }),
          await fitRows({
            ...shelf,
            rows: episodes.map((row) => ({
              kind: "episode",
              id: row.id,
              entity: row.entity,
              content: redact(row.content),
              created_at: row.createdAt,
            })),
            total: totals.episodes,
            long: "content",
          }),
          await fitRows({
            ...shelf,
            rows: errors.map((row) => ({
              kind: "error",
              id: row.id,
              error_type: redact(row.errorType),
              error_message: redact(row.message),
              project: redact(row.project),
              created_at: row.createdAt,
            })),
            total: totals.errors,
            long: "error_message",
          }),
        ] as const;
        // One offset for three lists: the one that was cut first decides, so that none is skipped.
        const cut = lists.flatMap(({ next }) => next ?? []).sort((x, y) => x.offset - y.offset)[0];
        return {
          action: "pending",
          count: lists.reduce((sum, { rows }) => sum + rows.length, 0),
          quarantined: lists[0].rows,
          quarantined_episodes: lists[1].rows,
          quarantined_errors: lists[2].rows,
          note,
          ...(cut === undefined ? {} : { truncated: true, total: totals.observations + totals.episodes + totals.errors, next: cut }),
        };
      },
    }),
  },
});
