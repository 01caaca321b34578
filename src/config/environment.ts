/** The only file of the product that looks at the environment of the process. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseEnvFile } from "../kernel/env-file.ts";
import { type Config, type EnvFileLayer, loadConfig } from "./load.ts";
import { type Environment, type Machine, resolvePaths } from "./paths.ts";

/** The environment as it is now. Read at call time: tests and children change theirs. */
export const environment = (): Environment => process.env;

export const thisMachine = (): Machine => ({ platform: process.platform, workingDirectory: process.cwd() });

/** Env files in the order of their strength. `memory-industry.env` is the service's: a command that a person runs finds the same database. */
const envFileNames = ["llm.env", "graph.env"] as const;
const serviceEnvFile = "memory-industry.env";

/** The env files of this user that exist and can be read. */
export function readEnvFiles(env: Environment, machine: Machine): EnvFileLayer[] {
  const { configDir, serviceEnvDir } = resolvePaths(env, machine);
  const candidates = [
    ...(configDir === undefined ? [] : envFileNames.map((name) => join(configDir, name))),
    ...(serviceEnvDir === undefined ? [] : [join(serviceEnvDir, serviceEnvFile)]),
  ];
  return candidates.flatMap((path): EnvFileLayer[] => {
    try {
      return [{ path, values: parseEnvFile(readFileSync(path, "utf8")) }];
    } catch {
      return []; // absent, or not ours to read: then it does not count
    }
  });
}

/** The configuration of this process: environment, env files, defaults. */
export function loadProcessConfig(): Config {
  const env = environment();
  const machine = thisMachine();
  return loadConfig({ environment: env, files: readEnvFiles(env, machine), machine });
}

/** Label of this machine: the setting, else the host name that the system reports (a shell often does not export `HOSTNAME`). */
export const nodeName = (config: Config): string => config.settings.NODE_NAME.value ?? hostname();

/**
 * A vendor's own key, looked for under the names of a service that a person has chosen; undefined where none is set. Never a setting by itself: a key that
 * merely lies in the environment is not read.
 */
export function vendorKey(names: readonly string[]): string | undefined {
  const env = environment();
  return names.map((name) => env[name]?.trim() ?? "").find((key) => key !== "");
}

/** What a program that a person chose sees of our environment: everything but our own settings and the database's address. */
export const childEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment()).flatMap(([name, value]): [string, string][] =>
      value === undefined || /^(?:CUBA_|MEMORY_INDUSTRY_|DATABASE_URL$)/.test(name) ? [] : [[name, value]],
    ),
  );
