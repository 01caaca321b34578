import { rm } from "node:fs/promises";
import { invalid, present, usage } from "../../kernel/errors.ts";
import { isUuid } from "../../kernel/ids.ts";
import { text, uuid } from "../../kernel/kinds.ts";
import { oneLine } from "../../kernel/text.ts";
import { anything, boolean, byName, number, object, readAnswer, string } from "../answer.ts";
import { flag, maybePositional, option } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";
import { commandLine, showPlan } from "../output.ts";

/** Longest piece of the memory that the plan shows, characters. */
const CONTENT_CHARS = 160;

export default command({
  name: "delete",
  summary: "delete one memory, keeping an undo file; or bring it back",
  needs: "database",
  writes: "plan",
  args: {
    id: maybePositional(uuid, "id of the observation, as search shows it"),
    undo: option(text, "bring back what an undo file holds", { hint: "FILE|ID" }),
    apply: flag("do it"),
  },
  details: ["The undo file is written before the memory goes: <undo directory>/obs-<id>.json, readable by you alone."],
  run: async ({ id, undo, apply }, context) => {
    if (undo !== undefined) {
      if (id !== undefined) throw usage(`Unexpected argument '${id}': --undo takes the id itself.`);
      return await bringBack(undo, apply, context);
    }
    if (id === undefined) throw usage("<id> is missing: id of the observation, as search shows it.");
    return await remove(id, apply, context);
  },
});

/** The snapshot is written to the undo file whole; this is what is shown of it. */
const seen = object({
  observation: object({ observation_type: string, created_at: string, importance: number, content: string, version: number }),
  entity: object({ name: string }),
});
const broughtBack = object({ id: string, sameId: boolean, entity: string });

/** What an undo file holds: a person may have changed it, and whoever restores checks it whole. */
type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};

type Roads = Pick<CommandContext, "gateway" | "host" | "out">;

async function remove(id: string, apply: boolean, { gateway, host, out }: CommandContext): Promise<number> {
  // Asked for before anything is looked at: where there is no place for the undo file nothing may be deleted.
  const directory = host.installation().undoDir();
  const { undoFile, writeUndoFile } = await import("../undo-file.ts");
  const road = await gateway();
  const snapshot = readAnswer(byName(anything), await road.ask("owner/observation", { id }));
  const { observation, entity } = readAnswer(seen, snapshot);
  const shown = [
    `${entity.name} (${observation.observation_type}), created ${observation.created_at}, importance ${observation.importance.toFixed(2)}`,
    `  ${oneLine(observation.content, CONTENT_CHARS)}`,
  ];
  if (!apply) {
    showPlan(out, host.typed, {
      steps: ["Delete this memory:", ...shown, `Undo file: ${undoFile(directory, id)}`],
      apply: ["delete", id, "--apply"],
    });
    return 0;
  }
  const file = await writeUndoFile(undoFile(directory, id), snapshot, new Date());
  try {
    await road.ask("owner/delete", { id, version: observation.version });
  } catch (error) {
    // It changed meanwhile, as a rule: the file holds an old state then, and would stand in the way of the next try. Where nobody answers it stays.
    const isThere = await road.ask("owner/observation", { id }).then(
      () => true,
      () => false,
    );
    if (isThere) await rm(file, { force: true });
    throw error;
  }
  for (const line of ["Deleted:", ...shown]) out.line(line);
  out.line(`To bring it back: ${commandLine(host.typed, ["delete", "--undo", id, "--apply"])}`);
  out.line(`Undo file: ${file}`);
  return 0;
}

async function bringBack(fileOrId: string, apply: boolean, { gateway, host, out }: Roads): Promise<number> {
  const { readUndoFile, undoFile } = await import("../undo-file.ts");
  const file = isUuid(fileOrId) ? undoFile(host.installation().undoDir(), fileOrId.toLowerCase()) : fileOrId;
  const content = await readUndoFile(file);
  if (Array.isArray(content.observations))
    return await bringAllBack(content.observations.map(fieldsOf), fileOrId, apply, { gateway, host, out });
  const snapshot = content;
  const observation = fieldsOf(snapshot.observation);
  if (typeof observation.content !== "string") throw invalid(`${file} is not an undo file of ours; nothing was written.`);
  if (!apply) {
    const name = String(fieldsOf(snapshot.entity).name);
    showPlan(out, host.typed, {
      steps: [`Bring back under '${name}':`, `  ${oneLine(observation.content, CONTENT_CHARS)}`],
      apply: ["delete", "--undo", fileOrId, "--apply"],
    });
    return 0;
  }
  const road = await gateway();
  const back = readAnswer(broughtBack, await road.ask("owner/restore", { snapshot }));
  // The file has done its work; left there it would stand in the way of the next deletion of this memory.
  if (back.sameId && isUuid(fileOrId)) await rm(file, { force: true });
  out.line(`Brought back under '${back.entity}': ${back.id}`);
  if (!back.sameId)
    out.line("It has a new id: a sync bundle has left this machine since, and other machines would delete the old one again.");
  return 0;
}

/** What a prune took, one by one: what is there already, or has no place any more, does not keep the others from coming back. */
async function bringAllBack(snapshots: readonly Fields[], file: string, apply: boolean, { gateway, host, out }: Roads): Promise<number> {
  const names = new Set(snapshots.map((snapshot) => String(fieldsOf(snapshot.entity).name)));
  if (!apply) {
    showPlan(out, host.typed, {
      steps: [`Bring back ${snapshots.length} memories under ${names.size} entities.`],
      apply: ["delete", "--undo", file, "--apply"],
    });
    return 0;
  }
  const road = await gateway();
  let restored = 0;
  const failed: string[] = [];
  for (const snapshot of snapshots) {
    try {
      await road.ask("owner/restore", { snapshot });
      restored++;
    } catch (error) {
      failed.push(`${String(fieldsOf(snapshot.observation).id)}: ${present(error).text}`);
    }
  }
  out.line(`Brought back ${restored} of ${snapshots.length} memories.`);
  for (const line of failed) out.note(line);
  return failed.length === 0 ? 0 : 1;
}
