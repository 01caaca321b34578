/**
 * What a bridge or a command and the daemon say to each other on the local socket besides JSON-RPC.
 * A control frame is a line that begins with SOH (U+0001), which no JSON text does: a client's message can never be taken for one.
 * Decoded by hand, because the bridge loads no schema library. Unknown frames and fields are ignored, so that two versions understand each other.
 */

const MARK = "\u0001";

/** Raised when an older program could misread a newer one's frames. */
export const FRAME_PROTOCOL = 1;

/** First line of every connection: what belongs to it and not to the daemon (`cli-daemon.md` §3.1). */
export interface Hello {
  readonly kind: "bridge" | "cli";
  readonly version: string;
  /** Drawn at random by the bridge; the same again when it comes back. */
  readonly connection: string;
  readonly label: string | undefined;
  readonly project: string | undefined;
  readonly syncDir: string | undefined;
  readonly profile: string | undefined;
  readonly directory: string | undefined;
  /** Variables of the caller that are the daemon's business, each with a digest of its value; the daemon answers which differ. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The daemon's answer to {@link Hello}. */
export interface Welcome {
  readonly version: string;
  readonly pid: number;
  /** `auto`: started by a bridge, may be asked to make room · `serve`: a person's, never ended by us. */
  readonly owner: "auto" | "serve";
  /** How this daemon was started, so that an older bridge starts the newer program again and not its own. */
  readonly command: readonly string[];
  /** Names of settings in which the caller's environment differs. */
  readonly differs: readonly string[];
}

/** Questions to the daemon that are no tool calls. */
export type Question = "status" | "health" | "drain";

/** Last words before the daemon closes a connection. */
export interface Bye {
  /** `failed`: it could not start and nothing was done · `handover`: a newer version takes its place · `stop`: idle or told to end. */
  readonly reason: "failed" | "handover" | "stop";
  readonly text: string | undefined;
  /** Messages taken from this connection; what was sent after them is untouched and may be sent again. */
  readonly accepted: number;
}

export type ClientFrame =
  | { readonly op: "hello"; readonly hello: Hello }
  | { readonly op: "end" }
  | { readonly op: "ask"; readonly id: number; readonly question: Question; readonly version: string };

export type DaemonFrame =
  | { readonly op: "welcome"; readonly welcome: Welcome }
  /** Its database is open: from now on messages are worked on. What is sent earlier waits there. */
  | { readonly op: "ready" }
  | { readonly op: "bye"; readonly bye: Bye }
  | { readonly op: "answer"; readonly id: number; readonly value: unknown; readonly refused: string | undefined };

/** A frame as one line, without its newline. */
export const encodeFrame = (frame: ClientFrame | DaemonFrame): string => `${MARK}${JSON.stringify({ protocol: FRAME_PROTOCOL, ...frame })}`;

export const isFrame = (line: string): boolean => line.startsWith(MARK);

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
const text = (value: unknown): string | undefined => (typeof value === "string" && value.trim() !== "" ? value.trim() : undefined);
const whole = (value: unknown): number => (typeof value === "number" && Number.isSafeInteger(value) ? value : 0);
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);

function parse(line: string): Fields | undefined {
  try {
    const fields = fieldsOf(JSON.parse(line.slice(MARK.length)));
    return fields.protocol === FRAME_PROTOCOL ? fields : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a frame of a bridge or command; undefined for what this version does not know. */
export function readClientFrame(line: string): ClientFrame | undefined {
  const frame = parse(line);
  if (frame?.op === "end") return { op: "end" };
  if (frame?.op === "hello") return { op: "hello", hello: readHello(fieldsOf(frame.hello)) };
  const { question } = frame ?? {};
  if (frame?.op === "ask" && (question === "status" || question === "health" || question === "drain"))
    return { op: "ask", id: whole(frame.id), question, version: text(frame.version) ?? "" };
  return undefined;
}

function readHello(hello: Fields): Hello {
  const settings = Object.entries(fieldsOf(hello.settings)).flatMap(([name, digest]) =>
    typeof digest === "string" ? [[name, digest]] : [],
  );
  return {
    kind: hello.kind === "cli" ? "cli" : "bridge",
    version: text(hello.version) ?? "0.0.0",
    connection: text(hello.connection) ?? "",
    label: text(hello.label),
    project: text(hello.project),
    syncDir: text(hello.syncDir),
    profile: text(hello.profile),
    directory: text(hello.directory),
    settings: Object.fromEntries(settings),
  };
}

/** Reads a frame of the daemon; undefined for what this version does not know. */
export function readDaemonFrame(line: string): DaemonFrame | undefined {
  const frame = parse(line);
  if (frame?.op === "welcome") {
    const welcome = fieldsOf(frame.welcome);
    return {
      op: "welcome",
      welcome: {
        version: text(welcome.version) ?? "0.0.0",
        pid: whole(welcome.pid),
        owner: welcome.owner === "serve" ? "serve" : "auto",
        command: texts(welcome.command),
        differs: texts(welcome.differs),
      },
    };
  }
  if (frame?.op === "ready") return { op: "ready" };
  if (frame?.op === "bye") {
    const bye = fieldsOf(frame.bye);
    const reason = bye.reason === "failed" || bye.reason === "handover" ? bye.reason : "stop";
    return { op: "bye", bye: { reason, text: text(bye.text), accepted: whole(bye.accepted) } };
  }
  if (frame?.op === "answer") return { op: "answer", id: whole(frame.id), value: frame.value, refused: text(frame.refused) };
  return undefined;
}
