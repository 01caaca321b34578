/** The development corpora that lie outside of the repository, as memories: entity and text. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { sharedDirectory } from "./shared.ts";

const memory = z.object({ entity: z.string(), content: z.string() });
export type Memory = z.output<typeof memory>;

export interface Corpus {
  /** `locomo/conv-42` */
  readonly name: string;
  readonly memories: () => Memory[];
}

/** Every corpus there is; none where the shared folder is not. */
export function corpora(): Corpus[] {
  const root = join(sharedDirectory() ?? "", "data/eval");
  if (!existsSync(root)) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .flatMap(({ name: folder }) => readdirSync(join(root, folder)).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith("corpus.jsonl"))
    .sort()
    .map((file) => ({
      name: file.replace(/\.?corpus\.jsonl$/, ""),
      memories: () =>
        readFileSync(join(root, file), "utf8")
          .split("\n")
          .filter((line) => line.trim() !== "")
          .map((line) => memory.parse(JSON.parse(line))),
    }));
}

/** How many different texts about different entities there are: what a store that loses nothing holds. */
export const distinctTexts = (memories: readonly Memory[]): number =>
  new Set(memories.map(({ entity, content }) => `${entity}\n${content}`)).size;

/** Memories whose entity has others: a text alone with its entity meets nothing at the gate. */
export function crowded(memories: readonly Memory[]): Memory[] {
  const sizes = Map.groupBy(memories, (each) => each.entity);
  return memories.filter((each) => (sizes.get(each.entity)?.length ?? 0) > 1);
}
