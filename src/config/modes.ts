/** Modes: presets for variables nobody set, and what a mode demands (`config-packaging.md` §3). */
import { MemoryError } from "../kernel/errors.ts";
import type { Config } from "./load.ts";
import type { VariableName } from "./variables.ts";

export type Mode = "local" | "red" | "completo";

interface ModeFacts {
  readonly doc: string;
  /** Values as a person would type them; each variable that was set anywhere wins over them. */
  readonly preset: Readonly<Partial<Record<VariableName, string>>>;
  /** A database somewhere else is the point of this mode: nothing is ever provisioned. */
  readonly needsDatabaseUrl: boolean;
}

export const modes: Readonly<Record<Mode, ModeFacts>> = {
  local: { doc: "everything on this machine", preset: {}, needsDatabaseUrl: false },
  red: { doc: "one PostgreSQL shared by several machines", preset: {}, needsDatabaseUrl: true },
  completo: { doc: "every capability on", preset: { DOCS: "on" }, needsDatabaseUrl: false },
};

/** Where the memories are kept. */
export type DatabaseChoice = { readonly kind: "embedded" } | { readonly kind: "postgres"; readonly url: string };

/** What decides which database: the mode and two variables. */
export type DatabaseFacts = Pick<Config, "mode"> & { readonly settings: Pick<Config["settings"], "DATABASE_URL" | "DB"> };

/**
 * Which database (`config-packaging.md` §6.1).
 * @throws MemoryError `unavailable` for mode `red` without a URL, and for a database in a container; nothing was provisioned.
 */
export function chooseDatabase({ mode, settings }: DatabaseFacts): DatabaseChoice {
  const url = settings.DATABASE_URL.value;
  if (url !== undefined) return { kind: "postgres", url };
  if (modes[mode].needsDatabaseUrl)
    throw new MemoryError(
      "unavailable",
      `Mode '${mode}' shares one PostgreSQL between machines and needs DATABASE_URL; nothing was created. ` +
        "Set DATABASE_URL=postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require, or CUBA_MODE=local for a database on this machine.",
      { field: "DATABASE_URL" },
    );
  if (settings.DB.value === "docker")
    throw new MemoryError(
      "unavailable",
      "CUBA_DB=docker asks for a database in a container, which this version does not start; nothing was created, and the embedded database was not used in its place. " +
        "Take CUBA_DB away for the embedded database, or start PostgreSQL with pgvector yourself and name it in DATABASE_URL.",
      { field: "CUBA_DB" },
    );
  return { kind: "embedded" };
}
