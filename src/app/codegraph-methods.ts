/**
 * What `codegraph build` gives to the owner of the memories. A tree can be larger than a line of the socket may be, and reading it in one go would hold
 * everybody up: it comes in pieces, and is stored when the last one is there.
 */
import { z } from "zod";
import { codeLanguages } from "../domain/code/languages.ts";
import { invalid } from "../kernel/errors.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { CodeGraph } from "../services/codegraph/store.ts";

const edge = z.object({ from: z.string(), to: z.string() });
const piece = z.object({
  run: z.uuid(),
  files: z.array(z.string()).default([]),
  skipped: z.array(z.tuple([z.string(), z.string()])).default([]),
  symbols: z
    .array(
      z.object({
        name: z.string(),
        kind: z.string(),
        file: z.string(),
        firstLine: z.int(),
        lastLine: z.int(),
        signature: z.string(),
      }),
    )
    .default([]),
  calls: z.array(edge).default([]),
  imports: z.array(edge.extend({ external: z.boolean() })).default([]),
});
const whole = z.object({ run: z.uuid(), owns: z.boolean(), under: z.string(), languages: z.array(z.enum(codeLanguages)) });

type Pieces = Omit<z.output<typeof piece>, "run">;

/** Runs whose pieces are kept at once: who breaks off leaves his behind until others come. */
const MOST_RUNS = 4;

export function codegraphMethods(graph: CodeGraph): [string, OwnerMethod][] {
  const runs = new Map<string, Pieces>();
  return [
    [
      "owner/codegraph-piece",
      async (params) => {
        const { run, files, skipped, symbols, calls, imports } = piece.parse(params);
        const before = runs.get(run) ?? { files: [], skipped: [], symbols: [], calls: [], imports: [] };
        before.files.push(...files);
        before.skipped.push(...skipped);
        before.symbols.push(...symbols);
        before.calls.push(...calls);
        before.imports.push(...imports);
        runs.set(run, before);
        const [oldest] = runs.keys();
        if (runs.size > MOST_RUNS && oldest !== undefined) runs.delete(oldest);
        return { symbols: before.symbols.length };
      },
    ],
    [
      "owner/codegraph",
      async (params, { signal, log, scope, progress }) => {
        const { run, owns, under, languages } = whole.parse(params);
        const pieces = runs.get(run);
        runs.delete(run);
        if (pieces === undefined)
          throw invalid("The pieces of this source tree are not here any more. Nothing was written. Run the command again.");
        return await graph.store(
          { principal: { kind: "owner" }, scope: await scope(), signal, log },
          { ...pieces, under, languages },
          { owns, onRows: progress },
        );
      },
    ],
  ];
}
