/** Taking away what setup wrote: to the byte where nobody has touched the file since, our entry alone where somebody has. */
import { rm } from "node:fs/promises";
import { busy, MemoryError } from "../../kernel/errors.ts";
import { readText, writeText } from "./files.ts";
import { type Block, sameValue } from "./format.ts";
import type { Target } from "./install.ts";
import { type Receipt, readReceipts, removeEmpty, sha256, writeReceipts } from "./receipts.ts";

export type Removal =
  | { readonly kind: "nothing" }
  /** Somebody has edited the entry, or we cannot tell that it is ours. */
  | { readonly kind: "kept"; readonly reason: string }
  | { readonly kind: "delete" }
  | { readonly kind: "write"; readonly text: string; readonly exact: boolean };

export interface RemovalPlan {
  readonly target: Target;
  readonly receipt: Receipt | undefined;
  readonly current: string | undefined;
  readonly removal: Removal;
}

/**
 * What removing would do to one file. A file that cannot be read or edited safely is kept, with the reason: the others still go.
 * @param written the entries that setup would write today; without a receipt, only one of these counts as ours
 */
export async function planRemoval(target: Target, configDir: string, written: readonly Block[]): Promise<RemovalPlan> {
  const { entries } = await readReceipts(configDir);
  const receipt = entries.find(({ file }) => file === target.file);
  try {
    const current = await readText(target.file);
    return {
      target,
      receipt,
      current,
      removal: current === undefined ? { kind: "nothing" } : await decide(target, current, receipt, written),
    };
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    return { target, receipt, current: undefined, removal: { kind: "kept", reason: error.message } };
  }
}

async function decide(
  { format, file }: Target,
  current: string,
  receipt: Receipt | undefined,
  written: readonly Block[],
): Promise<Removal> {
  const { entry } = format.find(current, file);
  if (entry === undefined) return { kind: "nothing" };
  if (receipt === undefined) {
    if (!written.some((block) => sameValue(entry, block)))
      return { kind: "kept", reason: "setup did not write this entry, or somebody has edited it since" };
    return { kind: "write", text: format.take(current, file, { container: false }), exact: false };
  }
  if (receipt.after === sha256(current)) {
    if (receipt.before.kind === "absent") return { kind: "delete" };
    const before = receipt.before.kind === "copy" ? await readText(receipt.before.backup) : undefined;
    if (before !== undefined) return { kind: "write", text: before, exact: true };
  }
  if (!sameValue(entry, receipt.block)) return { kind: "kept", reason: "somebody has edited this entry since" };
  const text = format.take(current, file, { container: receipt.addedSection });
  return receipt.createdFile && format.isEmpty(text, file) ? { kind: "delete" } : { kind: "write", text, exact: false };
}

/** Carries a plan out; backups of ours and directories that are empty now go too. A kept entry keeps its backups. */
export async function applyRemoval(plan: RemovalPlan, configDir: string): Promise<void> {
  const { target, receipt, current, removal } = plan;
  if (removal.kind === "kept") return;
  if ((await readText(target.file)) !== current)
    throw busy(`${target.file} was changed by another program just now; it is as that program left it. Run the command again.`);
  if (removal.kind === "delete") await rm(target.file);
  if (removal.kind === "write") await writeText(target.file, removal.text);
  if (receipt === undefined) return;
  for (const backup of receipt.backups) await rm(backup, { force: true });
  await removeEmpty(receipt.createdDirectories);
  const receipts = await readReceipts(configDir);
  await writeReceipts(configDir, { ...receipts, entries: receipts.entries.filter(({ file }) => file !== target.file) });
}
