/** What a transport hands to the protocol layer and gets from it. Transports move messages and know nothing of tools. */
import type { Principal } from "../kernel/context.ts";

/** Any JSON-RPC message, parsed from JSON and not yet looked at. */
export type Message = unknown;

/** A message that we send: an answer, or a request or notification of ours. */
export type OutgoingMessage = Readonly<Record<string, unknown>>;

/** Who is at the other end, as far as the transport can tell (`cli-daemon.md` §3.1 and §4.4). */
export interface PeerInfo {
  /** `stdio`: this process alone · `bridge`: a stdio process behind the local socket · `http` · `cli`: a command of ours. */
  readonly transport: "stdio" | "bridge" | "http" | "cli";
  readonly principal: Principal;
  /** The label that the client declared itself (`Mcp-Client-Id`, `CUBA_CLIENT_ID`); undefined where it declared none. */
  readonly label: string | undefined;
  /** Only for callers from another machine. */
  readonly machine: string | undefined;
  /** Splits clients of one label: `Mcp-Session-Id`, or the connection id that a bridge drew. */
  readonly protocolSession: string | undefined;
  /** Name of the project this connection asked for (`CUBA_PROJECT`). */
  readonly project: string | undefined;
  /** Working directory of the bridge or command, which lies in the workspace; undefined over HTTP. */
  readonly directory: string | undefined;
  /** Listing profile (`CUBA_TOOL_PROFILE`); undefined = that of the process. */
  readonly profile: string | undefined;
  /** Revision that an earlier `initialize` agreed on: over HTTP each request repeats it (`MCP-Protocol-Version`), elsewhere the connection knows it. */
  readonly protocolVersion?: string | undefined;
}

/** One client's conversation. Requests run concurrently; answers may come out of order. */
export interface Connection {
  /**
   * Takes one message and answers it; undefined for notifications, cancelled requests and answers to requests of ours.
   * Never throws: a fault becomes a JSON-RPC error.
   */
  handle(message: Message): Promise<OutgoingMessage | undefined>;
  /** True once a valid request has come (the handshake watchdog asks). */
  readonly greeted: boolean;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Resolves when nothing is in flight. */
  settled(): Promise<void>;
  /**
   * Aborts what is in flight and forgets the connection.
   * @param end `left`: the client said that it is done; else it may come back, to this process or the next
   */
  close(end?: "left"): void;
}

export interface McpServer {
  /** @param send carries our own requests and notifications to the client; absent where there is no such channel (HTTP). */
  connect(peer: PeerInfo, send?: (message: OutgoingMessage) => void): Connection;
}
