/** Codex: `[mcp_servers.memory-industry]` in TOML. Our tables stand at the end of the file; every other byte stays. */
import { parse as parseToml, stringify } from "smol-toml";
import { refused } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/is-record.ts";
import { type Block, type Format, LEGACY_SERVER_NAME, SERVER_NAME, sameValue } from "./format.ts";

const SECTION = "mcp_servers";
const BOM = "\uFEFF";

function parse(text: string, file: string): Readonly<Record<string, unknown>> {
  try {
    return parseToml(text.replace(/^\uFEFF/, ""), { integersAsBigInt: "asNeeded" });
  } catch (error) {
    const [line = "unreadable"] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw refused(`${file} is not valid TOML (${line}); it was left as it is. Repair it, then run the command again.`, { field: file });
  }
}

function serversOf(text: string, file: string): Readonly<Record<string, unknown>> {
  const section = parse(text, file)[SECTION];
  return isRecord(section) ? section : {};
}

/** A table header of one server: `[mcp_servers.NAME]` or `[mcp_servers.NAME.env]`, the name bare or quoted. */
const headerOf = (name: string): RegExp =>
  new RegExp(`^[ \\t]*\\[[ \\t]*${SECTION}[ \\t]*\\.[ \\t]*["']?${name}["']?[ \\t]*(?:\\.[^\\]]*)?\\][ \\t]*(?:#.*)?$`);
const anyHeader = /^[ \t]*\[/;

/** Lines with their endings. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Cuts the tables of one server: from their header to the next foreign header, without the blank and comment lines that lead to that one. */
function cutTables(text: string, name: string): string {
  const header = headerOf(name);
  const lines = linesOf(text);
  const isOurs = (line: string) => header.test(line.replace(/\r?\n$/, "").replace(BOM, ""));
  const kept: string[] = [];
  for (let at = 0; at < lines.length; ) {
    if (!isOurs(lines[at] ?? "")) {
      kept.push(lines[at++] ?? "");
      continue;
    }
    let end = at + 1;
    while (end < lines.length && (!anyHeader.test(lines[end] ?? "") || isOurs(lines[end] ?? ""))) end++;
    // A comment or blank line above the next table belongs to that table.
    while (end < lines.length && end > at + 1 && /^\s*(#.*)?\s*$/.test(lines[end - 1] ?? "")) end--;
    at = end;
  }
  return kept.join("");
}

function print(block: Block, ending: string): string {
  return stringify({ [SECTION]: { [SERVER_NAME]: block } })
    .replace(new RegExp(`^\\[${SECTION}\\]\\n+`), "")
    .trim()
    .replaceAll("\n", ending);
}

export const codexServers: Format = {
  find(text, file) {
    const servers = serversOf(text, file);
    return { entry: servers[SERVER_NAME], servers };
  },
  put(text, file, block) {
    const servers = serversOf(text, file);
    if (sameValue(servers[SERVER_NAME], block) && servers[LEGACY_SERVER_NAME] === undefined) return text;
    const ending = text.includes("\r\n") ? "\r\n" : "\n";
    const rest = cutTables(cutTables(text, SERVER_NAME), LEGACY_SERVER_NAME);
    const gap = rest.replace(BOM, "") === "" ? "" : rest.endsWith("\n") ? ending : ending + ending;
    const added = `${rest}${gap}${print(block, ending)}${ending}`;
    refuseUnless(sameRest(text, added, file, block), file);
    return added;
  },
  take(text, file) {
    const cut = cutTables(text, SERVER_NAME);
    refuseUnless(sameRest(text, cut, file, undefined), file);
    // The blank line that `put` added in front goes too.
    return cut.length < text.length && text.startsWith(cut) ? cut.replace(/(\r?\n)\r?\n$/, "$1") : cut;
  },
  hasSection: (text, file) => parse(text, file)[SECTION] !== undefined,
  isEmpty: (text) => text.replace(BOM, "").trim() === "",
};

/**
 * True where an edit did what was meant and nothing else. A server in another form (inline table, dotted keys) is not found by its header and
 * cannot be extended by a table, and a line inside a multi-line text may look like a header: then the values tell.
 */
function sameRest(before: string, after: string, file: string, block: Block | undefined): boolean {
  const rest = (text: string) => {
    const { [SECTION]: section, ...others } = parse(text, file);
    const { [SERVER_NAME]: _ours, [LEGACY_SERVER_NAME]: legacy, ...servers } = isRecord(section) ? section : {};
    return {
      others,
      servers: isRecord(section) || section === undefined ? servers : section,
      legacy: block === undefined ? legacy : undefined,
    };
  };
  try {
    return sameValue(rest(before), rest(after)) && sameValue(serversOf(after, file)[SERVER_NAME], block);
  } catch {
    return false;
  }
}

function refuseUnless(fine: boolean, file: string): void {
  if (fine) return;
  throw refused(
    `${file} writes its servers in a form that cannot be edited safely (inline tables, dotted keys); it was left as it is. ` +
      "'memory-industry setup print' shows what to add or remove by hand.",
    { field: file },
  );
}
