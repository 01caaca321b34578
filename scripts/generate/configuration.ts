/** docs/configuration.md and docs/env.example from the table of variables. */
import { modes } from "../../src/config/modes.ts";
import { resolvePaths } from "../../src/config/paths.ts";
import { describeVariable, type Group, groups, namesOf, type Variable, variableNames } from "../../src/config/variables.ts";
import { type GeneratedFile, markdownNote, shellNote } from "./file.ts";

const titles: Record<Group, string> = {
  database: "Database and identity",
  daemon: "Daemon",
  models: "Models",
  judge: "Judge and chat services",
  tools: "Tools and search",
  consolidation: "Consolidation (REM)",
  process: "The process itself",
};

const entries = variableNames.map((key) => ({ names: namesOf(key), variable: describeVariable(key) }));
const of = (group: Group) => entries.filter(({ variable }) => variable.group === group);

const cell = (text: string) => text.replaceAll("|", "\\|");
const standard = ({ default: value, unset }: Variable) =>
  value === undefined ? `unset: ${unset}` : value === "" ? "empty" : `\`${value}\``;

const notes = ({ secret, connection }: Variable) =>
  [secret ? "Secret: shown as `set` or `missing` only." : "", connection ? "Belongs to one connection." : ""].filter(Boolean).join(" ");

function table(group: Group): string {
  const rows = of(group).map(({ names, variable }) => {
    const [name, ...others] = names;
    const also = others.length === 0 ? "" : `<br>also ${others.map((other) => `\`${other}\``).join(", ")}`;
    const says = [`${variable.doc}.`, notes(variable)].filter(Boolean).join(" ");
    return `| \`${name}\`${also} | ${cell(variable.is.expected)} | ${cell(standard(variable))} | ${cell(says)} |`;
  });
  return [`## ${titles[group]}`, "", "| variable | accepts | default | what it does |", "|---|---|---|---|", ...rows].join("\n");
}

const homes = { linux: "/home/you", darwin: "/Users/you", win32: "C:\\Users\\you" } as const;
const platforms = ["linux", "darwin", "win32"] as const;

/** The directories of each platform, as the program itself works them out. */
const directories = (
  [
    ["memories, owner lock, local socket", "dataDir"],
    ["models, runtime, undo files", "cacheRoot"],
    ["env files, keys", "configDir"],
  ] as const
).map(([what, which]) => [
  what,
  ...platforms.map((platform) => {
    const home = homes[platform];
    const path = resolvePaths({ HOME: home }, { platform, workingDirectory: home })[which] ?? "";
    return path.replace(home, platform === "win32" ? "%USERPROFILE%" : "~");
  }),
]);

const guide = [
  markdownNote,
  "# Configuration",
  "",
  "Nothing has to be set. Every variable is read from the environment, then from the env files in the configuration directory (`memory-industry.env`, for which `docs/env.example` is the pattern; `llm.env` and `graph.env` win over it; on Windows it lies in the directory of the memories); the first name that is set wins, and blank counts as unset.",
  "A value that cannot be read is reported once, with what would be accepted, and the default stands. A variable marked as belonging to one connection may differ between editor windows;",
  "all others are the daemon's, which takes them from whoever starts it.",
  "",
  groups.map(table).join("\n\n"),
  "",
  "## Modes",
  "",
  "| `MEMORY_INDUSTRY_MODE` | what it means |",
  "|---|---|",
  ...Object.entries(modes).map(
    ([name, { doc, needsDatabaseUrl }]) => `| \`${name}\` | ${doc}${needsDatabaseUrl ? "; `DATABASE_URL` is required" : ""} |`,
  ),
  "",
  "## Directories",
  "",
  "| what | Linux | macOS | Windows |",
  "|---|---|---|---|",
  ...directories.map(([what, ...paths]) => `| ${what} | ${paths.map((path) => `\`${path}\``).join(" | ")} |`),
  "",
].join("\n");

const example = [
  shellNote,
  "# Every line is a comment: take away the # in front of what you want to change.",
  ...groups.flatMap((group) => [
    "",
    `# --- ${titles[group]}`,
    ...of(group).flatMap(({ names, variable }) => [
      `# ${variable.doc}: ${variable.is.expected}`,
      `#${names[0]}=${variable.secret ? "" : (variable.default ?? "")}`,
    ]),
  ]),
  "",
].join("\n");

export const configuration = (): GeneratedFile[] => [
  { path: "docs/configuration.md", content: guide },
  { path: "docs/env.example", content: example },
];
