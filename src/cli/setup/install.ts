/** Putting our entry into a client's file: planned from the text, applied with a backup and a receipt. */
import { dirname } from "node:path";
import { busy } from "../../kernel/errors.ts";
import { backUp, ensureDirectory, readText, writeText } from "./files.ts";
import type { Block, Format } from "./format.ts";
import { type Receipt, readReceipts, sha256, writeReceipts } from "./receipts.ts";

/** One place that setup writes to. */
export interface Target {
  readonly id: string;
  readonly title: string;
  readonly file: string;
  readonly format: Format;
}

export interface InstallPlan {
  readonly target: Target;
  readonly block: Block;
  /** Undefined where there is no file yet. */
  readonly before: string | undefined;
  readonly after: string;
  readonly changes: boolean;
}

/** What applying would do. @throws MemoryError `refused` for a file that cannot be edited safely */
export async function planInstall(target: Target, block: Block): Promise<InstallPlan> {
  const before = await readText(target.file);
  const after = target.format.put(before ?? "", target.file, block);
  return { target, block, before, after, changes: before !== after };
}

/** Writes it: backup first, then the file, then the receipt. Answers the backup's name, where there was something to back up. */
export async function applyInstall(plan: InstallPlan, configDir: string, now: Date): Promise<string | undefined> {
  const { target, block, before, after } = plan;
  if (!plan.changes) return undefined;
  const createdDirectories = before === undefined ? await ensureDirectory(dirname(target.file)) : [];
  const backup = before === undefined ? undefined : await backUp(target.file, now);
  // Clients write their files too: what changed since it was read would be lost.
  if ((await readText(target.file)) !== before)
    throw busy(`${target.file} was changed by another program just now; it is as that program left it. Run the command again.`);
  await writeText(target.file, after);

  const receipts = await readReceipts(configDir);
  const earlier = receipts.entries.find(({ file }) => file === target.file);
  const untouched = earlier !== undefined && before !== undefined && earlier.after === sha256(before);
  const hadEntry = before !== undefined && target.format.find(before, target.file).entry !== undefined;
  const receipt: Receipt = {
    target: target.id,
    file: target.file,
    block,
    after: sha256(after),
    before:
      before === undefined
        ? { kind: "absent" }
        : untouched
          ? earlier.before
          : hadEntry || backup === undefined
            ? { kind: "unknown" }
            : { kind: "copy", backup },
    addedSection: earlier?.addedSection ?? !target.format.hasSection(before ?? "", target.file),
    createdFile: before === undefined || (earlier?.createdFile ?? false),
    createdDirectories: [...(earlier?.createdDirectories ?? []), ...createdDirectories],
    backups: [...(earlier?.backups ?? []), ...(backup === undefined ? [] : [backup])],
  };
  await writeReceipts(configDir, { ...receipts, entries: [...receipts.entries.filter(({ file }) => file !== target.file), receipt] });
  return backup;
}
