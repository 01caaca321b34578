/** One JSON value a line over any byte stream: framing on the way in, one writer on the way out. */

import { rpcCode } from "../kernel/errors.ts";
import type { OutgoingMessage } from "../mcp/connection.ts";
import { fault } from "../mcp/protocol.ts";
import { createIdFinder, exactId, type IdFinder } from "./own-id.ts";

/** Longest line taken, in bytes without its newline; the same limit as an HTTP body (`cli-daemon.md` §4.2). */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** What one line turned out to be. `text` lines are well-formed UTF-8 and hold something other than white space. */
export type Line =
  | { readonly kind: "text"; readonly text: string }
  /** `id`: that of the message, as it stood there, where it has one. */
  | { readonly kind: "too-long"; readonly id?: string | undefined }
  | { readonly kind: "not-utf8" };

export interface LineDecoder {
  /** Takes the next bytes; answers the lines that they complete. */
  push(chunk: Uint8Array): Line[];
  /** End of input: a last line counts without its newline. */
  end(): Line[];
}

/**
 * Cuts bytes into lines. A character split between chunks stays whole because decoding waits for the newline; `\r\n` is a newline; blank lines vanish.
 * A line over the limit is reported once, when it ends or its id is known; it is not kept.
 * Bytes that are no UTF-8 are reported rather than replaced: a replaced character would be stored as if somebody had written it.
 */
export function createLineDecoder(maxBytes: number = MAX_LINE_BYTES): LineDecoder {
  // A byte-order mark is dropped (some shells write one before the first line); malformed bytes throw.
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let parts: Uint8Array[] = [];
  let held = 0;
  /** Of a line over the limit: what looks for its id, until it was reported. */
  let skipping: IdFinder | "reported" | undefined;

  const finish = (lines: Line[]) => {
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    parts = [];
    held = 0;
    if (bytes === undefined || bytes.length === 0) return;
    const end = bytes[bytes.length - 1] === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
    let text: string;
    try {
      text = utf8.decode(bytes.subarray(0, end));
    } catch {
      lines.push({ kind: "not-utf8" });
      return;
    }
    if (text.trim() !== "") lines.push({ kind: "text", text });
  };

  const skip = (bytes: Uint8Array, lines: Line[]) => {
    if (skipping === undefined || skipping === "reported") return;
    skipping.push(bytes);
    if (skipping.source === undefined) return;
    lines.push({ kind: "too-long", id: skipping.source });
    skipping = "reported";
  };
  /** The end of a line. */
  const endLine = (lines: Line[]) => {
    if (skipping === undefined) finish(lines);
    else if (skipping !== "reported") lines.push({ kind: "too-long" });
    skipping = undefined;
  };

  const take = (bytes: Uint8Array, lines: Line[]) => {
    if (bytes.length === 0) return;
    if (skipping !== undefined) return skip(bytes, lines);
    if (held + bytes.length > maxBytes) {
      skipping = createIdFinder();
      for (const part of [...parts, bytes]) skip(part, lines);
      parts = [];
      held = 0;
      return;
    }
    parts.push(bytes);
    held += bytes.length;
  };

  return {
    push(chunk) {
      const lines: Line[] = [];
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        take(chunk.subarray(from, at), lines);
        endLine(lines);
        from = at + 1;
      }
      // Copied: the runtime may fill the chunk's memory again before the rest of the line comes.
      if (from < chunk.length) take(chunk.slice(from), lines);
      return lines;
    },
    end() {
      const lines: Line[] = [];
      endLine(lines);
      return lines;
    },
  };
}

/** A line, read: the message it holds, or the JSON-RPC error that answers a line which holds none (`id` null: it cannot be known). */
export type Incoming =
  | { readonly kind: "message"; readonly message: unknown; readonly text: string }
  | { readonly kind: "fault"; readonly answer: OutgoingMessage };

/** Parses one line. Whether the value is a request is the protocol layer's question, not this one's. */
export function readLine(line: Line): Incoming {
  if (line.kind === "too-long")
    return refused(rpcCode.envelope, `A line may hold at most ${MAX_LINE_BYTES} bytes; this one was skipped. Nothing was done.`, {
      id: line.id,
    });
  if (line.kind === "not-utf8") return refused(rpcCode.parse, "Parse error", { data: "The line is not UTF-8. Nothing was done." });
  try {
    const message: unknown = JSON.parse(line.text);
    return hasRoundedId(message)
      ? refused(rpcCode.envelope, ROUNDED_ID, { id: idIn(line.text) })
      : { kind: "message", message, text: line.text };
  } catch (error) {
    // The engine's words name a position or a character, never more of the line than one token; a nesting too deep is a RangeError.
    const isSyntax = error instanceof SyntaxError;
    return refused(rpcCode.parse, "Parse error", {
      data: isSyntax ? "The line is not valid JSON. Nothing was done." : "The line is nested too deeply. Nothing was done.",
    });
  }
}

/** @param id as it stood in the line */
function refused(code: number, message: string, { id, data }: { readonly id?: string | undefined; readonly data?: string }): Incoming {
  return { kind: "fault", answer: { ...fault(null, code, message, data), id: exactId(id) ?? null } };
}

const ROUNDED_ID =
  "Invalid request: id must be text, or a number of at most 9007199254740991: a larger one would come back rounded. Nothing was done.";

/** True where the id was a number that JSON's reader could not keep. */
const hasRoundedId = (message: unknown): boolean =>
  typeof message === "object" &&
  message !== null &&
  "id" in message &&
  typeof message.id === "number" &&
  Math.abs(message.id) > Number.MAX_SAFE_INTEGER;

function idIn(text: string): string | undefined {
  const finder = createIdFinder();
  finder.push(Buffer.from(text));
  return finder.source;
}

/** Hands bytes to the operating system; resolves when they are taken and rejects when the other end is gone. */
export type ByteSink = (text: string) => Promise<void>;

export interface LineWriter {
  /** Queues one line (without its newline); lines leave in this order. Does nothing once the other end is gone. */
  send(line: string): void;
  /** Characters queued and not yet taken by the operating system. */
  readonly backlog: number;
  /** Resolves when at most `chars` are queued, or the other end is gone. */
  below(chars: number): Promise<void>;
  /** Resolves true when all is out; false when nothing moved for `stallMs`, or the other end is gone. */
  flush(stallMs: number): Promise<boolean>;
  /** Fires when the other end is gone. */
  readonly broken: AbortSignal;
}

/** Characters handed over in one write: enough to amortise the system call, small enough that `flush` sees progress. */
const BATCH_CHARS = 256 * 1024;

/** One writer for a stream: concurrent answers never interleave, and a slow reader is noticed through `backlog`. */
export function createLineWriter(sink: ByteSink): LineWriter {
  const broken = new AbortController();
  const waiting = new Set<() => void>();
  let queue: string[] = [];
  let backlog = 0;
  let running = false;
  let moves = 0;

  const wake = () => {
    for (const check of [...waiting]) check();
  };
  const pump = async () => {
    running = true;
    while (queue.length > 0 && !broken.signal.aborted) {
      let batch = "";
      let taken = 0;
      while (taken < queue.length && batch.length < BATCH_CHARS) batch += queue[taken++];
      queue = queue.slice(taken);
      try {
        await sink(batch);
      } catch {
        broken.abort();
        queue = [];
        backlog = 0;
        break;
      }
      backlog -= batch.length;
      moves++;
      wake();
    }
    running = false;
    wake();
  };
  const until = (holds: () => boolean, stallMs?: number) =>
    new Promise<boolean>((resolve) => {
      let seen = moves;
      let timer: ReturnType<typeof setInterval> | undefined;
      const settle = (value: boolean) => {
        clearInterval(timer);
        waiting.delete(check);
        resolve(value);
      };
      const check = () => {
        if (broken.signal.aborted) settle(false);
        else if (holds()) settle(true);
      };
      waiting.add(check);
      if (stallMs !== undefined)
        timer = setInterval(() => {
          if (moves === seen) settle(false);
          seen = moves;
        }, stallMs);
      check();
    });

  return {
    send(line) {
      if (broken.signal.aborted) return;
      queue.push(`${line}\n`);
      backlog += line.length + 1;
      if (!running) void pump();
    },
    get backlog() {
      return backlog;
    },
    async below(chars) {
      if (backlog > chars) await until(() => backlog <= chars);
    },
    flush: (stallMs) => until(() => !running && queue.length === 0, stallMs),
    broken: broken.signal,
  };
}
