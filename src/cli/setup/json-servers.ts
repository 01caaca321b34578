/** Clients that list their servers in a JSON object: `{"mcpServers": {"memory-industry": {…}}}`. */
import { refused } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/is-record.ts";
import { type Block, type Format, type Found, LEGACY_SERVER_NAME, SERVER_NAME, sameValue } from "./format.ts";
import { append, type Document, member, parseDocument, plainValue, remove, replace } from "./jsonc.ts";

/** An empty file is an empty configuration. */
const parse = (text: string, file: string): Document =>
  parseDocument(text.replace(/^\uFEFF/, "").trim() === "" ? `${text}{}\n` : text, file);

/** @param section name of the object that holds the servers */
export function jsonServers(section: string): Format {
  const sectionOf = (document: Document, file: string) => {
    const found = member(document.root, section);
    if (found !== undefined && found.value.type !== "object")
      throw refused(`'${section}' of ${file} is not an object, so there is no place for a server; the file was left as it is.`, {
        field: file,
      });
    return found;
  };
  const without = (text: string, file: string, name: string): string => {
    const document = parse(text, file);
    const servers = sectionOf(document, file);
    const entry = member(servers?.value, name);
    return servers === undefined || entry === undefined ? text : remove(document, servers.value, entry.property);
  };
  return {
    find(text, file): Found {
      const servers = sectionOf(parse(text, file), file);
      const all = servers === undefined ? {} : plainValue(servers.value);
      return { entry: isRecord(all) ? all[SERVER_NAME] : undefined, servers: isRecord(all) ? all : {} };
    },
    put(text, file, block: Block) {
      const document = parse(text, file);
      const servers = sectionOf(document, file);
      const entry = member(servers?.value, SERVER_NAME);
      const added =
        servers === undefined
          ? append(document, document.root, section, { [SERVER_NAME]: block })
          : entry === undefined
            ? append(document, servers.value, SERVER_NAME, block)
            : sameValue(plainValue(entry.value), block)
              ? text
              : replace(document, entry.value, block);
      return without(added, file, LEGACY_SERVER_NAME);
    },
    take(text, file, { container }) {
      const cut = without(text, file, SERVER_NAME);
      if (!container) return cut;
      const document = parse(cut, file);
      const servers = sectionOf(document, file);
      const isBare = servers?.value.children?.length === 0;
      return servers !== undefined && isBare ? remove(document, document.root, servers.property) : cut;
    },
    hasSection: (text, file) => sectionOf(parse(text, file), file) !== undefined,
    isEmpty: (text, file) => parse(text, file).root.children?.length === 0,
  };
}
