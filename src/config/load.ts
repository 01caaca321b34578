/** Layers in, typed configuration out. Pure: reads no environment, no file, no clock. */
import { shown } from "../kernel/errors.ts";
import { type Mode, modes } from "./modes.ts";
import { type Environment, type Machine, type Paths, resolvePaths } from "./paths.ts";
import { describeVariable, namesOf, type ValueOf, type Variable, type VariableName, variableNames } from "./variables.ts";

/** Where a value came from, strongest first. */
export type LayerName = "environment" | "env file" | "governor" | "mode" | "default" | "unset";

export interface Setting<T> {
  readonly value: T;
  readonly layer: LayerName;
  /** The name it was read under; undefined where nobody set it. */
  readonly name: string | undefined;
  /** Path of the env file it stood in. */
  readonly file?: string;
}

export type Settings = { readonly [K in VariableName]: Setting<ValueOf<K>> };

/** A value that could not be used, or was changed. Each stands once in `Config.warnings`. */
export interface ConfigWarning {
  readonly key: VariableName;
  /** The name that was read. */
  readonly name: string;
  /** The whole sentence, without a secret. */
  readonly message: string;
  /** False where the value was used after a correction. */
  readonly refused: boolean;
}

export interface Config {
  readonly settings: Settings;
  readonly mode: Mode;
  readonly paths: Paths;
  readonly warnings: readonly ConfigWarning[];
}

export interface EnvFileLayer {
  readonly path: string;
  readonly values: Environment;
}

export interface Layers {
  readonly environment: Environment;
  /** Later files lose to earlier ones. */
  readonly files?: readonly EnvFileLayer[];
  readonly machine: Machine;
}

/** Text for a variable, with the name it stood under. */
interface Found {
  readonly name: string;
  readonly text: string;
}

/** One place where a value may stand. */
interface Layer {
  readonly layer: LayerName;
  readonly file?: string;
  find(key: VariableName): Found | undefined;
}

/**
 * Reads every variable of the table through the layers: explicit variable > env files > mode preset > built-in default ({@link govern} adds what the memory plan says).
 * Blank is unset (but for the kinds that keep it). A bad value is warned about and passed over, as if it were not there. Never throws.
 */
export function loadConfig(layers: Layers): Config {
  const warnings: ConfigWarning[] = [];
  const given: Layer[] = [
    { layer: "environment", find: (key) => findIn(layers.environment, key) },
    ...(layers.files ?? []).map((file): Layer => ({ layer: "env file", file: file.path, find: (key) => findIn(file.values, key) })),
  ];
  const mode = modeOf(settle("MODE", given, warnings).value);
  const preset = modes[mode].preset;
  const all: Layer[] = [...given, { layer: "mode", find: (key) => found(`mode ${mode}`, preset[key], key) }];
  const rest = variableNames.filter((key) => key !== "MODE").map((key) => [key, settle(key, all, warnings)]);
  // A codec: each entry was read by the kind that stands beside its key in the table, which is what `Settings` says.
  const settings = Object.fromEntries([["MODE", settle("MODE", given, [])], ...rest]) as Settings;
  const paths = resolvePaths(layers.environment, layers.machine, { dataDir: settings.DATA_DIR.value, undoDir: settings.UNDO_DIR.value });
  return { settings, mode, paths, warnings };
}

/**
 * The same configuration with the governor's values in every variable that nobody set: below the environment and the env files, above the mode and the
 * default. Pure. A value of the governor that its own table refuses is a fault of ours and warned about like any other.
 */
export function govern(config: Config, values: Environment): Config {
  const warnings: ConfigWarning[] = [...config.warnings];
  const layer: Layer = { layer: "governor", find: (key) => findIn(values, key) };
  const settled = variableNames.map((key) => {
    const now = config.settings[key];
    if (now.layer === "environment" || now.layer === "env file") return [key, now];
    const proposed = settle(key, [layer], warnings);
    return [key, proposed.layer === "governor" ? proposed : now];
  });
  // A codec, as in `loadConfig`.
  return { ...config, settings: Object.fromEntries(settled) as Settings, warnings };
}

const modeOf = (value: unknown): Mode => (value === "red" || value === "completo" ? value : "local");

function findIn(values: Environment, key: VariableName): Found | undefined {
  for (const name of namesOf(key)) {
    const hit = found(name, values[name], key);
    if (hit !== undefined) return hit;
  }
  return undefined;
}

/** Blank text is no text, unless the kind says otherwise. */
function found(name: string, raw: string | undefined, key: VariableName): Found | undefined {
  if (raw === undefined) return undefined;
  if (describeVariable(key).is.keepsEmpty) return { name, text: raw };
  const text = raw.trim();
  return text === "" ? undefined : { name, text };
}

/** The strongest usable value of one variable. */
function settle(key: VariableName, layers: readonly Layer[], warnings: ConfigWarning[]): Setting<unknown> {
  const variable = describeVariable(key);
  for (const { layer, file, find } of layers) {
    const hit = find(key);
    if (hit === undefined) continue;
    const reading = variable.is.read(hit.text);
    const seen = `${hit.name}${variable.secret ? "" : `=${shown(hit.text)}`}${file === undefined ? "" : ` (${file})`}`;
    if (!reading.ok) {
      warnings.push({
        key,
        name: hit.name,
        refused: true,
        message: `${seen} is not usable: wanted ${variable.is.expected}. ${fallback(variable)}`,
      });
      continue;
    }
    if (reading.remark !== undefined) warnings.push({ key, name: hit.name, refused: false, message: `${seen} ${reading.remark}.` });
    return { value: reading.value, layer, name: hit.name, ...(file === undefined ? {} : { file }) };
  }
  const standard = variable.default === undefined ? undefined : variable.is.read(String(variable.default));
  return standard?.ok
    ? { value: standard.value, layer: "default", name: undefined }
    : { value: undefined, layer: "unset", name: undefined };
}

const fallback = (variable: Variable): string =>
  variable.default === undefined
    ? `It counts as unset: ${variable.unset}.`
    : `It counts as unset; the default is ${variable.default === "" ? "empty" : variable.default}.`;
