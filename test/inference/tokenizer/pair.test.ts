import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import fc from "fast-check";
import { loadTokenizer } from "../../../src/inference/tokenizer/load.ts";
import { assemblePair, longestFirst } from "../../../src/inference/tokenizer/pair.ts";
import { sharedDirectory } from "../../support/shared.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";
import { byteLevelBpe } from "./byte-level-bpe.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-pair-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const NO_LIMIT = 1_000_000;

describe("who is cut", () => {
  test.each([
    [3, 4, 10, 3, 4],
    [3, 20, 10, 3, 7],
    [20, 3, 10, 7, 3],
    [20, 20, 11, 5, 6],
    [21, 20, 11, 6, 5],
    [5, 5, 10, 5, 5],
    [6, 5, 10, 5, 5],
    [0, 20, 10, 0, 10],
    [20, 20, 0, 0, 0],
  ])("%p and %p tokens in a room of %p become %p and %p", (first, second, room, keptFirst, keptSecond) => {
    expect(longestFirst(first, second, room)).toEqual([keptFirst, keptSecond]);
  });

  test("the room is used up, nobody grows, and a text within half of the room is never cut", () => {
    const count = fc.nat(700);
    fc.assert(
      fc.property(count, count, count, (first, second, room) => {
        const [a, b] = longestFirst(first, second, room);
        expect(a + b).toBe(Math.min(first + second, room));
        expect(a).toBeLessThanOrEqual(first);
        expect(b).toBeLessThanOrEqual(second);
        if (first <= Math.floor(room / 2)) expect(a).toBe(first);
        if (second <= Math.floor(room / 2)) expect(b).toBe(second);
      }),
    );
  });

  test("the frame keeps its marks and says that something was cut", () => {
    const frame = [
      { special: 0, type: 0 },
      { text: "first", type: 0 },
      { special: 2, type: 0 },
      { text: "second", type: 1 },
      { special: 2, type: 1 },
    ] as const;
    expect(assemblePair(frame, [10, 11], [20, 21, 22, 23], 7)).toEqual({
      ids: [0, 10, 11, 2, 20, 21, 2],
      typeIds: [0, 0, 0, 0, 1, 1, 1],
      isCut: true,
    });
    expect(assemblePair(frame, [10, 11], [20, 21], 7).isCut).toBe(false);
  });
});

/** Writes the tiny model's tokenizer with another post-processor. */
async function withPostProcessor(tokenizer: "unigram" | "wordpiece", change: Record<string, unknown>): Promise<void> {
  await writeTinyModel(directory, { dimensions: 4, tokenizer, words: ["red", "car", "sky"] });
  const path = join(directory, "tokenizer.json");
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), ...change }));
}
const own = async (text: string) => (await loadTokenizer({ directory })).encoder.encode(text, NO_LIMIT).slice(1, -1);
const mark = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } });
const text = (id: string, type_id: number) => ({ Sequence: { id, type_id } });

describe("two texts in the frame of", () => {
  test("XLM-R: a doubled mark, one segment", async () => {
    await withPostProcessor("unigram", {
      post_processor: {
        type: "TemplateProcessing",
        single: [mark("<s>", 0), text("A", 0), mark("</s>", 0)],
        pair: [mark("<s>", 0), text("A", 0), mark("</s>", 0), mark("</s>", 0), text("B", 0), mark("</s>", 0)],
        special_tokens: {},
      },
    });
    const { encoder } = await loadTokenizer({ directory });
    const pair = encoder.encodePair("red car", "sky", NO_LIMIT);
    expect(pair.ids).toEqual([0, ...(await own("red car")), 2, 2, ...(await own("sky")), 2]);
    expect(pair.typeIds).toEqual(pair.ids.map(() => 0));
  });

  test.each([
    ["BERT by template", "TemplateProcessing"],
    ["BERT by its own processor", "BertProcessing"],
  ])("%s: one mark between, segments 0 and 1", async (_, type) => {
    await withPostProcessor(
      "wordpiece",
      type === "BertProcessing" ? { post_processor: { type, sep: ["[SEP]", 3], cls: ["[CLS]", 2] } } : {},
    );
    const { encoder } = await loadTokenizer({ directory });
    const pair = encoder.encodePair("red car", "sky", NO_LIMIT);
    expect(pair.ids).toEqual([2, ...(await own("red car")), 3, ...(await own("sky")), 3]);
    expect(pair.typeIds).toEqual([0, 0, 0, 0, 1, 1]);
  });

  test("RoBERTa by its own processor: a doubled mark, one segment", async () => {
    await withPostProcessor("unigram", {
      post_processor: { type: "RobertaProcessing", sep: ["</s>", 2], cls: ["<s>", 0], trim_offsets: true, add_prefix_space: false },
    });
    const { encoder } = await loadTokenizer({ directory });
    expect(encoder.encodePair("red", "sky", NO_LIMIT).ids).toEqual([0, ...(await own("red")), 2, 2, ...(await own("sky")), 2]);
  });

  test("DeBERTa: marks in brackets that are matched after normalisation keep the compact form", async () => {
    await writeTinyModel(directory, { dimensions: 4, words: ["red", "sky"] });
    const path = join(directory, "tokenizer.json");
    const json = JSON.parse(await readFile(path, "utf8"));
    const names = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"];
    for (const [id, content] of names.entries()) {
      json.model.vocab[id] = [content, 0];
      json.added_tokens[id] = { ...json.added_tokens[id], content, normalized: content === "[UNK]" };
    }
    json.normalizer = {
      type: "Sequence",
      normalizers: [
        { type: "Strip", strip_left: true, strip_right: true },
        { type: "Replace", pattern: { Regex: " {2,}" }, content: " " },
      ],
    };
    json.pre_tokenizer = { type: "Sequence", pretokenizers: [json.pre_tokenizer] };
    json.post_processor = {
      type: "TemplateProcessing",
      single: [mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0)],
      pair: [mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0), text("B", 1), mark("[SEP]", 1)],
      special_tokens: { "[CLS]": { id: "[CLS]", ids: [0], tokens: ["[CLS]"] }, "[SEP]": { id: "[SEP]", ids: [2], tokens: ["[SEP]"] } },
    };
    await writeFile(path, JSON.stringify(json));
    const { encoder, form } = await loadTokenizer({ directory });
    expect(form).toBe("compact");
    const pair = encoder.encodePair("  red [UNK]", "sky", NO_LIMIT);
    const library = new Tokenizer(json, {}).encode("  red [UNK]", { text_pair: "sky", return_token_type_ids: true });
    expect(pair.ids).toEqual(library.ids);
    expect(pair.typeIds).toEqual(library.token_type_ids);
  });

  test("a tokenizer without a form for two says so", async () => {
    await withPostProcessor("unigram", { post_processor: null });
    const { encoder } = await loadTokenizer({ directory });
    expect(() => encoder.encodePair("red", "sky", 10)).toThrow("the tokenizer has no form for two texts");
  });

  test("the general library, where there is no compact form", async () => {
    await withPostProcessor("unigram", byteLevelBpe);
    const { encoder, form } = await loadTokenizer({ directory });
    expect(form).toBe("library");
    expect(encoder.encodePair("ab ba", "ba", NO_LIMIT)).toEqual({
      ids: [0, 6, 7, 5, 4, 2, 5, 4, 2],
      typeIds: [0, 0, 0, 0, 0, 0, 1, 1, 1],
      isCut: false,
    });
    expect(encoder.encodePair("ab ba", "ba", 7)).toEqual({ ids: [0, 6, 7, 2, 5, 4, 2], typeIds: [0, 0, 0, 0, 1, 1, 1], isCut: true });
  });
});

test("a vocabulary made before there were pairs is made again", async () => {
  await writeTinyModel(directory, { dimensions: 4, words: ["red"] });
  await loadTokenizer({ directory });
  const path = join(directory, "tokenizer.compact");
  const file = await readFile(path);
  file.write("MIVOCAB1");
  await writeFile(path, file);
  const { encoder } = await loadTokenizer({ directory });
  expect(encoder.encodePair("red", "red", 10).isCut).toBe(false);
  expect((await readFile(path)).subarray(0, 8).toString()).toBe("MIVOCAB2");
});

const shared = sharedDirectory();
for (const model of ["tiny-reranker", "tiny-nli"]) {
  test.skipIf(shared === undefined)(`${model}: the ids of the reference for pairs in English, Spanish and Chinese`, async () => {
    const source = join(shared ?? "", "models", model);
    await writeFile(join(directory, "tokenizer.json"), await readFile(join(source, "tokenizer.json")));
    const { golden } = JSON.parse(await readFile(join(source, "manifest.json"), "utf8"));
    const { encoder } = await loadTokenizer({ directory });
    const ids = golden.pairs.map(([first, second]: [string, string]) => encoder.encodePair(first, second, 512).ids);
    expect(ids).toEqual(golden.input_ids);
  });
}
