/** Reads the parts of a `tokenizer.json` that we can do ourselves; says why not where a model wants more. */
import { z } from "zod";
import type { PairItem } from "./pair.ts";
import type { NormalizeStep, SplitStep } from "./pipeline.ts";

/** A token that is cut out of the text before anything else happens to it. */
export const addedTokenSchema = z.object({
  id: z.int().nonnegative(),
  content: z.string().min(1),
  lstrip: z.boolean(),
  rstrip: z.boolean(),
  /** Matched in the normalised text, in its own normalised form; otherwise in the text as written. */
  normalized: z.boolean(),
});

/** Thrown inside this module only: this tokenizer needs the general library. */
class Unsupported extends Error {}
const unsupported = (what: string): never => {
  throw new Unsupported(what);
};

const part = z.looseObject({ type: z.string() });
type Part = z.infer<typeof part>;
const segment = z.int().nonnegative().default(0);
const specialItem = z.object({ SpecialToken: z.object({ id: z.string(), type_id: segment }) });
const sequenceItem = z.object({ Sequence: z.object({ id: z.string(), type_id: segment }) });
const template = z.array(z.union([specialItem, sequenceItem]));

const tokenizerFileSchema = z.looseObject({
  added_tokens: z.array(
    z.looseObject({
      id: z.int().nonnegative(),
      content: z.string().min(1),
      single_word: z.boolean().default(false),
      lstrip: z.boolean().default(false),
      rstrip: z.boolean().default(false),
      normalized: z.boolean().default(false),
    }),
  ),
  normalizer: part.nullable(),
  pre_tokenizer: part.nullable(),
  post_processor: part.nullable(),
  model: z.looseObject({ type: z.string().optional() }),
});

export type AddedToken = z.infer<typeof addedTokenSchema>;

/** Everything of a tokenizer but the layout of its pieces. */
export interface Recipe {
  readonly normalize: readonly NormalizeStep[];
  /** Decoded `precompiled_charsmap`, where a step wants one. */
  readonly charsMap: Uint8Array | undefined;
  readonly split: readonly SplitStep[];
  readonly added: readonly AddedToken[];
  /** Ids put before and after the text's own. */
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** The frame for two texts; empty where the tokenizer has none. */
  readonly pair: readonly PairItem[];
  readonly model:
    | { readonly type: "unigram"; readonly pieces: readonly string[]; readonly scores: readonly number[]; readonly unkId: number }
    | {
        readonly type: "wordpiece";
        readonly pieces: readonly string[];
        readonly unkId: number;
        readonly continuation: string;
        readonly longestWord: number;
      };
}

export type RecipeResult = { readonly kind: "recipe"; readonly recipe: Recipe } | { readonly kind: "unsupported"; readonly why: string };

/** @param json the parsed `tokenizer.json`. */
export function readRecipe(json: unknown): RecipeResult {
  const parsed = tokenizerFileSchema.safeParse(json);
  if (!parsed.success) return { kind: "unsupported", why: `not a tokenizer.json we know: ${parsed.error.issues[0]?.path.join(".") ?? ""}` };
  const file = parsed.data;
  try {
    const charsMaps: Uint8Array[] = [];
    const normalize = file.normalizer === null ? [] : normalizeSteps(file.normalizer, charsMaps);
    if (charsMaps.length > 1) unsupported("two character maps");
    const added = file.added_tokens.map(({ id, content, lstrip, rstrip, single_word, normalized }) => {
      if (single_word) unsupported("an added token that must stand alone");
      return { id, content, lstrip, rstrip, normalized };
    });
    const { before, after, pair } = file.post_processor === null ? { before: [], after: [], pair: [] } : frame(file.post_processor, added);
    return {
      kind: "recipe",
      recipe: {
        normalize,
        charsMap: charsMaps[0],
        split: file.pre_tokenizer === null ? [] : splitSteps(file.pre_tokenizer),
        added,
        before,
        after,
        pair,
        model: readModel(file.model),
      },
    };
  } catch (error) {
    // A part of an unknown shape (zod) is as unknown as one of an unknown name.
    if (error instanceof z.ZodError) return { kind: "unsupported", why: `an unexpected ${error.issues[0]?.path.join(".") ?? "shape"}` };
    if (error instanceof Unsupported) return { kind: "unsupported", why: error.message };
    throw error;
  }
}

const list = (value: unknown, what: string): Part[] => {
  const parsed = z.array(part).safeParse(value);
  return parsed.success ? parsed.data : unsupported(what);
};

/** Regular expressions of which JavaScript and the reference's engine think alike: literal characters, `\s`, and repetition. */
const PLAIN_REGEX = /^(?:[ \w]|\\s)(?:\{\d+,?\d*\}|[+*])?$/;

function normalizeSteps(step: Part, charsMaps: Uint8Array[]): NormalizeStep[] {
  switch (step.type) {
    case "Sequence":
      return list(step["normalizers"], "normalizers").flatMap((each) => normalizeSteps(each, charsMaps));
    case "Precompiled":
      // An empty map is what converters write for "leave the text alone".
      if (step["precompiled_charsmap"] === null || step["precompiled_charsmap"] === "") return [];
      charsMaps.push(Uint8Array.from(Buffer.from(z.string().parse(step["precompiled_charsmap"]), "base64")));
      return [{ do: "charsmap" }];
    case "Replace": {
      const { pattern, content } = z
        .looseObject({ pattern: z.union([z.object({ String: z.string() }), z.object({ Regex: z.string() })]), content: z.string() })
        .parse(step);
      if ("String" in pattern) return [{ do: "replace", find: pattern.String, regex: false, by: content }];
      if (!PLAIN_REGEX.test(pattern.Regex)) return unsupported(`the pattern ${pattern.Regex}`);
      return [{ do: "replace", find: pattern.Regex, regex: true, by: content }];
    }
    case "Strip":
      return [{ do: "strip", left: step["strip_left"] === true, right: step["strip_right"] === true }];
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD":
      return [{ do: "form", form: step.type }];
    case "Lowercase":
      return [{ do: "lowercase" }];
    case "BertNormalizer": {
      const lowercase = step["lowercase"] === true;
      // `null` means: as the case is treated.
      const accents = step["strip_accents"] === null || step["strip_accents"] === undefined ? lowercase : step["strip_accents"] === true;
      return [{ do: "bert", clean: step["clean_text"] === true, chinese: step["handle_chinese_chars"] === true, accents, lowercase }];
    }
    default:
      return unsupported(`the normalizer ${step.type}`);
  }
}

function splitSteps(step: Part): SplitStep[] {
  switch (step.type) {
    case "Sequence":
      return list(step["pretokenizers"], "pretokenizers").flatMap(splitSteps);
    case "WhitespaceSplit":
      return [{ do: "whitespace" }];
    case "BertPreTokenizer":
      return [{ do: "bert" }];
    case "Metaspace": {
      const mark = z.string().length(1).parse(step["replacement"]);
      const prepend = z.enum(["always", "first", "never"]).default(step["add_prefix_space"] === false ? "never" : "always");
      return [{ do: "metaspace", mark, prepend: prepend.parse(step["prepend_scheme"]), split: step["split"] !== false }];
    }
    default:
      return unsupported(`the pre-tokenizer ${step.type}`);
  }
}

/** The special ids around a single text, and the frame for two. */
function frame(step: Part, added: readonly AddedToken[]): Pick<Recipe, "before" | "after" | "pair"> {
  const idOf = (content: string) => added.find((each) => each.content === content)?.id ?? unsupported(`the special token ${content}`);
  const edge = z.tuple([z.string(), z.int()]);
  switch (step.type) {
    case "TemplateProcessing": {
      const before: number[] = [];
      const after: number[] = [];
      let text = false;
      for (const item of template.parse(step["single"])) {
        if ("Sequence" in item) text = true;
        else (text ? after : before).push(idOf(item.SpecialToken.id));
      }
      const pair = template.parse(step["pair"] ?? []).map((item): PairItem => {
        if ("SpecialToken" in item) return { special: idOf(item.SpecialToken.id), type: item.SpecialToken.type_id };
        return { text: item.Sequence.id === "A" ? "first" : "second", type: item.Sequence.type_id };
      });
      return { before, after, pair };
    }
    case "BertProcessing":
    case "RobertaProcessing": {
      const [open, close] = [edge.parse(step["cls"])[1], edge.parse(step["sep"])[1]];
      const isRoberta = step.type === "RobertaProcessing";
      // RoBERTa doubles the mark between the texts and knows one segment only.
      const second = isRoberta ? 0 : 1;
      const between = isRoberta ? [{ special: close, type: 0 }] : [];
      return {
        before: [open],
        after: [close],
        pair: [
          { special: open, type: 0 },
          { text: "first", type: 0 },
          { special: close, type: 0 },
          ...between,
          { text: "second", type: second },
          { special: close, type: second },
        ],
      };
    }
    default:
      return unsupported(`the post-processor ${step.type}`);
  }
}

function readModel(model: { readonly type?: string | undefined; readonly [key: string]: unknown }): Recipe["model"] {
  const vocab = model["vocab"];
  if (Array.isArray(vocab) && (model.type === undefined || model.type === "Unigram")) {
    if (model["byte_fallback"] === true) unsupported("byte fallback");
    const pieces: string[] = [];
    const scores: number[] = [];
    // By hand, not by zod: a quarter of a million pairs.
    for (const pair of vocab) {
      const [piece, score]: unknown[] = Array.isArray(pair) ? pair : [];
      if (typeof piece !== "string" || typeof score !== "number") return unsupported("a vocabulary entry that is no [piece, score]");
      pieces.push(piece);
      scores.push(score);
    }
    const unkId = model["unk_id"];
    if (typeof unkId !== "number" || pieces[unkId] === undefined) return unsupported("a Unigram vocabulary without an unknown token");
    return { type: "unigram", pieces, scores, unkId };
  }
  if (model.type === "WordPiece" && typeof vocab === "object" && vocab !== null) {
    const pieces: string[] = [];
    for (const [piece, id] of Object.entries(vocab)) {
      if (typeof id !== "number" || pieces[id] !== undefined) return unsupported("a vocabulary with an id twice");
      pieces[id] = piece;
    }
    if (Object.keys(pieces).length !== pieces.length) return unsupported("a vocabulary with gaps");
    const { unk_token, continuing_subword_prefix, max_input_chars_per_word } = z
      .looseObject({
        unk_token: z.string(),
        continuing_subword_prefix: z.string().default("##"),
        max_input_chars_per_word: z.int().positive().default(100),
      })
      .parse(model);
    const unkId = pieces.indexOf(unk_token);
    if (unkId < 0) return unsupported("an unknown token outside the vocabulary");
    return { type: "wordpiece", pieces, unkId, continuation: continuing_subword_prefix, longestWord: max_input_chars_per_word };
  }
  return unsupported(`the model ${model.type ?? "without a type"}`);
}
