/** Checks the items of a list of memories one by one: what is wrong with one keeps none of the others out (`tools-graph.md` §1.2, §4.2). */

import { cleanName } from "../../domain/names.ts";
import { trustLevels } from "../../domain/trust.ts";
import { MemoryError, shown } from "../../kernel/errors.ts";
import { charCount, isBlank, isStorable } from "../../kernel/text.ts";
import { MAX_CONTENT_CHARS, type ObservationSource, type ObservationType, observationSources, observationTypes } from "./kinds.ts";
import type { PlacedNote } from "./observations.ts";

export interface ReadNotes {
  readonly notes: readonly PlacedNote[];
  /** Places of items without an entity or without content. */
  readonly skipped: readonly number[];
  /** Places of items that cannot be stored as they are, and why. */
  readonly rejected: readonly { readonly index: number; readonly reason: string }[];
}

const member = (item: unknown, key: string): unknown => (typeof item === "object" && item !== null ? Reflect.get(item, key) : undefined);
const isMissing = (value: unknown) => value === undefined || value === null || (typeof value === "string" && isBlank(value));

class BadItem extends Error {}

function text(item: unknown, key: string): string {
  const value = member(item, key);
  if (typeof value !== "string")
    throw new BadItem(`${key} must be text; got the ${Array.isArray(value) ? "array" : typeof value} ${shown(value)}`);
  if (!isStorable(value)) throw new BadItem(`${key} holds a NUL character or half a surrogate pair, which cannot be kept`);
  return value;
}

function choice<T extends string>(item: unknown, key: string, values: readonly T[], absent: T): T {
  const value = member(item, key);
  if (value === undefined || value === null) return absent;
  const known = values.find((each) => each === value);
  if (known === undefined) throw new BadItem(`Invalid ${key}: ${shown(value)}. Use ${values.join("/")}`);
  return known;
}

/** What an item says for itself comes first, but for one thing: nothing loosens a list that is withheld as a whole. */
export interface NoteDefaults {
  readonly entityName?: string | undefined;
  readonly trust?: "quarantined" | undefined;
  /** What an item must be, in the words of the caller's contract. */
  readonly wanted?: string;
}

function note(item: unknown, index: number, { entityName: entity, trust }: NoteDefaults): PlacedNote {
  const content = text(item, "content");
  const length = charCount(content);
  if (length > MAX_CONTENT_CHARS) throw new BadItem(`content has ${length} characters; at most ${MAX_CONTENT_CHARS} fit. Split it`);
  const name = isMissing(member(item, "entity_name")) ? entity : text(item, "entity_name");
  return {
    index,
    entityName: cleanName(name ?? "", "entity_name"),
    content,
    observationType: choice<ObservationType>(item, "observation_type", observationTypes, "fact"),
    source: choice<ObservationSource>(item, "source", observationSources, "agent"),
    // `trusted` loosens nothing: the policy decides then.
    trust: choice(item, "trust", trustLevels, "trusted") === "quarantined" ? "quarantined" : trust,
  };
}

export function readNotes(items: readonly unknown[], defaults: NoteDefaults = {}): ReadNotes {
  const notes: PlacedNote[] = [];
  const skipped: number[] = [];
  const rejected: { index: number; reason: string }[] = [];
  for (const [index, item] of items.entries()) {
    if (typeof item !== "object" || item === null || Array.isArray(item)) {
      rejected.push({ index, reason: `an item must be ${defaults.wanted ?? "an object with entity_name and content"}` });
      continue;
    }
    if (isMissing(member(item, "content")) || (isMissing(member(item, "entity_name")) && isMissing(defaults.entityName))) {
      skipped.push(index);
      continue;
    }
    try {
      notes.push(note(item, index, defaults));
    } catch (error) {
      if (!(error instanceof BadItem) && !(error instanceof MemoryError)) throw error;
      rejected.push({ index, reason: error.message.replace(/ Nothing was written\.$/, "") });
    }
  }
  return { notes, skipped, rejected };
}
