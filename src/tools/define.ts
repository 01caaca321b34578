/**
 * How a tool is written: the public contract in one file, short handlers below. Inside there is one schema for each action;
 * outside they are merged into one flat object (a selector enum, no `anyOf`).
 */
import type { z } from "zod";
import type { CallContext } from "../kernel/context.ts";
import { invalid, invalidChoice, refused } from "../kernel/errors.ts";
import { secretSteps } from "../kernel/secrets.ts";
import type { Steps } from "../kernel/steps.ts";
import { issueError, type JsonSchema, jsonSchema } from "./schema.ts";
import type { Services } from "./services.ts";

export type Group = "graph" | "search" | "errors" | "sessions" | "procedures" | "cognition" | "maintenance" | "coordination" | "meta";
/** Smallest profile that lists a tool; each contains the ones before it. `meta` tools are listed last, in `lean` and `full` only. */
export type Profile = "lean" | "agent" | "standard" | "full" | "meta";

export interface Hints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly openWorld: boolean;
}

export type Answer = Readonly<Record<string, unknown>>;
export type Arguments = Readonly<Record<string, unknown>>;

/** One action, its argument type erased; made by {@link action}. */
export interface Action {
  readonly input: z.ZodObject;
  /** The peer token may call it. */
  readonly peer: boolean;
  /** Answers also when the database cannot be reached: then without project and session. */
  readonly lenient: boolean;
  /** It deletes in this one call, without a plan (`docs/decisions/0160`): whoever says `confirm: false` did not mean that. */
  readonly deletesAtOnce: boolean;
  /** Fields that refuse credentials: `content`, `observations[].content`, `actors[]`; an object is scanned pretty-printed. */
  readonly secretGate: readonly string[];
  /** Validates arguments; answers the bound call, or what is wrong with them. */
  readonly bind: (
    args: Arguments,
  ) => { readonly run: Run } | { readonly forward: ForwardedCall } | { readonly issues: readonly z.core.$ZodIssue[] };
}

/** A call that another tool answers. The dispatcher carries it out, so every rule holds for it too. */
export interface ForwardedCall {
  readonly name: string;
  readonly args: unknown;
}

type Run = (ctx: CallContext, services: Services) => Promise<Answer>;

export interface ActionSpec<S extends z.ZodRawShape> {
  readonly input: z.ZodObject<S>;
  readonly peer?: boolean;
  readonly lenient?: boolean;
  readonly deletesAtOnce?: boolean;
  readonly secretGate?: readonly string[];
  readonly run: (ctx: CallContext, args: z.output<z.ZodObject<S>>, services: Services) => Promise<Answer>;
}

/** Types an action by its own input and erases it for the table. */
export function action<S extends z.ZodRawShape>(spec: ActionSpec<S>): Action {
  return {
    input: spec.input,
    peer: spec.peer ?? false,
    lenient: spec.lenient ?? false,
    deletesAtOnce: spec.deletesAtOnce ?? false,
    secretGate: spec.secretGate ?? [],
    bind: (args) => {
      const checked = spec.input.safeParse(args);
      return checked.success ? { run: (ctx, services) => spec.run(ctx, checked.data, services) } : { issues: checked.error.issues };
    },
  };
}

/** An action that only names another call (`cuba_call`). */
export function forwarding<S extends z.ZodRawShape>(spec: {
  readonly input: z.ZodObject<S>;
  readonly to: (args: z.output<z.ZodObject<S>>) => ForwardedCall;
}): Action {
  return {
    input: spec.input,
    peer: false,
    lenient: false,
    deletesAtOnce: false,
    secretGate: [],
    bind: (args) => {
      const checked = spec.input.safeParse(args);
      return checked.success ? { forward: spec.to(checked.data) } : { issues: checked.error.issues };
    },
  };
}

/** The argument that picks the action; `action` in most tools, `mode` or `metric` in two. */
export interface Selector {
  readonly name: string;
  readonly describe: string;
  /** Taken when the argument is absent; without it the argument is required. */
  readonly default?: string;
}

interface Common {
  readonly name: `cuba_${string}`;
  readonly group: Group;
  readonly profile: Profile;
  readonly title: string;
  /** Paid for on every request: what it is for, when to use it. */
  readonly describe: string;
  readonly hints: Hints;
}
export type ToolSpec = Common &
  ({ readonly actions: Readonly<Record<string, Action>>; readonly selector?: Selector } | { readonly only: Action });

/** A call whose arguments fit: what to run, and what was ignored. */
export type ParsedCall =
  | { readonly kind: "run"; readonly lenient: boolean; readonly warnings: readonly string[]; readonly run: Run }
  | { readonly kind: "forward"; readonly to: ForwardedCall };

export interface Tool extends Common {
  readonly inputSchema: JsonSchema & { readonly type: "object"; readonly properties: Readonly<Record<string, JsonSchema>> };
  /** The actions by name; one unnamed action has the key `""`. */
  readonly actions: Readonly<Record<string, Action>>;
  /** Which of the actions these arguments mean, before they are validated; undefined where they name none. */
  actionOf(args: Arguments): string | undefined;
  /** In steps: the gate reads texts of several MiB. Touches no database. @throws MemoryError `invalid` naming the field · `refused` for a credential. */
  parse(args: Arguments): Steps<ParsedCall>;
}

const stable = (schema: JsonSchema | undefined) => JSON.stringify({ ...schema, default: undefined });

/** Merges the actions' schemas. @throws Error when a parameter means two things: a fault of ours, found at start. */
function mergeSchemas(spec: Common, selector: Selector | undefined, actions: Readonly<Record<string, Action>>): Tool["inputSchema"] {
  const properties: Record<string, JsonSchema> = {};
  const names = Object.keys(actions);
  if (selector !== undefined)
    properties[selector.name] = {
      type: "string",
      enum: names,
      description: selector.describe,
      ...(selector.default === undefined ? {} : { default: selector.default }),
    };
  let required: string[] | undefined;
  for (const [name, one] of Object.entries(actions)) {
    const schema = jsonSchema(one.input);
    for (const [field, property] of Object.entries(schema.properties ?? {})) {
      const known = properties[field];
      if (known !== undefined && stable(known) !== stable(property))
        throw new Error(`${spec.name}: parameter '${field}' means something else in action '${name}'`);
      properties[field] = known ?? property;
    }
    const needs = schema.required ?? [];
    required = required === undefined ? [...needs] : required.filter((field) => needs.includes(field));
  }
  const always = [...(selector !== undefined && selector.default === undefined ? [selector.name] : []), ...(required ?? [])];
  return { type: "object", properties, ...(always.length > 0 ? { required: always } : {}) };
}

/** Clients that send JSON text for an array or an object are understood exactly; what does not parse stays as it came and is refused by the schema. */
function readJsonText(args: Arguments, schema: Tool["inputSchema"]): Arguments {
  const out: Record<string, unknown> = { ...args };
  for (const [field, value] of Object.entries(args)) {
    const wanted = schema.properties[field]?.type;
    if (typeof value !== "string" || !((wanted === "array" && /^\s*\[/.test(value)) || (wanted === "object" && /^\s*\{/.test(value))))
      continue;
    try {
      out[field] = JSON.parse(value);
    } catch {
      out[field] = value;
    }
  }
  return out;
}

/** Levels of an argument that are read; what nests deeper is nobody's data, and would break whatever walks it. */
const DEEPEST = 100;

/**
 * A value's texts: every string in it as it is, then the whole as JSON, which shows what a value's key says about it (`"password": "…"`). As JSON alone a
 * line end would be the letters `\n` in front of what follows, and hide it.
 */
function textsIn(name: string, value: unknown): [field: string, text: string][] {
  if (typeof value === "string") return [[name, value]];
  if (typeof value !== "object" || value === null) return [];
  const texts: [string, string][] = [];
  const walk = (at: string, part: unknown, level: number) => {
    if (typeof part === "string") texts.push([at, part]);
    if (typeof part !== "object" || part === null) return;
    if (level === DEEPEST) throw invalid(`${name} may nest at most ${DEEPEST} levels deep. Nothing was written.`, { field: name });
    if (Array.isArray(part)) part.forEach((item, index) => void walk(`${at}[${index}]`, item, level + 1));
    else
      for (const [key, item] of Object.entries(part)) {
        texts.push([at, key]);
        walk(`${at}.${key}`, item, level + 1);
      }
  };
  walk(name, value, 0);
  return [...texts, [name, JSON.stringify(value, null, 2)]];
}

/** The texts behind a gate path, each with the name the caller knows it by. */
function gatedTexts(args: Arguments, path: string): [field: string, text: string][] {
  const steps = path.split(".");
  let found: [string, unknown][] = [["", args]];
  for (const step of steps) {
    const many = step.endsWith("[]");
    const key = many ? step.slice(0, -2) : step;
    found = found.flatMap(([name, holder]): [string, unknown][] => {
      const value: unknown = typeof holder === "object" && holder !== null ? Reflect.get(holder, key) : undefined;
      const here = name === "" ? key : `${name}.${key}`;
      return many ? (Array.isArray(value) ? value.map((item, i): [string, unknown] => [`${here}[${i}]`, item]) : []) : [[here, value]];
    });
  }
  return found.flatMap(([name, value]) => textsIn(name, value));
}

/** Refuses the first text that looks like a live credential; the refusal names field, kind and place, never the secret. */
export function* refuseSecrets(args: Arguments, paths: readonly string[]): Steps<void> {
  if (args.allow_secret === true) return;
  for (const path of paths)
    for (const [field, text] of gatedTexts(args, path)) {
      const found = yield* secretSteps(text);
      if (found === undefined) continue;
      throw refused(
        `refusing to write ${field}: what looks like a ${found.label} starts near character ${found.offset} of it. ` +
          "Stored text is searchable, exported to files in git and served to every client. Nothing was written. " +
          "Store where the secret is kept instead, or pass allow_secret: true if this is a false match.",
        { field, reason: found.label },
      );
    }
}

const single = "";

/** Turns a specification into the tool that everything else reads. */
export function defineTool(spec: ToolSpec): Tool {
  const actions = "only" in spec ? { [single]: spec.only } : spec.actions;
  const selector: Selector | undefined = "only" in spec ? undefined : (spec.selector ?? { name: "action", describe: "what to do" });
  const inputSchema = mergeSchemas(spec, selector, actions);

  const actionOf = (args: Arguments): string | undefined => {
    if (selector === undefined) return single;
    const chosen = args[selector.name];
    if (chosen === undefined || (chosen === "" && selector.default !== undefined)) return selector.default;
    return typeof chosen === "string" && Object.hasOwn(actions, chosen) ? chosen : undefined;
  };

  function* parse(raw: Arguments): Steps<ParsedCall> {
    const name = actionOf(raw);
    const chosen = name === undefined ? undefined : actions[name];
    if (name === undefined || chosen === undefined) {
      const field = selector?.name ?? "action";
      if (raw[field] === undefined) throw invalid(`${field} is required. Use ${Object.keys(actions).join("/")}`, { field });
      throw invalidChoice(field, raw[field], Object.keys(actions));
    }
    if (chosen.deletesAtOnce && raw.confirm !== undefined && raw.confirm !== true)
      throw invalid(
        `${spec.name} ${name} has no plan to show: it deletes in one call. Nothing was deleted, because confirm came and was not true. Look first at what is there, then call it without confirm, or with confirm: true.`,
        { field: "confirm" },
      );
    const args = readJsonText(raw, inputSchema);
    const mine = Object.keys(chosen.input.shape);
    const warnings = Object.keys(raw)
      .filter((key) => key !== selector?.name && !mine.includes(key) && !(key === "confirm" && chosen.deletesAtOnce))
      .map((key) =>
        Object.hasOwn(inputSchema.properties, key)
          ? `'${key}' has no effect on ${selector?.name} '${name}' and was ignored`
          : `unknown argument '${key}' was ignored`,
      );
    const bound = chosen.bind(args);
    // The gate comes before other complaints: whoever is told to mend an argument would send the secret a second time.
    if (!("issues" in bound && bound.issues.some((issue) => issue.path[0] === "allow_secret")))
      yield* refuseSecrets(args, chosen.secretGate);
    if ("issues" in bound) {
      const unknown = Object.keys(raw).filter((key) => !Object.hasOwn(inputSchema.properties, key));
      throw issueError(spec.name, bound.issues, args, inputSchema, unknown);
    }
    return "forward" in bound ? { kind: "forward", to: bound.forward } : { kind: "run", lenient: chosen.lenient, warnings, run: bound.run };
  }

  const { name, group, profile, title, describe, hints } = spec;
  return { name, group, profile, title, describe, hints, actions, inputSchema, actionOf, parse };
}
