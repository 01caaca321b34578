/** Building blocks of tool inputs. Lengths count code points; what JSON Schema cannot say stands in the refinement beside it. */
import { z } from "zod";
import { parseInstant } from "../domain/timestamps.ts";
import { canonicalJson } from "../kernel/canonical-json.ts";
import { isUuid } from "../kernel/ids.ts";
import { charCount, isBlank, isStorable } from "../kernel/text.ts";

/** Longest text of one stored memory, code points (`tools-graph.md` §1.2). */
export const CONTENT_CHARS = 10_000;
/** Longest entity name, code points. */
export const NAME_CHARS = 200;
/** Longest free label of an error, code points. */
export const LABEL_CHARS = 200;

/** Text that the database keeps as it is. */
export const storableText = () =>
  z.string().refine(isStorable, { message: "storable text: a NUL character or half a surrogate pair cannot be kept" });

/** Text of `least` to `most` code points. */
export const text = (least: number, most: number, describe: string) =>
  storableText()
    .refine((value) => charCount(value) <= most && charCount(value) >= least, { message: "length" })
    .meta({ description: describe, minLength: least, maxLength: most });

/** Text that must hold more than white space. */
export const filledText = (most: number, describe: string) =>
  storableText()
    .refine((value) => !isBlank(value), { message: "text that is not blank" })
    .refine((value) => charCount(value) <= most, { message: "length" })
    .meta({ description: describe, minLength: 1, maxLength: most });

/** Text of any length that holds more than white space; whoever takes it says how much is kept. */
export const longText = (describe: string) =>
  storableText()
    .refine((value) => !isBlank(value), { message: "text that is not blank" })
    .meta({ description: describe, minLength: 1 });

export const entityName = (describe: string) => filledText(NAME_CHARS, describe);
export const uuid = (describe: string) => z.string().refine(isUuid, { message: "a UUID" }).meta({ description: describe, format: "uuid" });
export const choice = <const T extends readonly [string, ...string[]]>(values: T, describe: string) => z.enum(values).describe(describe);
/** True or false, and nothing that merely looks like it: gates open on the boolean alone. */
export const flag = (describe: string) => z.boolean().describe(describe);
/** An integer inside its bounds, else an error. */
export const int = (least: number, most: number, describe: string) => z.int().min(least).max(most).describe(describe);
/** An integer that is moved to the nearest bound. */
export const clamped = (least: number, most: number, describe: string) =>
  z
    .int()
    .transform((value) => Math.min(most, Math.max(least, value)))
    .pipe(z.int())
    .meta({ description: describe, minimum: least, maximum: most, clamped: true });
export const number = (least: number, most: number, describe: string) => z.number().min(least).max(most).describe(describe);
export const listOf = <T extends z.ZodType>(item: T, least: number, most: number, describe: string) =>
  z.array(item).min(least).max(most).describe(describe);
export const object = (describe: string) => z.record(z.string(), z.unknown()).describe(describe);

/** True for JSON that the database gives back as it came, and not more of it. */
const isKept = (value: unknown, mostBytes: number): boolean => {
  try {
    return Buffer.byteLength(canonicalJson(value)) <= mostBytes;
  } catch {
    return false;
  }
};
/** A JSON object of at most so many KiB, serialised. */
export const storedObject = (mostKib: number, describe: string) =>
  z
    .record(z.string(), z.unknown())
    .refine((value) => isKept(value, mostKib * 1_024), {
      message: `an object of at most ${mostKib} KiB as JSON, without NUL characters and numbers beyond 2^53`,
    })
    .meta({ description: describe });
/** An instant with its zone, RFC 3339; partial dates are refused. */
export const instant = (describe: string) =>
  z
    .string()
    .refine((value) => parseInstant(value) !== undefined, { message: "an RFC 3339 instant with its zone, like 2026-03-29T10:00:00+02:00" })
    .meta({ description: describe, format: "date-time" });

/** Rows to skip in a list. */
export const offset = int(0, 1_000_000, "rows to skip");

/** The gate's switch, the same words in every gated tool. */
export const allowSecret = {
  allow_secret: flag("true keeps text that looks like a credential, verbatim, in clear; else it is refused").optional(),
};
