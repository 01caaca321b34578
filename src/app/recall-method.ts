/** `owner/recall`: what `memory-industry recall` prints, found by whoever owns the database. */
import { RECALL_TOKENS } from "../domain/defaults.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { Recall } from "../services/recall.ts";

export const recallMethod = ({ recall }: Recall): readonly [string, OwnerMethod] => [
  "owner/recall",
  async ({ project, maxTokens }, { signal, log, scope }) =>
    await recall(
      { principal: { kind: "owner" }, scope: await scope(), signal, log },
      { project: typeof project === "string" ? project : undefined, maxTokens: typeof maxTokens === "number" ? maxTokens : RECALL_TOKENS },
    ),
];
