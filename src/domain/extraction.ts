/** What a model read out of a text, taken from its reply without trusting it (`tools-graph.md` §4.4, auto_extract). */
import { type RelationType, relationTypes } from "./graph/edges.ts";
import { queryTerms } from "./lexical.ts";

/** Most facts and most relations of one reply: a text of some pages has no more that outlives the week. */
export const MOST_EXTRACTED = 50;

export interface ExtractedFact {
  readonly entityName: string;
  readonly content: string;
  /** As the model said it; whoever stores it checks it. */
  readonly observationType: string | undefined;
}

export interface ExtractedRelation {
  readonly from: string;
  readonly to: string;
  readonly relation: RelationType;
}

export interface Extraction {
  readonly facts: readonly ExtractedFact[];
  readonly relations: readonly ExtractedRelation[];
  /** Entries beyond {@link MOST_EXTRACTED}, without a name or text, or linking a thing with itself. */
  readonly dropped: number;
  /** False where the reply was no JSON of this shape. */
  readonly isReadable: boolean;
}

const member = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
const filled = (value: unknown): string | undefined => (typeof value === "string" && value.trim() !== "" ? value.trim() : undefined);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const between = (text: string, open: string, close: string): unknown => {
  const [from, to] = [text.indexOf(open), text.lastIndexOf(close)];
  return from >= 0 && to > from ? parsed(text.slice(from, to + 1)) : undefined;
};

/** The JSON in a reply: out of a program's envelope, out of a code fence, with prose around it; a bare array is a list of facts. */
function found(reply: string): unknown {
  const envelope = member(parsed(reply.trim()), "result");
  if (typeof envelope === "string") return found(envelope);
  const [object, array] = [reply.indexOf("{"), reply.indexOf("[")];
  if (object >= 0 && (array < 0 || object < array)) return between(reply, "{", "}");
  const facts = between(reply, "[", "]");
  return Array.isArray(facts) ? { facts } : undefined;
}

/** A relation of unknown type is `related_to`: what a model calls it is a detail, that two things belong together is not. */
function relationOf(item: unknown): ExtractedRelation | undefined {
  const [from, to] = [filled(member(item, "from")), filled(member(item, "to"))];
  if (from === undefined || to === undefined || from.toLowerCase() === to.toLowerCase()) return undefined;
  const type = member(item, "relation_type");
  return { from, to, relation: relationTypes.find((kind) => kind === type) ?? "related_to" };
}

function factOf(item: unknown): ExtractedFact | undefined {
  const [entityName, content, type] = [
    filled(member(item, "entity_name")),
    filled(member(item, "content")),
    filled(member(item, "observation_type")),
  ];
  return entityName === undefined || content === undefined ? undefined : { entityName, content, observationType: type };
}

/** Reads a reply; one that cannot be read has nothing in it. */
export function readExtraction(reply: string): Extraction {
  const value = found(reply);
  const [rawFacts, rawRelations] = [listOf(member(value, "facts")), listOf(member(value, "relations"))];
  const facts = rawFacts.flatMap((item) => factOf(item) ?? []).slice(0, MOST_EXTRACTED);
  const relations = rawRelations.flatMap((item) => relationOf(item) ?? []).slice(0, MOST_EXTRACTED);
  return {
    facts,
    relations,
    dropped: rawFacts.length + rawRelations.length - facts.length - relations.length,
    isReadable: Array.isArray(member(value, "facts")) || Array.isArray(member(value, "relations")),
  };
}

const formsOf = (text: string): string[] =>
  queryTerms(text)
    .filter((term) => term.selects)
    .flatMap((term) => term.forms);

/**
 * Tells whether a statement has a word in common with the text it is said to come from. One without any was invented (or translated), however well it sounds.
 * Without a word that carries meaning on either side nothing can be told, and nothing is held against it.
 */
export function supportCheck(text: string): (statement: string) => boolean {
  const there = new Set(formsOf(text));
  return (statement) => {
    const said = formsOf(statement);
    return there.size === 0 || said.length === 0 || said.some((form) => there.has(form));
  };
}
