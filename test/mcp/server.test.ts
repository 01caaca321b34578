import { describe, expect, test } from "bun:test";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { createGateway } from "../../src/cli/gateway.ts";
import type { CallContext } from "../../src/kernel/context.ts";
import { conflict, invalid, MemoryError, notFound, refused } from "../../src/kernel/errors.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { OutgoingMessage, PeerInfo } from "../../src/mcp/connection.ts";
import { createDispatcher } from "../../src/mcp/dispatch.ts";
import { protocolVersions } from "../../src/mcp/protocol.ts";
import { createMcpServer, type OwnerMethod } from "../../src/mcp/server.ts";
import type { Caller, CallerInfo, Identity } from "../../src/services/identity/identity.ts";
import { createCalls, paceBehind } from "../../src/services/pace.ts";
import callTool from "../../src/tools/call.ts";
import { action, defineTool, type Tool } from "../../src/tools/define.ts";
import discover from "../../src/tools/discover.ts";
import { text } from "../../src/tools/fields.ts";
import type { Services } from "../../src/tools/services.ts";

interface Recorded {
  readonly tool: string;
  readonly ok: boolean;
  readonly error: string | undefined;
}

/** A server whose tools the test controls and whose database cannot be reached unless `reachable`. */
function harness(
  options: {
    reachable?: boolean;
    timeoutMs?: number;
    typed?: string;
    read?: (ctx: CallContext) => Promise<string>;
    asked?: OwnerMethod;
    run?: (ctx: CallContext, words: string) => Promise<Record<string, unknown>>;
  } = {},
) {
  const { reachable = true, timeoutMs = 5_000, run = async (_ctx: CallContext, words: string) => ({ said: words }) } = options;
  const recorded: Recorded[] = [];
  const adopted: unknown[] = [];
  const say = defineTool({
    name: "cuba_say",
    group: "meta",
    profile: "lean",
    title: "Say",
    describe: "Says words, for the tests.",
    hints: { readOnly: false, destructive: false, openWorld: false },
    only: action({ input: z.object({ words: text(0, 100, "words") }), secretGate: ["words"], run: (ctx, args) => run(ctx, args.words) }),
  });
  const tools: readonly Tool[] = [say, discover, callTool];
  const services = {
    telemetry: { record: (_: unknown, call: Recorded) => recorded.push({ tool: call.tool, ok: call.ok, error: call.error }) },
    catalogue: () => tools,
  } as unknown as Services;
  const identity: Identity = {
    caller: (info: CallerInfo): Caller => ({
      bound: info.label !== undefined || info.transport !== "http",
      key: () => info.label ?? "anonymous",
      introduce: () => {},
      adoptRoots: async (result) => void adopted.push(result),
      awaitRoots: () => {},
      resolve: async () => {
        if (!reachable) throw new Error("no database");
        return { scope: { kind: "none" }, session: undefined };
      },
      lookAgain: () => {},
      leave: () => {},
    }),
    active: () => undefined,
    sessionKey: (client) => client,
  };
  const server = createMcpServer({
    tools,
    dispatcher: createDispatcher({ tools, services, now: () => 0, paceOf: paceBehind(createCalls()) }),
    identity,
    log: silentLogger,
    handlerTimeoutMs: timeoutMs,
    profile: undefined,
    resources: {
      list: async (opening) => ({ resources: [], project: (await opening.open(false)).scope.kind }),
      read: async (opening, uri) => ({
        contents: [{ uri, mimeType: "text/plain", text: await (options.read ?? (async () => "read"))(await opening.open(false)) }],
      }),
    },
    ...(options.typed === undefined ? {} : { typed: options.typed }),
    ownerMethods: new Map([["owner/project", options.asked ?? (async (params) => ({ asked: params.what }))]]),
  });
  const connect = (peer: Partial<PeerInfo> = {}, send?: (message: OutgoingMessage) => void) =>
    server.connect(
      {
        transport: "stdio",
        principal: { kind: "owner" },
        label: "tester",
        machine: undefined,
        protocolSession: undefined,
        project: undefined,
        directory: undefined,
        profile: undefined,
        ...peer,
      },
      send,
    );
  return { connect, recorded, adopted };
}

const call = (id: unknown, name: string, args: unknown) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});
const resultOf = (message: OutgoingMessage | undefined) =>
  message?.result as { content: { text: string }[]; isError?: boolean; structuredContent?: unknown };
const codeOf = (message: OutgoingMessage | undefined) => (message?.error as { code: number } | undefined)?.code;

describe("the protocol layer", () => {
  test("speaks what the SDK in use speaks, newest first, down to 2024-11-05", () => {
    expect(SUPPORTED_PROTOCOL_VERSIONS.slice(0, protocolVersions.length)).toEqual([...protocolVersions]);
  });

  for (const [asked, wanted] of [
    ["2025-06-18", "2025-06-18"],
    ["2099-01-01", "2025-11-25"],
    ["nonsense", "2025-11-25"],
    [undefined, "2024-11-05"],
  ] as const)
    test(`answers protocol version ${asked} with ${wanted}`, async () => {
      const { connect } = harness();
      const params = { ...(asked === undefined ? {} : { protocolVersion: asked }), capabilities: {}, clientInfo: { name: "x" } };
      const answer = await connect().handle({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      expect(answer?.result).toMatchObject({ protocolVersion: wanted });
    });

  test("serves a client that skips initialize", async () => {
    const { connect } = harness();
    expect(resultOf(await connect().handle(call("a", "cuba_say", { words: "hi" })))).toEqual({
      content: [{ type: "text", text: '{"said":"hi"}' }],
    } as never);
  });

  test("gives structured content to a client of a revision that reads it", async () => {
    const { connect } = harness();
    const connection = connect();
    await connection.handle({ jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-06-18" } });
    expect(resultOf(await connection.handle(call(1, "cuba_say", { words: "hi" }))).structuredContent).toEqual({ said: "hi" });
  });

  for (const [message, code, id] of [
    [[{ jsonrpc: "2.0", id: 1, method: "ping" }], -32600, null],
    ["text", -32600, null],
    [{ id: 3, method: "ping" }, -32600, 3],
    [{ jsonrpc: "2.0", id: 4 }, -32600, 4],
    [{ jsonrpc: "2.0", id: {}, method: "ping" }, -32600, null],
    [{ jsonrpc: "2.0", id: 5, method: "ping", params: [1] }, -32600, 5],
    [{ jsonrpc: "2.0", id: 6, method: "prompts/list" }, -32601, 6],
    [{ jsonrpc: "2.0", id: 7, method: "owner/project" }, -32601, 7],
    [call(8, "no_such_tool", {}), -32602, 8],
    [call(9, "cuba_say", []), -32602, 9],
    [{ jsonrpc: "2.0", id: 10, method: "tools/call", params: {} }, -32602, 10],
  ] as const)
    test(`answers ${JSON.stringify(message)} with ${code}`, async () => {
      const answer = await harness().connect().handle(message);
      expect([codeOf(answer), answer?.id]).toEqual([code, id]);
    });

  test("answers nothing to notifications and to stray answers", async () => {
    const connection = harness().connect();
    expect(await connection.handle({ jsonrpc: "2.0", method: "notifications/initialized" })).toBeUndefined();
    expect(await connection.handle({ jsonrpc: "2.0", id: null, method: "ping" })).toBeUndefined();
    expect(await connection.handle({ jsonrpc: "2.0", id: "srv_99", result: {} })).toBeUndefined();
    expect(connection.greeted).toBe(false);
  });

  test("checks arguments and the secret gate before it needs the database", async () => {
    const { connect } = harness({ reachable: false });
    const wrong = resultOf(await connect().handle(call(1, "cuba_say", { words: 5 })));
    expect([wrong.isError, wrong.content[0]?.text]).toEqual([
      true,
      "words must be text of 0 to 100 characters; got the number 5. Nothing was written.",
    ]);
    const secret = resultOf(await connect().handle(call(2, "cuba_say", { words: "ghp_abcdefghijklmnop" })));
    expect(secret.content[0]?.text).toStartWith("refusing to write words: what looks like a github token starts near character 0");
  });

  test("lists tools and finds them without a database", async () => {
    const { connect } = harness({ reachable: false });
    const found = resultOf(await connect().handle(call(1, "cuba_tools", { query: "zzz" })));
    expect(JSON.parse(found.content[0]?.text ?? "")).toMatchObject({ count: 0, total_tools: 3 });
  });

  test("cuba_call answers exactly as the tool itself and is counted once, under the inner name", async () => {
    const { connect, recorded } = harness();
    const direct = await connect().handle(call(1, "cuba_say", { words: "hi" }));
    expect(await connect().handle(call(1, "cuba_call", { tool: "memory_say", args: '{"words":"hi"}' }))).toEqual(direct);
    expect(recorded.map((one) => one.tool)).toEqual(["cuba_say", "cuba_say"]);
  });

  test("cuba_call refuses the meta tools and unknown names", async () => {
    const { connect } = harness();
    const itself = resultOf(await connect().handle(call(1, "cuba_call", { tool: "cuba_call", args: {} })));
    expect([itself.isError, itself.content[0]?.text]).toEqual([
      true,
      "cuba_call cannot be called through another tool; call it directly. Nothing was done.",
    ]);
    const unknown = resultOf(await connect().handle(call(2, "cuba_call", { tool: "nope" })));
    expect(unknown.content[0]?.text).toContain("cuba_tools");
  });

  test("refuses a peer token every tool, also inside cuba_call", async () => {
    const { connect } = harness();
    const peer = connect({ principal: { kind: "peer", id: "b" }, transport: "http" });
    expect(codeOf(await peer.handle(call(1, "cuba_say", { words: "x" })))).toBe(-32001);
    expect(codeOf(await peer.handle(call(2, "cuba_call", { tool: "cuba_say", args: { words: "x" } })))).toBe(-32001);
    expect(await peer.handle({ jsonrpc: "2.0", id: 3, method: "tools/list" })).toMatchObject({ result: { tools: [] } });
  });

  test("shows a bug as -32603 with the call id and without its text", async () => {
    const { connect, recorded } = harness({
      run: async () => {
        throw new Error("password=hunter22 in the driver");
      },
    });
    const answer = await connect().handle(call(1, "cuba_say", { words: "x" }));
    expect(codeOf(answer)).toBe(-32603);
    expect(JSON.stringify(answer)).not.toContain("driver");
    expect(recorded[0]?.error).toBe("password=*** in the driver");
  });

  test("ends a call at the time limit with a result that says so, and aborts its work", async () => {
    let aborted = false;
    const { connect, recorded } = harness({
      timeoutMs: 20,
      run: (ctx) =>
        new Promise((_, reject) =>
          ctx.signal.addEventListener("abort", () => {
            aborted = true;
            reject(new Error("aborted"));
          }),
        ),
    });
    const answer = resultOf(await connect().handle(call(1, "cuba_say", { words: "x" })));
    expect([answer.isError, answer.content[0]?.text.startsWith("cuba_say ran longer than 0.02 s")]).toEqual([true, true]);
    expect(aborted).toBe(true);
    expect(recorded).toMatchObject([{ tool: "cuba_say", ok: false, error: expect.stringContaining("ran longer than 0.02 s") }]);
  });

  test("resources are listed and read inside a call's limits, and refused to a peer token", async () => {
    const ask = (id: number, method: string, params = {}) => ({ jsonrpc: "2.0", id, method, params });
    const { connect } = harness();
    expect(resultOf(await connect().handle(ask(1, "resources/list")))).toMatchObject({ resources: [] });
    expect(await connect().handle(ask(2, "resources/read", { uri: "memory://x" }))).toMatchObject({
      result: { contents: [{ uri: "memory://x", text: "read" }] },
    });
    expect(codeOf(await connect().handle(ask(3, "resources/read")))).toBe(-32602);
    const peer = connect({ principal: { kind: "peer", id: "p" } });
    for (const method of ["resources/list", "resources/read"])
      expect(codeOf(await peer.handle(ask(4, method, { uri: "memory://x" })))).toBe(-32001);
    const slow = harness({
      timeoutMs: 20,
      read: (ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("aborted")))),
    });
    const late = await slow.connect().handle(ask(5, "resources/read", { uri: "memory://x" }));
    expect(late).toMatchObject({ error: { message: expect.stringContaining("resources/read ran longer than 0.02 s") } });
  });

  test("tells what it offers", async () => {
    const { connect } = harness();
    expect(resultOf(await connect().handle({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }))).toMatchObject({
      capabilities: { tools: { listChanged: false }, resources: { listChanged: false, subscribe: false } },
      instructions: expect.stringContaining("cuba_contexto first"),
    });
  });

  test("says how a shell starts the program where it does not know its name, but not to another machine", async () => {
    const told = async (typed: string, peer: Partial<PeerInfo> = {}) =>
      resultOf(await harness({ typed }).connect(peer).handle({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })) as unknown as {
        instructions: string;
      };
    expect((await told("/opt/bun '/my clone/src/main.ts'")).instructions).toEndWith(
      "\nIn a shell, 'memory-industry' is: /opt/bun '/my clone/src/main.ts'",
    );
    for (const { instructions } of [await told("memory-industry"), await told("/opt/bun /c/src/main.ts", { transport: "http" })])
      expect(instructions).toEndWith("end with action=end and a summary.");
  });

  test("gives no answer to a cancelled call, and tells string and number ids apart", async () => {
    const finish: (() => void)[] = [];
    const { connect, recorded } = harness({ run: () => new Promise((resolve) => finish.push(() => resolve({ done: true }))) });
    const connection = connect();
    const first = connection.handle(call(1, "cuba_say", { words: "x" }));
    const second = connection.handle(call("1", "cuba_say", { words: "y" }));
    while (finish.length < 2) await Promise.resolve();
    await connection.handle({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    expect(await first).toBeUndefined();
    expect(recorded).toMatchObject([{ tool: "cuba_say", ok: false, error: "The call was cancelled by its client." }]);
    for (const done of finish) done();
    expect(resultOf(await second).content[0]?.text).toBe('{"done":true}');
    expect(recorded.map(({ ok }) => ok)).toEqual([false, true]);
    expect(connection.inFlight).toBe(0);
  });

  test("one client cannot cancel another's call", async () => {
    let finish = () => {};
    const { connect } = harness({ run: () => new Promise((resolve) => (finish = () => resolve({ done: true }))) });
    const [a, b] = [connect({ label: "a" }), connect({ label: "b" })];
    const running = a.handle(call(1, "cuba_say", { words: "x" }));
    await Promise.resolve();
    await b.handle({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    expect(resultOf(await running).isError).toBeUndefined();
  });

  test("asks a client with roots for them once it is ready, and adopts the answer", async () => {
    const { connect, adopted } = harness();
    const sent: OutgoingMessage[] = [];
    const connection = connect({ transport: "bridge" }, (message) => sent.push(message));
    await connection.handle({ jsonrpc: "2.0", id: 0, method: "initialize", params: { capabilities: { roots: {} } } });
    await connection.handle({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect(sent).toEqual([{ jsonrpc: "2.0", id: "cuba_roots", method: "roots/list", params: {} }]);
    await connection.handle({ jsonrpc: "2.0", id: "cuba_roots", result: { roots: [{ uri: "file:///a" }] } });
    await Promise.resolve();
    expect(adopted).toEqual([{ roots: [{ uri: "file:///a" }] }]);
  });

  test("samples through the client, and takes an error answer for a failure", async () => {
    const sent: OutgoingMessage[] = [];
    const { connect } = harness({
      run: async (ctx) => ({ heard: await ctx.sampling?.complete({ prompt: "p", maxTokens: 9 }, ctx.signal) }),
    });
    const connection = connect({}, (message) => sent.push(message));
    await connection.handle({ jsonrpc: "2.0", id: 0, method: "initialize", params: { capabilities: { sampling: {} } } });
    const good = connection.handle(call(1, "cuba_say", { words: "x" }));
    while (sent.length < 1) await Promise.resolve();
    await connection.handle({
      jsonrpc: "2.0",
      id: sent[0]?.id,
      result: {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
    });
    expect(resultOf(await good).content[0]?.text).toBe('{"heard":"a\\nb"}');
    const bad = connection.handle(call(2, "cuba_say", { words: "x" }));
    while (sent.length < 2) await Promise.resolve();
    await connection.handle({ jsonrpc: "2.0", id: sent[1]?.id, error: { code: -1, message: "User rejected" } });
    expect(resultOf(await bad)).toMatchObject({ isError: true });
  });

  test("serves the owner's methods to our own commands alone", async () => {
    const { connect } = harness();
    const asked = { jsonrpc: "2.0", id: 1, method: "owner/project", params: { what: "x" } };
    expect(await connect({ transport: "cli" }).handle(asked)).toMatchObject({ result: { asked: "x" } });
    expect(codeOf(await connect({ transport: "http" }).handle(asked))).toBe(-32601);
  });

  test("an error reaches a command of ours as the error that it is, whether a tool or the owner made it", async () => {
    for (const [error, code] of [
      [invalid("no such thing. Nothing was done."), "invalid"],
      [refused("not so. Nothing was done."), "refused"],
      [conflict("somebody else was there. Nothing was done."), "conflict"],
      [notFound("project", "x"), "not_found"],
      [new Error("a bug"), "internal"],
    ] as const) {
      const fails = () => Promise.reject(error);
      const connection = harness({ run: fails, asked: fails }).connect({ transport: "cli" });
      await using gateway = createGateway(
        {
          exchange: (request) => connection.handle(request),
          notify: () => {},
          [Symbol.asyncDispose]: async () => connection.close(),
        },
        new AbortController().signal,
      );
      for (const failed of [gateway.ask("owner/project", {}), gateway.callTool("cuba_say", { words: "x" })]) {
        const reached: unknown = await failed.catch((reason: unknown) => reason);
        expect(reached).toBeInstanceOf(MemoryError);
        expect(reached).toMatchObject({ code, message: code === "internal" ? expect.stringContaining("doctor") : error.message });
      }
    }
  });

  test("a service that says no word for its error was not there to ask, and a tool that says none refused", async () => {
    const gateway = (answer: unknown) =>
      createGateway(
        { exchange: async () => answer, notify: () => {}, [Symbol.asyncDispose]: async () => {} },
        new AbortController().signal,
      );
    for (const data of [undefined, { code: "no word of ours" }, { code: "toString" }])
      await expect(gateway({ error: { code: -32603, message: "gone", data } }).ask("owner/project", {})).rejects.toMatchObject({
        code: "unavailable",
        message: "gone",
      });
    const said = { content: [{ type: "text", text: "no" }], isError: true };
    await expect(gateway({ result: said }).callTool("cuba_say", {})).rejects.toMatchObject({ code: "refused", message: "no" });
  });
});
