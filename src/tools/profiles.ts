/** Which tools `tools/list` shows. A profile limits the listing only: every tool can be called under any of them. */
import type { Profile, Tool } from "./define.ts";
import { CONTENT_CHARS } from "./fields.ts";
import type { JsonSchema } from "./schema.ts";

const rank: Record<Exclude<Profile, "meta">, number> = { lean: 0, agent: 1, standard: 2, full: 3 };

/** An unknown name is `full`: hiding tools because of a typo is worse than a long list. */
function wantedProfile(profile: string | undefined): keyof typeof rank {
  const wanted = profile?.trim().toLowerCase();
  return wanted === "lean" || wanted === "agent" || wanted === "standard" ? wanted : "full";
}

/** Tools of a profile in catalogue order, the meta tools last. */
export function listed(tools: readonly Tool[], profile: string | undefined): readonly Tool[] {
  const limit = rank[wantedProfile(profile)];
  const meta = limit === rank.lean || limit === rank.full ? tools.filter((tool) => tool.profile === "meta") : [];
  return [...tools.filter((tool) => tool.profile !== "meta" && rank[tool.profile] <= limit), ...meta];
}

/** A tool as `tools/list` and `cuba_tools detail=full` show it. */
export interface ListedTool {
  readonly name: string;
  /** For people who look at a list of tools; `lean` goes without. */
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: Tool["inputSchema"];
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean; readonly openWorldHint: boolean };
}

/** A longest length from here on says nothing to a model that it could use; a refusal names it. One memory's length stands: texts are written to it. */
const UNTOLD_LENGTH = 1_000;
/** A bound that only keeps numbers sane. */
const UNTOLD_MAXIMUM = 1_000_000;

const isNothing = (value: unknown) =>
  value === false || value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** True for a keyword that tells a caller nothing: every byte of a listing is paid for by every client on every request. */
const isIdle = (keyword: string, value: unknown): boolean => {
  switch (keyword) {
    case "minLength":
    case "minItems":
      // That a text is not empty is what its description says.
      return Number(value) <= 1;
    case "maxLength":
      return Number(value) >= UNTOLD_LENGTH && value !== CONTENT_CHARS;
    case "maximum":
      return Number(value) >= UNTOLD_MAXIMUM;
    case "default":
    case "description":
      return isNothing(value);
    default:
      return false;
  }
};

/** Lengths that nobody reaches unawares: names, labels, lists. `lean` leaves them to the refusal that names them, and to `cuba_tools detail=full`. */
const isLeanIdle = (keyword: string, value: unknown): boolean =>
  isIdle(keyword, value) || keyword === "maxItems" || (keyword === "maxLength" && value !== CONTENT_CHARS);

type Idle = (keyword: string, value: unknown) => boolean;

/** Of a list of texts its own description says what they are. */
function published(schema: JsonSchema, idle: Idle): JsonSchema {
  const kept = Object.fromEntries(Object.entries(schema).filter(([keyword, value]) => !idle(keyword, value)));
  const { items, properties } = schema;
  return {
    ...kept,
    ...(items === undefined
      ? {}
      : { items: items.type === "string" && items.enum === undefined ? { type: "string" } : published(items, idle) }),
    ...(properties === undefined ? {} : { properties: publishedAll(properties, idle) }),
  };
}

const publishedAll = (properties: Readonly<Record<string, JsonSchema>>, idle: Idle) =>
  Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, published(property, idle)]));

const leanForm = (tool: Tool, idle: Idle = isLeanIdle): ListedTool => ({
  name: tool.name,
  description: tool.describe,
  inputSchema: { ...tool.inputSchema, properties: publishedAll(tool.inputSchema.properties, idle) },
  annotations: { readOnlyHint: tool.hints.readOnly, destructiveHint: tool.hints.destructive, openWorldHint: tool.hints.openWorld },
});

export const publicForm = (tool: Tool): ListedTool => {
  const { name, ...rest } = leanForm(tool, isIdle);
  return { name, title: tool.title, ...rest };
};

/** What `tools/list` answers under a profile. */
export const listing = (tools: readonly Tool[], profile: string | undefined): readonly ListedTool[] =>
  listed(tools, profile).map((tool) => (wantedProfile(profile) === "lean" ? leanForm(tool) : publicForm(tool)));

/** `memory_<rest>` names the tool `cuba_<rest>`; two have an English word of their own. Anything else stays as it is. */
export function canonicalName(name: string): string {
  if (name === "memory_artifact") return "cuba_artefacto";
  if (name === "memory_context") return "cuba_contexto";
  return name.startsWith("memory_") ? `cuba_${name.slice("memory_".length)}` : name;
}
