/** A corpus of any size with the word frequencies of the development sets: their rows first, then halves of two rows of one set joined. */
import { seededRandom } from "../../src/domain/retrieval/statistics.ts";
import { evalSets, type Memory } from "./eval-sets.ts";

const hex = (random: () => number) =>
  Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");

function uuidOf(random: () => number): string {
  const digits = hex(random) + hex(random) + hex(random) + hex(random);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
}

function half(text: string, first: boolean): string {
  const pieces = /\p{sc=Han}/u.test(text) ? Array.from(text) : text.split(/(?<=\s)/);
  const middle = pieces.length >> 1;
  return (first ? pieces.slice(0, middle) : pieces.slice(middle)).join("");
}

/** `size` rows in a fixed order, so that a smaller corpus is the beginning of a larger one. */
export function growthCorpus(size: number): Memory[] {
  const random = seededRandom(12_345);
  const sets = evalSets().map(({ parts }) => parts.flatMap(({ corpus }) => corpus));
  const unique = [...new Map(sets.flat().map((memory) => [memory.id, memory])).values()];
  for (let at = unique.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    const [a, b] = [unique[at], unique[other]];
    if (a !== undefined && b !== undefined) [unique[at], unique[other]] = [b, a];
  }
  const rows = unique.slice(0, size);
  while (rows.length < size) {
    const set = sets[Math.floor(random() * sets.length)] ?? [];
    const [a, b] = [set[Math.floor(random() * set.length)], set[Math.floor(random() * set.length)]];
    if (a === undefined || b === undefined) continue;
    const content = `${half(a.content, true)} ${half(b.content, false)}`.trim();
    if (content !== "") rows.push({ id: uuidOf(random), entity: a.entity, content });
  }
  return rows;
}

/** Questions of every set, evenly taken. */
export function growthQuestions(count: number): string[] {
  const all = evalSets().flatMap(({ parts }) => parts.flatMap(({ questions }) => questions.map(({ query }) => query)));
  return Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)] ?? "");
}
