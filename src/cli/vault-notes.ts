/** Notes of an Obsidian vault: names of files, text of a note, the index. Pure; what a memory says forges no link, no front matter and no heading, and runs nothing. */
import { beginsWithFence, inertLine, inertMarkdown } from "./markdown.ts";

export interface NoteEntity {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly importance: number;
  readonly accesses: number;
  readonly community: string | null;
  readonly observations: number;
}
export interface NoteLink {
  /** File name of the other entity, without its ending. */
  readonly target: string;
  readonly type: string;
  readonly strength: number;
}
export interface NoteText {
  readonly type: string;
  readonly content: string;
  readonly importance: number;
  readonly createdAt: string;
}

const UNFIT = /[/\\:*?"<>|#^[\]\p{Cc}]/gu;
/** Names that Windows keeps for devices, whatever stands behind the first dot. */
export const DEVICES = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³])\s*(?:\.|$)/i;
/** Longest file name in bytes, its ending and a number for doubles left out: file systems take 255. */
const MOST_BYTES = 200;

/** `[`, `]` and what no file system takes become `-`; blanks and dots at the ends go; never empty. */
export function noteName(entityName: string): string {
  let name = entityName.replace(UNFIT, "-");
  while (Buffer.byteLength(name) > MOST_BYTES) name = Array.from(name).slice(0, -1).join("");
  name = name.replace(/^[\s.]+|[\s.]+$/gu, "");
  return name === "" || DEVICES.test(name) ? `unnamed${name === "" ? "" : `-${name}`}` : name;
}

/** File names by entity: two that would be one file (also where case does not count) get `-2`, `-3` … `README` is the index. */
export function noteNames(entities: readonly NoteEntity[]): Map<string, string> {
  const taken = new Set(["readme"]);
  const names = new Map<string, string>();
  for (const { id, name } of entities) {
    const base = noteName(name);
    let free = base;
    for (let n = 2; taken.has(free.normalize("NFC").toLowerCase()); n++) free = `${base}-${n}`;
    taken.add(free.normalize("NFC").toLowerCase());
    names.set(id, free);
  }
  return names;
}

const yaml = (text: string): string => JSON.stringify(text.replace(/\s+/gu, " "));
/** A text of several lines stays one item of a list, indented; a fence begins a line of its own. */
const item = (text: string): string => `${beginsWithFence(text.trim()) ? "\n" : ""}${inertMarkdown(text.trim())}`.split("\n").join("\n  ");
const day = (at: string): string => at.slice(0, 10);

export function noteText(
  entity: NoteEntity,
  links: { readonly out: readonly NoteLink[]; readonly in: readonly NoteLink[] },
  texts: readonly NoteText[],
): string {
  const lines = [
    "---",
    `type: ${yaml(entity.type)}`,
    `importance: ${entity.importance.toFixed(4)}`,
    `accesses: ${entity.accesses}`,
    ...(entity.community === null ? [] : [`community: ${yaml(entity.community)}`]),
    `observations: ${entity.observations}`,
    "---",
    "",
    `# ${inertLine(entity.name.replace(/\s+/gu, " "))}`,
  ];
  const edge = (arrow: string) => (link: NoteLink) =>
    `- **${link.type}** ${arrow} [[${link.target}]] _(strength ${link.strength.toFixed(2)})_`;
  if (links.out.length + links.in.length > 0) lines.push("", "## Relations", "", ...links.out.map(edge("→")), ...links.in.map(edge("←")));
  const byType = Map.groupBy(texts, ({ type }) => type);
  for (const type of [...byType.keys()].sort())
    lines.push(
      "",
      `## ${inertLine(type)}`,
      "",
      ...(byType.get(type) ?? []).map(
        (text) => `- ${day(text.createdAt)} _(importance ${text.importance.toFixed(2)})_ ${item(text.content)}`,
      ),
    );
  return `${lines.join("\n")}\n`;
}

const TOP = 20;
const COMMUNITY_MEMBERS = 12;
const ISOLATED = 30;

export function indexText(
  entities: readonly NoteEntity[],
  names: ReadonlyMap<string, string>,
  totals: { readonly observations: number; readonly relations: number },
  linked: ReadonlySet<string>,
): string {
  const link = ({ id }: NoteEntity) => `[[${names.get(id) ?? "unnamed"}]]`;
  const lines = ["# Memory", "", `${entities.length} entities, ${totals.observations} observations, ${totals.relations} relations.`];
  lines.push("", "## Most important", "", ...entities.slice(0, TOP).map((entity) => `- ${link(entity)} (${entity.importance.toFixed(2)})`));
  const communities = [
    ...Map.groupBy(
      entities.filter(({ community }) => community !== null),
      ({ community }) => community ?? "",
    ),
  ]
    .filter(([, members]) => members.length > 1)
    .sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1));
  if (communities.length > 0) lines.push("", "## Communities", "");
  for (const [name, members] of communities) {
    const rest = members.length > COMMUNITY_MEMBERS ? `, and ${members.length - COMMUNITY_MEMBERS} more` : "";
    lines.push(`- ${inertLine(name)} (${members.length}): ${members.slice(0, COMMUNITY_MEMBERS).map(link).join(", ")}${rest}`);
  }
  const isolated = entities.filter(({ id }) => !linked.has(id));
  if (isolated.length > 0)
    lines.push("", `## Without a relation (${isolated.length})`, "", ...isolated.slice(0, ISOLATED).map((entity) => `- ${link(entity)}`));
  return `${lines.join("\n")}\n`;
}
