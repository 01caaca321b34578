/**
 * What happens to a text before segmentation, as plain values (so that a compact vocabulary can carry them) and as functions. Follows the reference
 * implementation (crate `tokenizers`), which the models were trained with; `@huggingface/tokenizers` gives the same ids on all 13,875 texts we compared.
 */
import { z } from "zod";
import type { CharsMap } from "./charsmap.ts";

export const normalizeStepSchema = z.discriminatedUnion("do", [
  z.object({ do: z.literal("charsmap") }),
  z.object({ do: z.literal("replace"), find: z.string().min(1), regex: z.boolean(), by: z.string() }),
  z.object({ do: z.literal("strip"), left: z.boolean(), right: z.boolean() }),
  z.object({ do: z.literal("form"), form: z.enum(["NFC", "NFD", "NFKC", "NFKD"]) }),
  z.object({ do: z.literal("lowercase") }),
  z.object({ do: z.literal("bert"), clean: z.boolean(), chinese: z.boolean(), accents: z.boolean(), lowercase: z.boolean() }),
]);

export const splitStepSchema = z.discriminatedUnion("do", [
  z.object({ do: z.literal("whitespace") }),
  z.object({ do: z.literal("metaspace"), mark: z.string().length(1), prepend: z.enum(["always", "first", "never"]), split: z.boolean() }),
  z.object({ do: z.literal("bert") }),
]);

export type NormalizeStep = z.infer<typeof normalizeStepSchema>;
export type SplitStep = z.infer<typeof splitStepSchema>;

/** @throws Error where a step needs a character map and there is none. */
export function createNormalizer(steps: readonly NormalizeStep[], charsMap: CharsMap | undefined): (text: string) => string {
  const functions = steps.map((each) => normalizer(each, charsMap));
  return (text) => functions.reduce((so, apply) => apply(so), text);
}

function normalizer(step: NormalizeStep, charsMap: CharsMap | undefined): (text: string) => string {
  switch (step.do) {
    case "charsmap":
      if (charsMap === undefined) throw new Error("the vocabulary names a character map and has none");
      return (text) => charsMap.apply(text);
    case "replace": {
      const pattern = new RegExp(step.regex ? step.find : RegExp.escape(step.find), "gu");
      return (text) => text.replace(pattern, () => step.by);
    }
    case "strip":
      return (text) => {
        const left = step.left ? text.replace(/^\p{White_Space}+/u, "") : text;
        return step.right ? left.replace(/\p{White_Space}+$/u, "") : left;
      };
    case "form":
      return (text) => text.normalize(step.form);
    case "lowercase":
      return (text) => text.toLowerCase();
    case "bert":
      return (text) => {
        let out = text;
        if (step.clean) out = out.replace(BERT_DROPPED, "").replace(/\p{White_Space}/gu, " ");
        if (step.chinese) out = out.replace(CJK, " $& ");
        if (step.lowercase) out = out.toLowerCase();
        return step.accents ? out.normalize("NFD").replace(/\p{Mn}/gu, "") : out;
      };
  }
}

/** The replacement character and every control (NUL too), format or private character but tab and line ends. */
const BERT_DROPPED = /(?![\t\n\r])[\ufffd\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
/** The blocks that BERT calls Chinese: ideographs and their extensions, not kana or hangul. */
const CJK =
  /[\u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{f900}-\u{faff}\u{2f800}-\u{2fa1f}]/gu;
/** A run without white space or punctuation, or one punctuation mark; ASCII symbols count as punctuation. */
const BERT_WORD = /[^\p{White_Space}\p{P}!-/:-@[-`{-~]+|[\p{P}!-/:-@[-`{-~]/gu;
const NO_SPACE = /\P{White_Space}+/gu;

/** Cuts a normalised section into words. `first`: the section begins the text. */
export function createSplitter(steps: readonly SplitStep[]): (text: string, first: boolean) => string[] {
  const functions = steps.map(splitter);
  return (text, first) => functions.reduce<string[]>((words, cut) => words.flatMap((word, i) => cut(word, first && i === 0)), [text]);
}

function splitter(step: SplitStep): (text: string, first: boolean) => string[] {
  switch (step.do) {
    case "whitespace":
      return (text) => text.match(NO_SPACE) ?? [];
    case "bert":
      return (text) => text.match(BERT_WORD) ?? [];
    case "metaspace": {
      const { mark } = step;
      const words = new RegExp(`${RegExp.escape(mark)}?[^${RegExp.escape(mark)}]+|${RegExp.escape(mark)}`, "gu");
      return (text, first) => {
        let marked = text.replaceAll(" ", mark);
        if (!marked.startsWith(mark) && (step.prepend === "always" || (step.prepend === "first" && first))) marked = mark + marked;
        return step.split ? (marked.match(words) ?? []) : [marked];
      };
    }
  }
}
