import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { decimal, path } from "../../kernel/kinds.ts";
import { flag, optionOr, positional } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";
import { commandLine } from "../output.ts";
import { isOurSkill, type Recipe, readRecipes, skillText, slugOf } from "../skill-file.ts";

export default command({
  name: "skills",
  summary: "write procedures as agent skills",
  needs: "database",
  writes: "files",
  args: {
    dir: positional(path, "directory of the skills; each gets a folder with a SKILL.md"),
    minReliability: optionOr(decimal(0, 1), 0, "least lower bound of the share of runs that succeeded", { hint: "N" }),
    apply: flag("also delete skills of ours whose procedure is not written any more"),
  },
  details: ["A SKILL.md that somebody else wrote is never written over."],
  run: async ({ dir, minReliability, apply }, context) => {
    const { host, out } = context;
    const { ensureDirectory, readText, writeText } = await import("../setup/files.ts");
    const recipes = await allRecipes(context);
    const wanted = recipes.filter(({ reliability }) => reliability >= minReliability);
    const directory = resolve(dir);
    const taken = new Set<string>();
    const foreign: string[] = [];
    let written = 0;
    for (const recipe of wanted) {
      const base = slugOf(recipe.name);
      let slug = base;
      for (let n = 2; taken.has(slug); n++) slug = `${base}-${n}`;
      taken.add(slug);
      const file = join(directory, slug, "SKILL.md");
      const before = await readText(file);
      if (before !== undefined && !isOurSkill(before)) {
        foreign.push(file);
        continue;
      }
      await ensureDirectory(join(directory, slug));
      await writeText(file, skillText(recipe, slug));
      written++;
    }
    const stale = await staleSkills(directory, taken);
    const isGone = minReliability > 0 ? "gone or below the wanted reliability" : "gone";
    if (recipes.length === 0) out.line("There are no procedures yet; cuba_receta action=add stores one.");
    else
      out.line(
        `${written} ${written === 1 ? "skill" : "skills"} written to ${directory}, ${recipes.length - wanted.length} below the wanted reliability.`,
      );
    for (const file of foreign) out.note(`${file} is somebody else's and was left as it is.`);
    if (stale.length > 0 && apply) {
      const { rm } = await import("node:fs/promises");
      for (const folder of stale) await rm(join(directory, folder, "SKILL.md"), { force: true });
      out.line(`Deleted ${stale.length} whose procedure is ${isGone}: ${stale.join(", ")}.`);
    } else if (stale.length > 0) {
      out.line(`The procedures of ${stale.length} are ${isGone}: ${stale.join(", ")}. They were left; to delete them:`);
      out.line(
        `  ${commandLine(host.typed, ["skills", dir, ...(minReliability > 0 ? ["--min-reliability", String(minReliability)] : []), "--apply"])}`,
      );
    }
    return foreign.length === 0 ? 0 : 1;
  },
});

async function allRecipes({ gateway }: CommandContext): Promise<Recipe[]> {
  const road = await gateway();
  const recipes: Recipe[] = [];
  for (;;) {
    const last = recipes.at(-1);
    const page = readRecipes(await road.ask("owner/recipes", last === undefined ? {} : { after: last.id }));
    // By name: two of one slug keep their folders whatever is used in between.
    if (page.length === 0) return recipes.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1));
    recipes.push(...page);
  }
}

/** Folders with a skill of ours that this run did not write. */
async function staleSkills(directory: string, taken: ReadonlySet<string>): Promise<string[]> {
  const folders = await readdir(directory).catch((): string[] => []);
  const stale: string[] = [];
  for (const folder of folders.sort()) {
    if (taken.has(folder)) continue;
    const text = await readFile(join(directory, folder, "SKILL.md"), "utf8").catch(() => undefined);
    if (text !== undefined && isOurSkill(text)) stale.push(folder);
  }
  return stale;
}
