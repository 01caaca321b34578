/** Claude Code's session-start hook: `hooks.SessionStart` of `~/.claude/settings.json`. */
import { join } from "node:path";
import type { Node } from "jsonc-parser";
import { refused } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/is-record.ts";
import { shellWord } from "../output.ts";
import { type Block, type Format, LEGACY_SERVER_NAME, SERVER_NAME, sameValue } from "./format.ts";
import { append, type Document, member, parseDocument, plainValue, remove, replace } from "./jsonc.ts";

const EVENT = "SessionStart";

export const hookFile = (home: string): string => join(home, ".claude", "settings.json");

/** Double quotes on Windows: they keep blanks for `cmd` and backslashes for the POSIX shell that some clients bring along. */
const quoted = (word: string, platform: string): string =>
  platform === "win32" ? (/^[\w:/.-]+$/.test(word) ? word : `"${word}"`) : shellWord(word);

/** The hook entry: the program, quoted, with `recall --quiet`. */
export function hookBlock(program: readonly string[], platform: string): Block {
  const command = [...program.map((word) => quoted(word, platform)), "recall", "--quiet"].join(" ");
  return { matcher: "*", hooks: [{ type: "command", command }] };
}

/** How a clone is started, in whatever folder it lies: `…/src/main.ts recall --quiet`. */
const FROM_A_CLONE = /[\\/]src[\\/]main\.ts['"]? recall --quiet$/;

/**
 * Ours, whoever wrote it and when: what we would write now, or a command with `recall` and one of our names, or a clone's.
 * The name alone is not enough to go by: a clone, and a file that somebody renamed, hold it nowhere.
 */
function isOurs(entry: unknown, block: Block): boolean {
  if (sameValue(entry, block)) return true;
  const hooks = isRecord(entry) && Array.isArray(entry.hooks) ? entry.hooks : [];
  return hooks.some((hook) => {
    const command: unknown = isRecord(hook) ? hook.command : undefined;
    if (typeof command !== "string" || !/\brecall\b/.test(command)) return false;
    return command.includes(SERVER_NAME) || command.includes(LEGACY_SERVER_NAME) || FROM_A_CLONE.test(command);
  });
}

const parse = (text: string, file: string): Document =>
  parseDocument(text.replace(/^\uFEFF/, "").trim() === "" ? `${text}{}\n` : text, file);

interface Places {
  readonly document: Document;
  readonly hooks: ReturnType<typeof member>;
  readonly event: ReturnType<typeof member>;
  readonly ours: Node | undefined;
}

function locate(text: string, file: string, block: Block): Places {
  const document = parse(text, file);
  const hooks = member(document.root, "hooks");
  const event = member(hooks?.value, EVENT);
  if ((hooks !== undefined && hooks.value.type !== "object") || (event !== undefined && event.value.type !== "array"))
    throw refused(`'hooks.${EVENT}' of ${file} is not a list, so there is no place for a hook; the file was left as it is.`, {
      field: file,
    });
  return { document, hooks, event, ours: event?.value.children?.find((child) => isOurs(plainValue(child), block)) };
}

/** The hook in the client's file. @param wanted the entry that this program would write now */
export const sessionHook = (wanted: Block): Format => ({
  find(text, file) {
    const { ours } = locate(text, file, wanted);
    return { entry: ours === undefined ? undefined : plainValue(ours), servers: {} };
  },
  put(text, file, block) {
    const { document, hooks, event, ours } = locate(text, file, wanted);
    if (ours !== undefined) return sameValue(plainValue(ours), block) ? text : replace(document, ours, block);
    if (event !== undefined) return append(document, event.value, undefined, block);
    if (hooks !== undefined) return append(document, hooks.value, EVENT, [block]);
    return append(document, document.root, "hooks", { [EVENT]: [block] });
  },
  take(text, file, { container }) {
    const { document, event, ours } = locate(text, file, wanted);
    if (event === undefined || ours === undefined) return text;
    let cut = remove(document, event.value, ours);
    if (!container) return cut;
    for (const empty of [
      (places: Places) => [places.hooks?.value, places.event] as const,
      (places: Places) => [places.document.root, places.hooks] as const,
    ]) {
      const places = locate(cut, file, wanted);
      const [parent, child] = empty(places);
      if (parent !== undefined && child?.value.children?.length === 0) cut = remove(places.document, parent, child.property);
    }
    return cut;
  },
  hasSection: (text, file) => locate(text, file, wanted).event !== undefined,
  isEmpty: (text, file) => parse(text, file).root.children?.length === 0,
});
