/** docs/commands.md: the help of every command, word for word. */
import { commandHelp, overview } from "../../src/cli/help.ts";
import { commands } from "../../src/cli/registry.ts";
import { type GeneratedFile, markdownNote } from "./file.ts";

const block = (text: string) => ["```", text.trimEnd(), "```", ""];

export async function commandDocument(): Promise<GeneratedFile[]> {
  const shown = commands.filter((command) => command.internal !== true);
  const sections = await Promise.all(shown.map(async (command) => [`## ${command.name}`, "", ...block(await commandHelp(command))]));
  const content = [markdownNote, "# Commands", "", ...block(overview(commands)), ...sections.flat()].join("\n");
  return [{ path: "docs/commands.md", content }];
}
