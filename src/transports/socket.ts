/** Lines over the local socket (a named pipe on Windows), either end. */
import { chmodSync } from "node:fs";
import type { Socket, UnixSocketListener } from "bun";
import { type ByteSink, createLineDecoder, createLineWriter, type Line, type LineWriter, MAX_LINE_BYTES } from "./lines.ts";

/** One conversation on the local socket. */
export interface LineChannel {
  readonly writer: LineWriter;
  /** Sends what is queued, then closes; at most `stallMs` without progress. */
  finish(stallMs: number): Promise<void>;
  /** Closes at once. */
  abort(): void;
}

export interface ChannelHandlers {
  readonly onLine: (line: Line) => void;
  /** The other end is gone, or we closed. Called once, after the last line. */
  readonly onClose: () => void;
}

interface Wire {
  readonly channel: LineChannel;
  readonly data: (chunk: Uint8Array) => void;
  readonly drained: () => void;
  readonly closed: () => void;
}

function createWire(socket: Socket<unknown>, handlers: ChannelHandlers, maxLineBytes: number): Wire {
  const decoder = createLineDecoder(maxLineBytes);
  let closed = false;
  let resume: (() => void) | undefined;

  const sink: ByteSink = async (text) => {
    let rest: Uint8Array = new TextEncoder().encode(text);
    while (rest.length > 0) {
      if (closed) throw new Error("the other end is gone");
      const taken = socket.write(rest);
      if (taken < 0) throw new Error("the other end is gone");
      rest = rest.subarray(taken);
      if (rest.length > 0) await new Promise<void>((resolve) => (resume = resolve));
    }
  };
  const writer = createLineWriter(sink);
  const wakeWriter = () => {
    const go = resume;
    resume = undefined;
    go?.();
  };
  return {
    channel: {
      writer,
      async finish(stallMs) {
        await writer.flush(stallMs);
        if (!closed) socket.end();
      },
      abort: () => socket.terminate(),
    },
    data(chunk) {
      for (const line of decoder.push(chunk)) handlers.onLine(line);
    },
    drained: wakeWriter,
    closed() {
      if (closed) return;
      closed = true;
      wakeWriter();
      for (const line of decoder.end()) handlers.onLine(line);
      handlers.onClose();
    },
  };
}

/** Connects to a local socket. Rejects at once where nobody listens. @param maxLineBytes longest line taken from the other end */
export async function connectLocal(path: string, handlers: ChannelHandlers, maxLineBytes = MAX_LINE_BYTES): Promise<LineChannel> {
  let wire: Wire | undefined;
  const socket = await Bun.connect({
    unix: path,
    socket: {
      open: (opened) => {
        wire = createWire(opened, handlers, maxLineBytes);
      },
      data: (_, chunk) => wire?.data(chunk),
      drain: () => wire?.drained(),
      close: () => wire?.closed(),
      error: () => wire?.closed(),
    },
  });
  wire ??= createWire(socket, handlers, maxLineBytes);
  return wire.channel;
}

/** Listens on a local socket, for this user alone. The path must be free: its owner removes a stale one first. */
export function listenLocal(path: string, accept: (channel: LineChannel) => ChannelHandlers): UnixSocketListener<Wire | undefined> {
  const listener = Bun.listen<Wire | undefined>({
    unix: path,
    data: undefined,
    socket: {
      open(socket) {
        let handlers: ChannelHandlers | undefined;
        const wire = createWire(socket, { onLine: (line) => handlers?.onLine(line), onClose: () => handlers?.onClose() }, MAX_LINE_BYTES);
        socket.data = wire;
        handlers = accept(wire.channel);
      },
      data: (socket, chunk) => socket.data?.data(chunk),
      drain: (socket) => socket.data?.drained(),
      close: (socket) => socket.data?.closed(),
      error: (socket) => socket.data?.closed(),
    },
  });
  if (process.platform !== "win32") chmodSync(path, 0o600);
  return listener;
}
