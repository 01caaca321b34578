/** What a search could not do, in sentences that name what was lost and the one command that helps. */
import { present } from "../../kernel/errors.ts";
import { MOST_WORDS } from "./arms/long-questions.ts";
import { CHECK, type QuestionVector } from "./arms/vector.ts";
import type { FailedLeg, Leg } from "./legs.ts";
import { type Unseen, unseenSentences } from "./missing-vectors.ts";
import type { Degradation } from "./request.ts";
import type { Unranked } from "./rerank.ts";

/** What is lost with a leg; undefined for one whose absence never degrades an answer: an annotation, or what says so in a place of its own. */
const LOST: Readonly<Record<Leg, string | undefined>> = {
  words: "Words were not searched",
  text: "Full text did not score what was found",
  vector: "Meaning was not searched",
  unseen: "Meaning was searched, but whether memories without a fitting vector were left out is not known",
  entity: "Memories of the entities that the question names were not looked up",
  associative: "The graph was not asked for associations",
  connections: "Connections between the entities are missing",
  session: "What the session is about did not lift any row",
  neighbours: "Neighbours in the graph are missing",
  gate: undefined,
  peers: undefined,
};

const sentence = ({ leg, cause }: FailedLeg): string => `${LOST[leg]}: ${present(cause).text} Run '${CHECK}'.`;

export function degradationOf(
  failed: readonly FailedLeg[],
  question: QuestionVector | undefined,
  {
    enableBm25,
    unranked,
    wordsLeftOut = 0,
    unseen,
  }: {
    readonly enableBm25: boolean;
    readonly unranked: Unranked | undefined;
    readonly wordsLeftOut?: number;
    readonly unseen?: Unseen | undefined;
  },
): Degradation {
  const hasFailed = (leg: Leg) => failed.some((each) => each.leg === leg);
  // A leg that is asked twice says once what is lost with it.
  const distinct = failed.filter(({ leg }, at) => failed.findIndex((other) => other.leg === leg) === at);
  const search = distinct.filter(({ leg }) => LOST[leg] !== undefined && !(leg === "unseen" && hasFailed("vector"))).map(sentence);
  if (question !== undefined && "lost" in question) search.push(question.lost);
  if (unseen !== undefined) search.push(...unseenSentences(unseen));
  if (wordsLeftOut > 0)
    search.push(
      `The question is long: its ${MOST_WORDS} rarest words were searched, ${wordsLeftOut} others were left out. Ask in fewer words to have all of them searched.`,
    );
  const words = failed.find(({ leg }) => leg === "words");
  return {
    search,
    bm25: words === undefined || !enableBm25 ? undefined : sentence(words),
    reranker: unranked,
  };
}
