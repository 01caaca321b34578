/**
 * Socket activation (systemd): the service manager opened the port and hands it to us as descriptor 3 (`cli-daemon.md` §4.9).
 * Bun serves HTTP on no inherited descriptor, but accepts plain connections on one: they are passed on, byte for byte, to a server of ours on a
 * loopback port that nobody is told. `docs/decisions/0053-socket-activation.md`.
 */
import { readFileSync, readlinkSync } from "node:fs";
import type { Socket, TCPSocketListenOptions } from "bun";
import type { SocketAddress } from "../kernel/kinds.ts";

/** First descriptor that a service manager passes on. sd_listen_fds(3). */
const FIRST_DESCRIPTOR = 3;

export interface AdoptedSocket extends SocketAddress {
  readonly descriptor: number;
}

/** What the service manager wrote into the environment. */
export interface ActivationVariables {
  readonly listenPid: string | undefined;
  readonly listenFds: string | undefined;
}

/**
 * The socket that was handed to this very process; undefined where none was. A shim that was started in our place passes the variables on, but
 * then the pid is its own and the socket is not ours.
 */
export function findAdoptedSocket({ listenPid, listenFds }: ActivationVariables, pid: number = process.pid): AdoptedSocket | undefined {
  if (Number(listenPid) !== pid || !(Number(listenFds) >= 1)) return undefined;
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${FIRST_DESCRIPTOR}`))?.[1];
    const address = inode === undefined ? undefined : boundAddress(inode);
    return address === undefined ? undefined : { descriptor: FIRST_DESCRIPTOR, ...address };
  } catch {
    return undefined;
  }
}

/** Column of the local address and of the inode in /proc/net/tcp. proc(5). */
const LOCAL_ADDRESS = 1;
const INODE = 9;

function boundAddress(inode: string): SocketAddress | undefined {
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of readFileSync(table, "utf8").split("\n")) {
      const columns = line.trim().split(/\s+/);
      if (columns[INODE] !== inode) continue;
      return readKernelAddress(columns[LOCAL_ADDRESS] ?? "");
    }
  }
  return undefined;
}

/** Reads `0100007F:2253`: 32-bit words as the processor stores them, the port in hexadecimal. `0100007F:2253` → 127.0.0.1, 8787. */
export function readKernelAddress(text: string): SocketAddress | undefined {
  const [, hex = "", port = ""] = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/i.exec(text) ?? [];
  if (hex === "") return undefined;
  const bytes = [...hex.matchAll(/.{8}/g)].flatMap(([word]) => [6, 4, 2, 0].map((at) => Number.parseInt(word.slice(at, at + 2), 16)));
  const host = bytes.length === 4 ? bytes.join(".") : ipv6Text(bytes);
  return { host, port: Number.parseInt(port, 16) };
}

function ipv6Text(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, at) => (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

export interface PortRelay {
  /** Address of the client behind a connection to our inner port; undefined for one that did not come through the relay. */
  clientOf(innerPort: number): string | undefined;
  /** Accepts no more; what is connected goes on. */
  stop(): void;
}

interface Side {
  other: Socket<Side> | undefined;
  /** Bytes that the other end has not taken yet. */
  waiting: Uint8Array[];
}

/** Hands on what is due; while anything is left the sender is paused, so that a slow reader fills no memory. */
function flush(from: Socket<Side>): void {
  const { other, waiting } = from.data;
  if (other === undefined) return;
  while (waiting.length > 0) {
    const [chunk = new Uint8Array()] = waiting;
    const taken = other.write(chunk);
    if (taken < chunk.length) {
      waiting[0] = chunk.subarray(Math.max(0, taken));
      from.pause();
      return;
    }
    waiting.shift();
  }
  from.resume();
}

const handlers = {
  data(socket: Socket<Side>, chunk: Uint8Array) {
    socket.data.waiting.push(chunk.slice());
    flush(socket);
  },
  drain(socket: Socket<Side>) {
    if (socket.data.other !== undefined) flush(socket.data.other);
  },
  close(socket: Socket<Side>) {
    socket.data.other?.end();
  },
  error(socket: Socket<Side>) {
    socket.data.other?.end();
  },
};

/** Passes the connections of an inherited socket on to `innerPort` on loopback. */
export function relayConnections(descriptor: number, innerPort: number): PortRelay {
  const clients = new Map<number, string>();
  const options: TCPSocketListenOptions<Side> & { readonly fd: number } = {
    // Bun takes the descriptor and looks at neither name nor port; its types ask for them.
    fd: descriptor,
    hostname: "127.0.0.1",
    port: 0,
    data: { other: undefined, waiting: [] },
    socket: {
      ...handlers,
      open(outer) {
        outer.data = { other: undefined, waiting: [] };
        let local: number | undefined;
        void Bun.connect<Side>({
          hostname: "127.0.0.1",
          port: innerPort,
          data: { other: outer, waiting: [] },
          socket: {
            ...handlers,
            open(inner) {
              // Before the first byte: the server asks for the client with its first request.
              local = inner.localPort;
              clients.set(local, outer.remoteAddress);
              outer.data.other = inner;
              flush(outer);
            },
            close(inner) {
              if (local !== undefined) clients.delete(local);
              handlers.close(inner);
            },
          },
        }).catch(() => outer.end());
      },
    },
  };
  const listener = Bun.listen(options);
  return { clientOf: (port) => clients.get(port), stop: () => listener.stop() };
}
