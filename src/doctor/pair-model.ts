/** How a model that reads pairs of texts stands, for the checks of the reranker and of the entailment model. */
import type { GoldenPairs } from "../inference/models/description.ts";
import { GOLDEN_MOST_DIFFERENCE, goldenDifference } from "../inference/models/golden.ts";
import type { Answer, ModelState } from "../inference/port.ts";
import { fail, ok, type Verdict, warn } from "./check.ts";

export interface PairModelParts {
  readonly status: () => ModelState;
  /** Installs it; a state that knows a better remedy goes before. */
  readonly install: string;
  /** Names its path, which goes before the memory plan. */
  readonly variable: string;
  /** What is lost where there is none, a sentence. */
  readonly without?: string;
  /** What its golden values are called: `scores`. */
  readonly values: string;
  /** Undefined where nobody has computed them. */
  readonly golden: GoldenPairs | undefined;
  /** Loads it and has it read pairs; undefined where nothing may be loaded. */
  readonly ask: ((pairs: GoldenPairs["pairs"]) => Promise<Answer<readonly number[]>>) | undefined;
  /** Asked where nobody knows what it must answer: shows that it answers. */
  readonly probe: GoldenPairs["pairs"];
  /** How it is used, behind its state. */
  readonly use?: string;
}

export async function pairModelVerdict(parts: PairModelParts): Promise<Verdict> {
  const { status, install, variable, without, values, golden, ask, probe, use } = parts;
  const before = status();
  if (before.state === "missing")
    return before.isDisabledByPlan === true
      ? warn(before.reason, `only a restart with more memory, or an explicit ${variable}, changes it`)
      : warn([before.reason, ...(without === undefined ? [] : [without])].join(" "), before.remedy ?? install);
  const answer = await ask?.(golden?.pairs ?? probe);
  // A load that failed leaves a better remedy than installing; so does a variable that names another place.
  const now = status();
  const remedy = now.remedy ?? install;
  if (answer?.kind === "none") return fail(`${before.model}: ${answer.reason}`, remedy);
  const difference = answer === undefined || golden === undefined ? undefined : goldenDifference(golden, answer.values);
  if (difference !== undefined && difference > GOLDEN_MOST_DIFFERENCE)
    return fail(`${before.model}, but its golden ${values} are off by ${difference.toFixed(3)}`, remedy);
  if (now.state === "failed") return fail(`${now.model} does not load: ${now.reason}`, remedy);
  const place = now.state === "ready" ? "loaded" : now.state === "loading" ? "still loading" : "on disk, not tried yet";
  if (now.state !== "missing" && now.trouble !== undefined)
    return warn(
      `${before.model}, ${place}, but the last question got no answer: ${now.trouble}`,
      "memory-industry doctor --deep asks it again",
    );
  return ok(
    [
      `${before.model}, ${place}`,
      ...(difference === undefined ? [] : [`golden ${values} match`]),
      ...(use === undefined ? [] : [use]),
    ].join(", "),
  );
}
