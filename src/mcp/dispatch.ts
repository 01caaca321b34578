/**
 * The dispatcher: canonical name → authorise → parse → secret gate → run → present → record. Every call of a tool goes through it, also
 * one that `cuba_call` carries, so no rule can be stepped around.
 */
import type { CallContext } from "../kernel/context.ts";
import { causeChain, forbidden, invalid, MemoryError, PROJECT_GONE, present, protocolFault, rpcCode, shown } from "../kernel/errors.ts";
import { inTurns, type PaceOfCall } from "../services/pace.ts";
import type { Answer, Arguments, ForwardedCall, Tool } from "../tools/define.ts";
import { canonicalName } from "../tools/profiles.ts";
import type { Services } from "../tools/services.ts";

/** What a tool answered, before it is wrapped for the wire. */
export interface ToolOutcome {
  readonly ok: boolean;
  /** The answer, or the facts that go with a refusal. */
  readonly answer: Answer;
  readonly text: string;
}

/** A call before its context is known: arguments are checked first, so that a refusal needs no database. */
export interface Opening extends Pick<CallContext, "id" | "client" | "principal" | "signal" | "log"> {
  /** @param lenient answer with an unscoped context where project and session cannot be found out. */
  open(lenient: boolean): Promise<CallContext>;
  /** The project of the call was merged or removed while it ran: the client's next call shall not begin in it. */
  readonly projectGone?: () => void;
}

export interface Dispatcher {
  /**
   * Runs a tool. A refusal or failure of the tool is an outcome with `ok: false`.
   * @throws MemoryError for protocol faults (unknown tool, arguments that are no object), for `forbidden`, `cancelled` and for bugs.
   */
  call(opening: Opening, name: string, args: unknown): Promise<ToolOutcome>;
  /** Nobody waits for this call any more (time limit, cancellation): it is recorded now, and not again when its work ends. */
  abandoned(opening: Opening, why: unknown): void;
}

export interface DispatcherParts {
  readonly tools: readonly Tool[];
  readonly services: Services;
  readonly now: () => number;
  readonly paceOf: PaceOfCall;
}

/** What a peer token may call, for the refusal that lists it. */
function peerVerbs(tools: readonly Tool[]): string {
  const verbs = tools.flatMap((tool) =>
    Object.entries(tool.actions).flatMap(([name, action]) => (action.peer ? [`${tool.name}${name === "" ? "" : ` action=${name}`}`] : [])),
  );
  return verbs.length === 0 ? "nothing in this version" : verbs.join(", ");
}

function authorise(opening: Opening, tool: Tool, args: Arguments, tools: readonly Tool[]): void {
  if (opening.principal.kind !== "peer") return;
  const action = tool.actionOf(args);
  if (action !== undefined && tool.actions[action]?.peer === true) return;
  throw forbidden(`A peer token may not call ${tool.name}. It may call: ${peerVerbs(tools)}. Nothing was done.`);
}

const isArguments = (value: unknown): value is Arguments => typeof value === "object" && value !== null && !Array.isArray(value);

export function createDispatcher({ tools, services, now, paceOf }: DispatcherParts): Dispatcher {
  const byName = new Map<string, Tool>(tools.map((tool) => [tool.name, tool]));

  /** The tool that answers an opening, the inner one of `cuba_call`; until it is recorded. */
  const running = new WeakMap<Opening, { readonly tool: string; readonly startedAt: number; isRecorded: boolean }>();

  const record = (opening: Opening, ok: boolean, error?: unknown) => {
    const entry = running.get(opening);
    if (entry === undefined || entry.isRecorded) return;
    entry.isRecorded = true;
    const cause = error === undefined ? undefined : causeChain(error);
    services.telemetry.record(opening, { tool: entry.tool, ok, elapsedMs: now() - entry.startedAt, error: cause });
  };

  const find = (name: string): Tool => {
    const tool = byName.get(canonicalName(name));
    if (tool === undefined) throw protocolFault(rpcCode.params, `Unknown tool '${name}'. cuba_tools lists what there is.`);
    return tool;
  };

  /** Telemetry counts the inner call alone, and what it answers goes out unchanged. */
  const forward = async (opening: Opening, to: ForwardedCall): Promise<ToolOutcome> => {
    const inner = byName.get(canonicalName(to.name));
    if (inner === undefined)
      throw invalid(`Unknown tool '${shown(to.name)}'. Ask cuba_tools which tools there are. Nothing was done.`, { field: "tool" });
    if (inner.profile === "meta")
      throw invalid(`${inner.name} cannot be called through another tool; call it directly. Nothing was done.`, { field: "tool" });
    return await call(opening, inner.name, to.args);
  };

  const call: Dispatcher["call"] = async (opening, name, raw) => {
    const tool = find(name);
    const args = raw ?? {};
    if (!isArguments(args)) throw protocolFault(rpcCode.params, `The arguments of ${tool.name} must be an object. Nothing was done.`);
    authorise(opening, tool, args, tools);
    running.set(opening, { tool: tool.name, startedAt: now(), isRecorded: false });
    try {
      // A call with megabytes of text stands back for the others while the gate reads them; every other is parsed before anybody's turn would come.
      const turn = (signal: AbortSignal) => paceOf(opening.id).turn(signal);
      const parsed = await inTurns({ now, turn }, opening.signal, tool.parse(args));
      if (parsed.kind === "forward") return await forward(opening, parsed.to);
      const answer = await parsed.run(await opening.open(parsed.lenient), services);
      record(opening, true);
      const whole = parsed.warnings.length === 0 ? answer : { ...answer, warnings: [...warningsOf(answer), ...parsed.warnings] };
      return { ok: true, answer: whole, text: JSON.stringify(whole) };
    } catch (error) {
      if (!(error instanceof MemoryError) || error.code === "internal") {
        record(opening, false, error);
        opening.log.error("a tool failed unexpectedly", { tool: tool.name, cause: causeChain(error) });
        throw error;
      }
      if (error.code === "cancelled" || error.code === "protocol" || error.code === "forbidden") throw error;
      if (error.reason === PROJECT_GONE) opening.projectGone?.();
      record(opening, false, error);
      opening.log.info("a tool refused", { tool: tool.name, code: error.code, cause: causeChain(error) });
      const { text: said, data } = present(error, opening.id);
      const text = tool.hints.readOnly ? said.replaceAll("Nothing was written.", "Nothing was done.") : said;
      return { ok: false, answer: { error: text, code: error.code, ...data }, text };
    }
  };
  return { call, abandoned: (opening, why) => record(opening, false, why) };
}

function warningsOf(answer: Answer): readonly unknown[] {
  return Array.isArray(answer.warnings) ? answer.warnings : [];
}
