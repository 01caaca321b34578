/** docs/tools.md and the catalogue as clients see it, one golden file a profile. */

import { listing, publicForm } from "../../src/tools/profiles.ts";
import { optionalTools, tools } from "../../src/tools/registry.ts";
import type { JsonSchema } from "../../src/tools/schema.ts";
import { type GeneratedFile, markdownNote } from "./file.ts";

const PROFILES = ["lean", "agent", "standard", "full"] as const;
/** Rule of thumb for English and JSON; the figure is for comparing one state of the catalogue with the next. */
const BYTES_PER_TOKEN = 4;

const catalogue = (profile: string) => listing(tools, profile);
const bytesOf = (profile: string) => Buffer.byteLength(JSON.stringify({ tools: catalogue(profile) }));

interface Parameter {
  readonly type?: unknown;
  readonly description?: unknown;
  readonly enum?: unknown;
  readonly items?: Parameter & { readonly properties?: Readonly<Record<string, Parameter>>; readonly required?: readonly string[] };
}

/** What a list holds: ` of string`, or the keys of its objects, ` of {do, run?, expect?}`. */
function itemsOf(items: Parameter["items"]): string {
  if (items === undefined) return "";
  const { properties, required = [], type } = items;
  if (properties === undefined) return typeof type === "string" ? ` of ${type}` : "";
  return ` of {${Object.keys(properties)
    .map((key) => (required.includes(key) ? key : `${key}?`))
    .join(", ")}}`;
}

function parameters(schema: JsonSchema): string[] {
  const properties: Readonly<Record<string, Parameter>> = Object(Reflect.get(schema, "properties"));
  return Object.entries(properties).map(([name, { type, description, enum: values, items }]) => {
    const kind = Array.isArray(values) ? values.join(", ") : typeof type === "string" ? `${type}${itemsOf(items)}` : "";
    return `| \`${name}\` | ${kind.replaceAll("|", "\\|")} | ${String(description ?? "").replaceAll("|", "\\|")} |`;
  });
}

const guide = () =>
  [
    markdownNote,
    "# Tools",
    "",
    `${tools.length} tools, all callable under every profile; the profile (\`MEMORY_INDUSTRY_TOOL_PROFILE\`) decides which are listed.`,
    "",
    "| profile | tools | bytes of `tools/list` | about tokens |",
    "|---|---|---|---|",
    ...PROFILES.map((profile) => {
      const bytes = bytesOf(profile);
      return `| ${profile} | ${catalogue(profile).length} | ${bytes} | ${Math.round(bytes / BYTES_PER_TOKEN)} |`;
    }),
    "",
    ...[...catalogue("full"), ...Object.values(optionalTools).map(publicForm)].flatMap((tool) => [
      `## ${tool.name}`,
      ...(tool.name === optionalTools.docs.name ? ["", "Only with `CUBA_DOCS=1`; elsewhere it is neither listed nor callable."] : []),
      "",
      `**${tool.title ?? tool.name}.** ${tool.description}`,
      "",
      "| parameter | kind | meaning |",
      "|---|---|---|",
      ...parameters(tool.inputSchema),
      "",
    ]),
  ].join("\n");

export const toolDocuments = (): GeneratedFile[] => [
  { path: "docs/tools.md", content: guide() },
  ...PROFILES.map((profile) => ({
    path: `test/golden/tools-list.${profile}.json`,
    content: `${JSON.stringify(catalogue(profile), null, 2)}\n`,
  })),
];

/** For the terminal: what listing the catalogue costs a client on every request. */
export const catalogueCost = (): string =>
  PROFILES.map((profile) => `${profile} ${bytesOf(profile)} bytes, about ${Math.round(bytesOf(profile) / BYTES_PER_TOKEN)} tokens`).join(
    "; ",
  );
