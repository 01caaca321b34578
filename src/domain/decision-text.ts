/** A recorded decision as one text: five lines, of which a short view has room for the choice and its reason, not for what led to them. */

export interface DecisionParts {
  /** One line. */
  readonly title: string;
  readonly context: string;
  readonly alternatives: readonly string[];
  readonly chosen: string;
  readonly rationale: string;
}

export const decisionHeading = (title: string): string => `**${title}**`;

/** The five lines that are stored. */
export const decisionText = ({ title, context, alternatives, chosen, rationale }: DecisionParts): string =>
  [
    decisionHeading(title),
    `Context: ${context}`,
    `Alternatives: ${JSON.stringify(alternatives)}`,
    `Chosen: ${chosen}`,
    `Rationale: ${rationale}`,
  ].join("\n");

const RECORDED = /^\*\*([^\n]+)\*\*\nContext: .*?\nAlternatives: \[[^\n]*\]\nChosen: (.*?)\nRationale: (.*)$/s;

/** What a view with little room shows of a memory: of a recorded decision `title: choice. Why: reason`, of anything else the text itself. */
export function inBrief(content: string): string {
  const [, title, chosen, rationale] = RECORDED.exec(content) ?? [];
  if (title === undefined || chosen === undefined || rationale === undefined) return content;
  return `${title}: ${chosen.replace(/[.。\s]+$/u, "")}. Why: ${rationale}`;
}
