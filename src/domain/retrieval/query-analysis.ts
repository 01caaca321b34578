/** What a question looks like before anything is searched (`retrieval.md` §2.4). */
import { entropyBits } from "../density.ts";
import { alphanumericWords } from "../words.ts";

/** Shannon entropy in bits of a question's words, lower case; 0 for one without a word. n different words → log2 n. */
export const queryEntropy = (query: string): number => entropyBits(alphanumericWords(query.toLowerCase()));

/** Voices of the arms in rank fusion. `text` and `vector` sum to 1; the BM25 arm speaks as loud as the text arm. */
export interface RouterWeights {
  readonly text: number;
  readonly vector: number;
  readonly bm25: number;
}

const ROUTER_MIDPOINT = 2.75;
const ROUTER_SLOPE = 2;

/** Few words → trust the words, many → trust the meaning: a logistic curve in place of steps that jumped. H 0 → text 0.6984; 2.75 → 0.5. */
export function routerWeights(entropy: number): RouterWeights {
  const t = 1 / (1 + Math.exp(-ROUTER_SLOPE * (entropy - ROUTER_MIDPOINT)));
  const text = 0.7 - 0.4 * t;
  return { text, vector: 0.3 + 0.4 * t, bm25: text };
}

export const queryClasses = ["factoid", "multi_hop", "global"] as const;
export type QueryClass = (typeof queryClasses)[number];

const GLOBAL =
  "temas principales|main themes|resumen del corpus|overview of|comunidades|communities|qué cubre|que cubre|what are the themes|主要主题|概述";
const MULTI_HOP =
  "cómo se relacionan?|como se relacionan?|how does|how is|relacionan?|relacion|relación|depende[n]? de|depende[n]?|depends on|conectan?|que une|ligad[oa]s?|" +
  "por qué|por que|why does|cadena|multi-hop|camino entre|path between|causas de|causes of|为什么|如何关联|依赖";

/** Whole words only: "independent" and "encadenado" ask for no chain. Chinese phrases have no word boundary of their own. */
const whole = (phrases: string) =>
  new RegExp(`(?<![\\p{L}\\p{M}\\p{N}])(?:${phrases})(?![\\p{L}\\p{M}\\p{N}])|(?:${phrases.match(/\p{sc=Han}+/gu)?.join("|")})`, "u");
const isGlobal = whole(GLOBAL);
const isMultiHop = whole(MULTI_HOP);

/** Kind of a question by its words alone: about everything, about a connection, else about a fact. */
export function queryClass(query: string): QueryClass {
  const text = query.normalize("NFC").toLowerCase().replace(/\s+/gu, " ");
  if (isGlobal.test(text)) return "global";
  return isMultiHop.test(text) ? "multi_hop" : "factoid";
}
