/**
 * What does it cost to have a tokenizer? Load time, memory, time a text and equal ids of three ways to run one `tokenizer.json`:
 * the compact vocabulary, the general library, and (with --native=FOLDER, a folder where npm installed `tokenizers`) the native package.
 *
 *   npm run bench -- tokenizer-load --model=DIRECTORY --texts=FILE.jsonl [--rounds=5] [--native=FOLDER]
 *
 * Each measurement is a process of its own; rounds are interleaved. `texts`: JSON lines with `content` or `query`.
 */
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { loadTokenizer, prepareTokenizer } from "../src/inference/tokenizer/load.ts";

const variants = ["compact", "library", "native"] as const;
type Variant = (typeof variants)[number];
type Encode = (text: string) => readonly number[] | Promise<readonly number[]>;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "" },
    texts: { type: "string", multiple: true, default: [] },
    native: { type: "string" },
    rounds: { type: "string", default: "5" },
    child: { type: "string" },
  },
});
const resultSchema = z.object({
  loadMs: z.number(),
  rssMb: z.number(),
  afterMb: z.number(),
  usPerText: z.number(),
  texts: z.number(),
  digest: z.string(),
});
type Result = z.infer<typeof resultSchema>;

const NO_LIMIT = 1_000_000;
const rssMb = () => process.memoryUsage.rss() / 1e6;

async function readTexts(): Promise<string[]> {
  const texts = new Set<string>();
  for (const file of values.texts) {
    for (const line of (await Bun.file(file).text()).split("\n").filter((each) => each !== "")) {
      const row: { content?: string; query?: string } = JSON.parse(line);
      texts.add(row.content ?? row.query ?? "");
    }
  }
  return [...texts];
}

async function open(variant: Variant): Promise<Encode> {
  if (variant === "compact") {
    const { encoder } = await loadTokenizer({ directory: values.model });
    return (text) => encoder.encode(text, NO_LIMIT);
  }
  const file = join(values.model, "tokenizer.json");
  if (variant === "library") {
    const { Tokenizer } = await import("@huggingface/tokenizers");
    const tokenizer = new Tokenizer(JSON.parse(await Bun.file(file).text()), {});
    return (text) => tokenizer.encode(text).ids;
  }
  const { Tokenizer } = await import(Bun.resolveSync("tokenizers", values.native ?? "."));
  const tokenizer = Tokenizer.fromFile(file);
  return async (text) => (await tokenizer.encode(text)).getIds();
}

async function measure(variant: Variant): Promise<Result> {
  const texts = await readTexts();
  Bun.gc(true);
  const before = rssMb();
  const started = performance.now();
  const encode = await open(variant);
  await encode("hello");
  const loadMs = performance.now() - started;
  const loaded = rssMb();
  const hasher = new Bun.CryptoHasher("sha256");
  const encoding = performance.now();
  for (const text of texts) hasher.update(`${(await encode(text)).join()}\n`);
  const usPerText = ((performance.now() - encoding) * 1_000) / texts.length;
  return {
    loadMs,
    rssMb: loaded - before,
    afterMb: rssMb() - before,
    usPerText,
    texts: texts.length,
    digest: hasher.digest("hex").slice(0, 12),
  };
}

async function inChild(variant: Variant): Promise<Result> {
  const child = Bun.spawn([process.execPath, import.meta.path, ...process.argv.slice(2), `--child=${variant}`], {
    stdout: "pipe",
    stderr: "inherit",
  });
  return resultSchema.parse(JSON.parse(await child.stdout.text()));
}

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

async function main(): Promise<void> {
  await prepareTokenizer({ directory: values.model });
  const chosen = variants.filter((variant) => variant !== "native" || values.native !== undefined);
  const results = new Map<Variant, Result[]>(chosen.map((variant) => [variant, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const variant of chosen) results.get(variant)?.push(await inChild(variant));
  }
  console.log(
    `${cpus()[0]?.model} × ${cpus().length}, ${Math.round(totalmem() / 1e9)} GB, load ${loadavg()[0]?.toFixed(1)}, Bun ${Bun.version}`,
  );
  console.log(`model ${values.model}, ${values.rounds} rounds, medians (least–most)`);
  for (const [variant, all] of results) {
    const spread = (pick: (result: Result) => number) => {
      const numbers = all.map(pick);
      return `${median(numbers).toFixed(0)} (${Math.min(...numbers).toFixed(0)}–${Math.max(...numbers).toFixed(0)})`;
    };
    console.log(
      `${variant.padEnd(8)} load ${spread((r) => r.loadMs)} ms · resident +${spread((r) => r.rssMb)} MB, after ${all[0]?.texts} texts +${spread((r) => r.afterMb)} MB · ${spread((r) => r.usPerText)} µs a text · ids ${all[0]?.digest}`,
    );
  }
}

const childVariant = variants.find((variant) => variant === values.child);
if (childVariant === undefined) await main();
else console.log(JSON.stringify(await measure(childVariant)));
