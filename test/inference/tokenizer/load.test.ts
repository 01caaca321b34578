import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import fc from "fast-check";
import { hasCurrentCompact, loadTokenizer, prepareTokenizer } from "../../../src/inference/tokenizer/load.ts";
import { charsMapBytes } from "../../support/charsmap-bytes.ts";
import { sharedDirectory } from "../../support/shared.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";
import { byteLevelBpe } from "./byte-level-bpe.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-tokenizer-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const NO_LIMIT = 1_000_000;
const compactFile = () => join(directory, "tokenizer.compact");
const library = async (path = join(directory, "tokenizer.json")) => {
  const tokenizer = new Tokenizer(JSON.parse(await readFile(path, "utf8")), {});
  return (text: string) => tokenizer.encode(text).ids;
};
/** Writes a tokenizer.json that differs from the tiny model's where `change` says so. */
async function tokenizerWith(change: Record<string, unknown>): Promise<void> {
  await writeTinyModel(directory, { dimensions: 4, words: ["red", "car"] });
  const path = join(directory, "tokenizer.json");
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), ...change }));
}

const words = ["car", "coche", "汽车", "run", "running"];
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(...words, "汽", "é", "ñ", "Car", "CAR", "x1", "foo_bar", "</s>", "?!", "😀", "　", "\n", "\t"),
      fc.string({ maxLength: 6 }),
    ),
  )
  .map((parts) => parts.join(" "))
  // The library keeps lone surrogates apart and takes U+FEFF for white space; the reference has neither.
  .filter((each) => each.isWellFormed() && !each.includes("\ufeff"));

for (const tokenizer of ["unigram", "wordpiece"] as const) {
  test(`the compact ${tokenizer} tokenizer gives the ids of the general library`, async () => {
    await writeTinyModel(directory, { dimensions: 4, tokenizer, groups: [words] });
    const { encoder, form } = await loadTokenizer({ directory });
    const reference = await library();
    expect(form).toBe("compact");
    fc.assert(
      fc.property(text, (each) => expect(encoder.encode(each, NO_LIMIT)).toEqual(reference(each))),
      { numRuns: 500 },
    );
  });
}

for (const [tokenizer, pieces] of [
  ["unigram", ["", " red", " ", "x", "1", " car", ""]],
  ["wordpiece", ["", " red", " x", "1", " car", ""]],
] as const)
  test(`each id has its text, special tokens none, a word its blank in front: ${tokenizer}`, async () => {
    await writeTinyModel(directory, { dimensions: 4, tokenizer, words: ["red", "car"] });
    const { encoder } = await loadTokenizer({ directory });
    expect(encoder.pieces?.(encoder.encode("red x1 car", NO_LIMIT))).toEqual([...pieces]);
  });

test("a text too long is cut before the closing special token", async () => {
  await writeTinyModel(directory, { dimensions: 4, words: ["red", "car"] });
  const { encoder } = await loadTokenizer({ directory });
  const whole = encoder.encode("red car red car", NO_LIMIT);
  expect(whole).toHaveLength(6);
  expect(encoder.encode("red car red car", 4)).toEqual([...whole.slice(0, 3), ...whole.slice(-1)]);
  // One word of many pieces is cut inside.
  const letters = encoder.encode("zzzzzzzz", NO_LIMIT);
  expect(encoder.encode("zzzzzzzz", 5)).toEqual([...letters.slice(0, 4), ...letters.slice(-1)]);
});

test("unknown characters in a row are one unknown token", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  const { encoder } = await loadTokenizer({ directory });
  const [open, space, unknown, close, ...more] = encoder.encode("☃☄★", NO_LIMIT);
  expect([open, unknown, close, more.length]).toEqual([0, 3, 2, 0]);
  expect(space).toBeGreaterThan(3);
});

test("the vocabulary is made once and only read afterwards", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  expect(await hasCurrentCompact({ directory })).toBe(false);
  expect(await prepareTokenizer({ directory })).toBe("written");
  expect(await prepareTokenizer({ directory })).toBe("current");
  const before = await readFile(compactFile());
  await loadTokenizer({ directory });
  expect(await readFile(compactFile())).toEqual(before);
});

test("a copied model keeps its vocabulary, another tokenizer.json of the same size does not", async () => {
  await writeTinyModel(directory, { dimensions: 4, words: ["red"] });
  await prepareTokenizer({ directory });
  await utimes(join(directory, "tokenizer.json"), 1, 1);
  expect(await hasCurrentCompact({ directory })).toBe(true);
  await writeTinyModel(directory, { dimensions: 4, words: ["tan"] });
  expect(await hasCurrentCompact({ directory })).toBe(false);
  const { encoder } = await loadTokenizer({ directory });
  expect(encoder.encode("tan", NO_LIMIT)).toEqual((await library())("tan"));
});

test("a damaged vocabulary is made again, not believed", async () => {
  await writeTinyModel(directory, { dimensions: 4, words: ["red"] });
  await prepareTokenizer({ directory });
  const whole = await readFile(compactFile());
  const reference = await library();
  for (const damaged of [
    whole.subarray(0, whole.length - 9),
    Buffer.from(whole).fill(7, whole.length - 5_000, whole.length - 4_000),
    Buffer.from("MIVOCAB2"),
  ]) {
    await writeFile(compactFile(), damaged);
    const { encoder } = await loadTokenizer({ directory });
    expect(encoder.encode("red sun", NO_LIMIT)).toEqual(reference("red sun"));
    expect(await readFile(compactFile())).toEqual(whole);
  }
});

test("where the model's directory takes no file, the vocabulary goes to the other place", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  // A directory of that name stands in the way; permissions would not stop root.
  await mkdir(compactFile());
  const derivedDirectory = join(directory, "derived");
  await writeFile(derivedDirectory, "a file in the way");
  expect(await prepareTokenizer({ directory, derivedDirectory })).toBe("unwritable");
  expect((await loadTokenizer({ directory, derivedDirectory })).form).toBe("compact");
  await rm(derivedDirectory);
  expect(await prepareTokenizer({ directory, derivedDirectory })).toBe("written");
  expect(await hasCurrentCompact({ directory, derivedDirectory })).toBe(true);
});

test("a tokenizer that has no compact form goes through the library, and that is remembered", async () => {
  await tokenizerWith(byteLevelBpe);
  expect(await prepareTokenizer({ directory })).toBe("written");
  expect(await hasCurrentCompact({ directory })).toBe(true);
  const { encoder, form } = await loadTokenizer({ directory });
  expect(form).toBe("library");
  expect(encoder.encode("ab ba", NO_LIMIT)).toEqual([0, 6, 7, 5, 4, 2]);
  expect(encoder.encode("ab ba", 4)).toEqual([0, 6, 7, 2]);
});

test("the character map, trimming and white space of older files are followed", async () => {
  await tokenizerWith({
    normalizer: {
      type: "Sequence",
      normalizers: [
        {
          type: "Precompiled",
          precompiled_charsmap: Buffer.from(charsMapBytes({ ｒｅｄ: "unused", ｒ: "r", ｅ: "e", ｄ: "d" })).toString("base64"),
        },
        { type: "Strip", strip_left: true, strip_right: true },
        { type: "Replace", pattern: { Regex: " {2,}" }, content: " " },
      ],
    },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [{ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁", add_prefix_space: true }],
    },
  });
  const { encoder, form } = await loadTokenizer({ directory });
  expect(form).toBe("compact");
  expect(encoder.encode("  ｒｅｄ   car ", NO_LIMIT)).toEqual(encoder.encode("red car", NO_LIMIT));
});

test("a mask that is matched after normalisation, as some published files have it, keeps the compact form", async () => {
  await writeTinyModel(directory, { dimensions: 4, words: ["red", "car"] });
  const { added_tokens, model } = JSON.parse(await readFile(join(directory, "tokenizer.json"), "utf8"));
  const mask = {
    id: model.vocab.length,
    content: "<mask>",
    single_word: false,
    lstrip: true,
    rstrip: false,
    normalized: true,
    special: true,
  };
  await tokenizerWith({ added_tokens: [...added_tokens, mask] });
  const { encoder, form } = await loadTokenizer({ directory });
  expect(form).toBe("compact");
  const ids = encoder.encode("red <mask> car", NO_LIMIT);
  expect(ids).toEqual([0, ...encoder.encode("red", NO_LIMIT).slice(1, -1), mask.id, ...encoder.encode("car", NO_LIMIT).slice(1, -1), 2]);
  expect(ids).toEqual((await library())("red <mask> car"));
  // The token itself is normalised too (here: lower case), as the reference does.
  await tokenizerWith({ added_tokens: [...added_tokens, { ...mask, content: "Mask" }] });
  const { encoder: another } = await loadTokenizer({ directory });
  expect(another.encode("red MASK car", NO_LIMIT)).toEqual(ids);
  await tokenizerWith({ added_tokens: [...added_tokens, { ...mask, single_word: true }] });
  expect((await loadTokenizer({ directory })).form).toBe("library");
});

for (const [what, content] of [
  ["is missing beside the model", undefined],
  ["is not JSON", "{"],
] as const) {
  test(`a tokenizer.json that ${what} is said so`, async () => {
    if (content !== undefined) await writeFile(join(directory, "tokenizer.json"), content);
    await expect(loadTokenizer({ directory })).rejects.toThrow(`tokenizer.json ${what}`);
  });
}

const shared = sharedDirectory();
/** Every so many texts of the corpora: some 2,000 in three languages and code. */
const STEP = 7;

async function realTexts(root: string): Promise<string[]> {
  const texts = new Set<string>();
  for await (const file of new Bun.Glob("data/eval/*/*.jsonl").scan({ cwd: root })) {
    for (const line of (await readFile(join(root, file), "utf8")).split("\n").filter((each) => each !== "")) {
      const row: { content?: string; query?: string } = JSON.parse(line);
      texts.add(row.content ?? row.query ?? "");
    }
  }
  return [...texts].sort().filter((_, i) => i % STEP === 0);
}

for (const model of ["multilingual-e5-small", "all-minilm-l6-v2", "use-multilingual-3"]) {
  test.skipIf(shared === undefined)(
    `${model}: the ids of the general library on real texts in English, Spanish, Chinese and code`,
    async () => {
      const source = join(shared ?? "", "models", model);
      await writeFile(join(directory, "tokenizer.json"), await readFile(join(source, "tokenizer.json")));
      const { encoder, form } = await loadTokenizer({ directory });
      expect(form).toBe("compact");
      const { golden } = JSON.parse(await readFile(join(source, "manifest.json"), "utf8"));
      expect(encoder.encode(golden.prefix + golden.text, 512)).toEqual(golden.input_ids);
      const reference = await library();
      const texts = await realTexts(shared ?? "");
      expect(texts.length).toBeGreaterThan(1_900);
      const different = texts.filter((each) => encoder.encode(each, NO_LIMIT).join() !== reference(each).join());
      expect(different).toEqual([]);
    },
    60_000,
  );
}
