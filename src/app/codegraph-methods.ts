/**
 * What `codegraph build` gives to the owner of the memories. A tree can be larger than a line of the socket may be: it comes in pieces of JSON text,
 * and is stored when the last one is there.
 */
import { z } from "zod";
import { codeLanguages } from "../domain/code/languages.ts";
import { invalid } from "../kernel/errors.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { CodeGraph } from "../services/codegraph/store.ts";

const edge = z.object({ from: z.string(), to: z.string() });
const tree = z.object({
  under: z.string(),
  languages: z.array(z.enum(codeLanguages)),
  files: z.array(z.string()),
  skipped: z.array(z.tuple([z.string(), z.string()])),
  symbols: z.array(
    z.object({
      name: z.string(),
      kind: z.string(),
      file: z.string(),
      firstLine: z.int(),
      lastLine: z.int(),
      signature: z.string(),
    }),
  ),
  calls: z.array(edge),
  imports: z.array(edge.extend({ external: z.boolean() })),
});

const piece = z.object({ run: z.uuid(), text: z.string() });
const whole = z.object({ run: z.uuid(), owns: z.boolean() });

/** Runs whose pieces are kept at once: who breaks off leaves his behind until others come. */
const MOST_RUNS = 4;

export function codegraphMethods(graph: CodeGraph): [string, OwnerMethod][] {
  const runs = new Map<string, string[]>();
  return [
    [
      "owner/codegraph-piece",
      async (params) => {
        const { run, text } = piece.parse(params);
        const pieces = runs.get(run) ?? [];
        pieces.push(text);
        runs.set(run, pieces);
        const [oldest] = runs.keys();
        if (runs.size > MOST_RUNS && oldest !== undefined) runs.delete(oldest);
        return { pieces: pieces.length };
      },
    ],
    [
      "owner/codegraph",
      async (params, { signal, log, scope }) => {
        const { run, owns } = whole.parse(params);
        const pieces = runs.get(run);
        runs.delete(run);
        if (pieces === undefined)
          throw invalid("The pieces of this source tree are not here any more. Nothing was written. Run the command again.");
        const found = tree.parse(JSON.parse(pieces.join("")));
        return await graph.store({ principal: { kind: "owner" }, scope: await scope(), signal, log }, found, { owns });
      },
    ],
  ];
}
