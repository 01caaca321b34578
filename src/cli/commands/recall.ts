import { RECALL_TOKENS } from "../../domain/defaults.ts";
import { MemoryError, present } from "../../kernel/errors.ts";
import { integer, text } from "../../kernel/kinds.ts";
import { listOf, object, orNull, readAnswer, type Shaped, string } from "../answer.ts";
import { flag, option, optionOr } from "../arguments.ts";
import type { CliHost } from "../command.ts";
import { command } from "../define.ts";
import type { Gateway } from "../gateway.ts";

/** A session must not wait for its memories longer than 3 seconds, the start of the program and its end included, milliseconds. */
const HOOK_LIMIT_MS = 2_800;

export default command({
  name: "recall",
  summary: "print what a session should start with",
  needs: "database",
  writes: "no",
  details: [
    "With --quiet it never holds a session up: after 3 seconds it ends, with exit code 0 whatever happened, and prints all or nothing.",
  ],
  args: {
    project: option(text, "project to recall; that of the working directory by default", { hint: "NAME", short: "p" }),
    maxTokens: optionOr(integer(1, 20_000), RECALL_TOKENS, "most tokens of the text", { hint: "N" }),
    quiet: flag("for hooks: nothing to recall prints nothing, a failure goes to standard error"),
  },
  run: async ({ project, maxTokens, quiet }, { gateway, host, out }) => {
    const wanted = { maxTokens, ...(project === undefined ? {} : { project }) };
    if (!quiet) {
      const found = readAnswer(recalled, await (await gateway()).ask("owner/recall", wanted));
      if (found.text === "") out.line(nothing(found));
      else out.line(found.text);
      for (const name of found.failed)
        out.note(`The section '${name}' could not be read; 'memory-industry doctor' checks the installation.`);
      return 0;
    }
    try {
      const found = readAnswer(recalled, await withinLimit(host, (road) => road.ask("owner/recall", wanted)));
      if (found.text !== "") host.stdout(`${found.text}\n`);
      if (found.failed.length > 0) fail(host, `could not be read: ${found.failed.join(", ")}.`);
    } catch (error) {
      fail(host, present(error).text);
    }
    return 0;
  },
});

/** A hook fails in silence: the reason is kept for `doctor`. */
function fail(host: CliHost, reason: string): void {
  host.stderr(`memory-industry recall: ${reason}\n`);
  host.noteHookFailure(reason);
}

const recalled = object({ project: orNull(string), text: string, leftOut: listOf(string), failed: listOf(string) });

function nothing({ project, leftOut }: Shaped<typeof recalled>): string {
  if (leftOut.length > 0) return `Nothing fits into so few tokens; left out: ${leftOut.join(", ")}. Raise --max-tokens.`;
  return project === null
    ? "Nothing to recall: there is no project here, and no memory that belongs to none."
    : `Nothing to recall of the project '${project}' yet.`;
}

/** The whole road is bounded, its opening too; what still hangs ends with the process. */
async function withinLimit<T>(host: CliHost, work: (road: Gateway) => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new MemoryError("timeout", "Nothing was recalled within 3 seconds.")),
    Math.max(0, HOOK_LIMIT_MS - host.runningMs()),
  );
  const whole = async () => {
    const road = await host.openGateway({ project: undefined, startsDaemon: true });
    const answer = await work(road);
    return { answer, left: Promise.resolve(road[Symbol.asyncDispose]()) };
  };
  try {
    const { answer, left } = await Promise.race([whole(), late.promise]);
    // Nothing was written, so a slow farewell loses nothing: what there is of the time is waited for.
    await Promise.race([left, late.promise]).catch(() => undefined);
    return answer;
  } finally {
    clearTimeout(timer);
  }
}
