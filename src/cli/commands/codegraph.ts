import { resolve } from "node:path";
import { codeLanguages } from "../../domain/code/languages.ts";
import { oneOf, someOf, text } from "../../kernel/kinds.ts";
import { counted } from "../../kernel/text.ts";
import { flag, option, positional } from "../arguments.ts";
import type { CliHost } from "../command.ts";
import { command } from "../define.ts";
import type { Gateway } from "../gateway.ts";
import { createProgress } from "../progress.ts";

/** Items of one message to the owner of the memories: it reads them within some milliseconds, and a line of its socket (8 MiB) holds more than they take. */
const PIECE_ITEMS = 500;
/** Files that were passed over and are named on a screen. */
const SHOWN_SKIPPED = 20;

export default command({
  name: "codegraph",
  summary: "read source code into the graph: definitions, calls, imports",
  needs: "database",
  writes: "database",
  args: {
    what: positional(oneOf(["build"]), "build"),
    path: option(text, "directory to read; the working directory by default", { hint: "DIR" }),
    lang: option(
      someOf(codeLanguages, { ts: "typescript", js: "javascript", rs: "rust", py: "python" }),
      "languages; all of them by default",
      {
        hint: "rust,python",
      },
    ),
    project: option(text, "project that the code belongs to; that of the repository by default", { hint: "NAME", short: "p" }),
    dryRun: flag("read and count, and write nothing"),
    json: flag("print the report as JSON"),
  },
  details: [
    "Reads TypeScript, JavaScript, Go, Rust and Python by their grammar, without a model. What git ignores, dependencies, builds and links are passed over.",
    "Paths count from the top of the repository. A second run rewrites what moved and removes what the files no longer hold; what people wrote about it stays.",
    "From then on a memory that names a path or a symbol that is not in the tree is marked; it is never hidden.",
  ],
  run: async ({ path, lang, project, dryRun, json }, { gateway, host, out }) => {
    const directory = resolve(host.installation().workingDirectory, path ?? ".");
    // A file takes milliseconds, and a tree of thousands is stored in a minute: a log has little to tell before the end, a person at a terminal waits.
    const progress = createProgress(host.isInteractive ? host.stderr : () => {}, host.isInteractive, () => performance.now(), "rows");
    const languages = lang ?? codeLanguages;
    const tree = await host
      .readSourceTree({ directory, languages, onFile: (done, total) => progress.show("files", done, total) })
      .finally(() => progress.end());
    const read = { action: "codegraph_build", dry_run: dryRun, files_parsed: tree.files.length, files_skipped: tree.skipped };
    if (dryRun || tree.files.length === 0) {
      const report = {
        ...read,
        symbols_found: tree.symbols.length,
        call_edges_resolved: tree.calls.length,
        import_statements: tree.imports.length,
      };
      if (json) out.json(report);
      else {
        out.line(
          `Found ${counted(report.symbols_found, "definition")} in ${counted(report.files_parsed, "file")}, ${counted(report.call_edges_resolved, "call")} between them, ${counted(report.import_statements, "import")}.`,
        );
        skipped(tree.skipped, (line) => out.line(line));
        // An empty directory is no reason to take a graph away.
        out.line(
          tree.files.length === 0
            ? `No source of ${languages.join(", ")} below ${directory}; nothing was written.`
            : "Nothing was written.",
        );
      }
      return 0;
    }
    const road = await gateway({ project, directory });
    const done = await store(road, tree, project === undefined, (rows, total) => progress.show("rows", rows, total)).finally(() =>
      progress.end(),
    );
    const count = (key: string): number => Number(Reflect.get(Object(done), key) ?? 0);
    if (json) {
      out.json({
        ...read,
        symbols_written: count("symbols"),
        symbols_added: count("added"),
        symbols_rewritten: count("rewritten"),
        symbols_removed: count("removed"),
        call_edges_written: count("calls"),
        import_edges_attempted: count("imports"),
      });
      return 0;
    }
    out.line(
      `In the graph: ${counted(count("symbols"), "definition")} of ${counted(tree.files.length, "file")}, ${count("added")} new, ${count("rewritten")} moved or changed, ${count("removed")} gone.`,
    );
    out.line(`${counted(count("calls"), "call")} and ${counted(count("imports"), "import")}.`);
    skipped(tree.skipped, (line) => out.line(line));
    return 0;
  },
});

const PARTS = ["files", "skipped", "symbols", "calls", "imports"] as const;
type Tree = Awaited<ReturnType<CliHost["readSourceTree"]>>;

async function store(
  road: Gateway,
  { under, languages, ...tree }: Tree,
  owns: boolean,
  onRows: (done: number, total: number | undefined) => void,
): Promise<unknown> {
  const run = crypto.randomUUID();
  for (const part of PARTS)
    for (let at = 0; at < tree[part].length; at += PIECE_ITEMS)
      await road.ask("owner/codegraph-piece", { run, [part]: tree[part].slice(at, at + PIECE_ITEMS) });
  return await road.ask("owner/codegraph", { run, owns, under, languages }, onRows);
}

function skipped(files: readonly (readonly [path: string, reason: string])[], say: (line: string) => void): void {
  if (files.length === 0) return;
  say(`Passed over ${files.length}:`);
  for (const [path, reason] of files.slice(0, SHOWN_SKIPPED)) say(`  ${path}: ${reason}`);
  if (files.length > SHOWN_SKIPPED) say(`  … and ${files.length - SHOWN_SKIPPED} more (--json names them all)`);
}
