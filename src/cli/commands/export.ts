import { constants } from "node:fs";
import { mkdir, open, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { refused, unavailable } from "../../kernel/errors.ts";
import { oneOf, path } from "../../kernel/kinds.ts";
import { listOf, number, object, orNull, readAnswer, string } from "../answer.ts";
import { flag, option, positional } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";
import { commandLine } from "../output.ts";
import type { NoteEntity, NoteLink, NoteText } from "../vault-notes.ts";

/** Entries of a full directory that the refusal names. */
const NAMED_ENTRIES = 5;

export default command({
  name: "export",
  summary: "write the memories as an Obsidian vault",
  needs: "database",
  writes: "files",
  args: {
    dir: positional(path, "directory of the vault; a note for each entity, and an index README.md"),
    obsidian: flag("the format, and the only one"),
    format: option(oneOf(["obsidian"]), "the same", { hint: "obsidian" }),
    apply: flag("also into a directory that is not empty: notes of the same names are written over"),
  },
  details: ["Reads only. What waits for review or was superseded is not written."],
  run: async ({ dir, apply }, context) => {
    const directory = resolve(dir);
    await refuseFull(directory, dir, apply, context);
    const found = await entitiesAndLinks(context);
    if (found.entities.length === 0) throw refused("There is nothing to export: no entity here yet. Nothing was written.");
    const { indexText, noteNames, noteText } = await import("../vault-notes.ts");
    const names = noteNames(found.entities);
    const nameOf = (id: string) => names.get(id);
    await mkdir(directory, { recursive: true });
    const totals = { observations: 0, relations: found.relations };
    for await (const { entity, texts } of notesOf(context, found.entities)) {
      const links = { out: linksOf(found.out.get(entity.id) ?? [], nameOf), in: linksOf(found.in.get(entity.id) ?? [], nameOf) };
      await write(join(directory, `${nameOf(entity.id) ?? "unnamed"}.md`), noteText(entity, links, texts));
      totals.observations += texts.length;
    }
    await write(join(directory, "README.md"), indexText(found.entities, names, totals, new Set([...found.out.keys(), ...found.in.keys()])));
    context.out.line(`${found.entities.length} notes and README.md written to ${directory}.`);
    return 0;
  },
});

/** A directory with anything in it but dot files is somebody's: the index is called README.md, and once ate one. */
async function refuseFull(directory: string, typed: string, apply: boolean, { host }: CommandContext): Promise<void> {
  const entries = await readdir(directory).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw unavailable(`${directory} cannot be read as a directory; nothing was written.`, { cause: error });
  });
  const visible = entries.filter((name) => !name.startsWith(".")).sort();
  if (visible.length === 0 || apply) return;
  const more = visible.length > NAMED_ENTRIES ? ` and ${visible.length - NAMED_ENTRIES} more` : "";
  throw refused(
    `${directory} is not empty (${visible.slice(0, NAMED_ENTRIES).join(", ")}${more}); nothing was written. To write there all the same: ${commandLine(host.typed, ["export", typed, "--apply"])}`,
  );
}

/** Never through a link that lies there: it may lead out of the directory. */
async function write(file: string, text: string): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0);
  try {
    const handle = await open(file, flags, 0o600);
    await handle.writeFile(text, "utf8").finally(() => handle.close());
  } catch (error) {
    throw unavailable(`${file} cannot be written (a link, or not ours); the notes before it were written.`, { cause: error });
  }
}

interface Edge {
  readonly other: string;
  readonly type: string;
  readonly strength: number;
}

const linksOf = (edges: readonly Edge[], nameOf: (id: string) => string | undefined): NoteLink[] =>
  edges.flatMap(({ other, type, strength }) => {
    const target = nameOf(other);
    return target === undefined ? [] : [{ target, type, strength }];
  });

const page = object({
  entities: listOf(
    object({
      id: string,
      name: string,
      type: string,
      importance: number,
      accesses: number,
      community: orNull(string),
      observations: number,
    }),
  ),
  relations: listOf(object({ from: string, to: string, type: string, strength: number })),
});
const observations = listOf(object({ entity: string, id: string, type: string, content: string, importance: number, createdAt: string }));

const byImportance = (a: NoteEntity, b: NoteEntity): number =>
  b.importance - a.importance || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1);

/** Every entity by id with what is known of it. Only one entity's texts are in memory, and a page of those to come. */
async function* notesOf({ gateway }: CommandContext, entities: readonly NoteEntity[]) {
  const road = await gateway();
  const inOrder = [...entities].sort((a, b) => (a.id < b.id ? -1 : 1));
  let at = 0;
  let texts: NoteText[] = [];
  for (let after: { entity: string; createdAt: string; id: string } | undefined; ; ) {
    const found = readAnswer(observations, await road.ask("owner/vault-observations", after === undefined ? {} : { after }));
    for (const { entity: of, id: _, ...text } of found) {
      for (let entity = inOrder[at]; entity !== undefined && entity.id < of; entity = inOrder[++at]) {
        yield { entity, texts };
        texts = [];
      }
      // Of an entity that came since the list was read there is no note yet.
      if (inOrder[at]?.id === of) texts.push(text);
    }
    const last = found.at(-1);
    if (last === undefined) break;
    after = { entity: last.entity, createdAt: last.createdAt, id: last.id };
  }
  for (let entity = inOrder[at]; entity !== undefined; entity = inOrder[++at]) {
    yield { entity, texts };
    texts = [];
  }
}

/** All entities, the most important first, and how they are related. */
async function entitiesAndLinks({ gateway }: CommandContext) {
  const road = await gateway();
  const entities: NoteEntity[] = [];
  const out = new Map<string, Edge[]>();
  const incoming = new Map<string, Edge[]>();
  const push = <T>(map: Map<string, T[]>, key: string, value: T) => {
    const list = map.get(key);
    if (list === undefined) map.set(key, [value]);
    else list.push(value);
  };
  let relations = 0;
  for (;;) {
    const last = entities.at(-1);
    const found = readAnswer(page, await road.ask("owner/vault", last === undefined ? {} : { after: last.id }));
    // Pages come by id; the notes and the index go by importance.
    if (found.entities.length === 0) return { entities: entities.sort(byImportance), out, in: incoming, relations };
    entities.push(...found.entities);
    for (const { from, to, ...edge } of found.relations) {
      push(out, from, { ...edge, other: to });
      push(incoming, to, { ...edge, other: from });
      relations++;
    }
  }
}
