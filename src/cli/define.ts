/** Turns a typed command into a row of the registry. */
import { type Args, readArguments } from "./arguments.ts";
import type { Command, CommandSpec } from "./command.ts";

export function command<const A extends Args>(spec: CommandSpec<A>): Command {
  return {
    ...spec,
    start: async (raw, context) => {
      const values = readArguments(spec.args, raw, spec.flagHint === undefined ? "" : ` ${spec.flagHint}`);
      return (await spec.run(values, context)) ?? 0;
    },
  };
}
