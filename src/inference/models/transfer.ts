/** One file over HTTP: into `<name>.part`, continued where it stopped, believed only after length and digest agree. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { cancelled, corrupt, MemoryError, unavailable } from "../../kernel/errors.ts";
import type { Fetch } from "./hub.ts";

export interface Transfer {
  readonly url: string;
  /** Final path; the part lies beside it. */
  readonly destination: string;
  /** Undefined: nobody vouches for the file, and then a part of unknown origin is not continued. */
  readonly sha256: string | undefined;
  readonly size: number | undefined;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** Without a byte for so long the connection counts as dead. */
  readonly stallMs: number;
  /** Bytes of this file that are here, and how many there will be where that is known. */
  readonly onBytes: (received: number, total: number | undefined) => void;
}

export interface Transferred {
  readonly sha256: string;
  readonly size: number;
}

const AGAIN = "Run the same command again";

/**
 * @throws MemoryError `unavailable` (the part is kept and continued by the next run), `corrupt` (the bytes were wrong and are deleted), `cancelled`.
 */
export async function transfer(request: Transfer): Promise<Transferred> {
  const part = `${request.destination}.part`;
  if (request.sha256 === undefined) await rm(part, { force: true });
  await receive(request, part);
  const { size } = await stat(part);
  const sha256 = await sha256OfFile(part);
  if (request.sha256 !== undefined && sha256 !== request.sha256) {
    await rm(part, { force: true });
    throw corrupt(
      `${nameOf(request)} came with the SHA-256 ${sha256} where ${request.sha256} is expected. It was deleted and nothing was installed. ${AGAIN}; if it repeats, the server has another file.`,
    );
  }
  await rename(part, request.destination);
  return { sha256, size };
}

/** SHA-256 of a file in lower-case hexadecimal, read piece by piece. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

const nameOf = ({ destination }: Transfer) => destination.split(/[\\/]/).at(-1) ?? destination;
const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size ?? 0;

async function receive(request: Transfer, part: string): Promise<void> {
  let have = await sizeOf(part);
  if (request.size !== undefined && have > request.size) {
    await rm(part);
    have = 0;
  }
  if (request.size !== undefined && have === request.size) return;
  const watch = watchdog(request.signal, request.stallMs);
  try {
    let response = await request.fetch(request.url, { headers: headers(have), signal: watch.signal });
    if (response.status === 416) {
      // The part is longer than the file, or not of this file.
      await response.body?.cancel();
      have = 0;
      response = await request.fetch(request.url, { headers: headers(0), signal: watch.signal });
    }
    const body = await accepted(request, response, have);
    await store(request, part, body, watch);
  } catch (error) {
    throw await explained(request, part, error, watch.stalled());
  } finally {
    watch.end();
  }
}

/** Compressed in transit, a length would say nothing about the file. */
const headers = (have: number): Record<string, string> => ({
  "Accept-Encoding": "identity",
  ...(have > 0 ? { Range: `bytes=${have}-` } : {}),
});

interface Body {
  readonly stream: AsyncIterable<Uint8Array>;
  /** Where the body begins in the file. */
  readonly from: number;
  readonly total: number | undefined;
}

async function accepted(request: Transfer, response: Response, have: number): Promise<Body> {
  const { status, body } = response;
  const refuse = async (message: string) => {
    await body?.cancel();
    return unavailable(message);
  };
  if (status !== 200 && status !== 206) {
    throw await refuse(`The server answered ${status} for ${nameOf(request)}. Nothing was installed. ${httpHint(status)}`);
  }
  const [, start, whole] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  const from = status === 206 ? Number(start) : 0;
  const length = response.headers.get("content-length");
  const total = status === 206 ? Number(whole) : length === null ? undefined : Number(length);
  if (status === 206 && (from !== have || Number.isNaN(total))) {
    throw await refuse(`The server continued ${nameOf(request)} at another place than asked for. Nothing was installed. ${AGAIN}.`);
  }
  if (request.size !== undefined && total !== undefined && total !== request.size) {
    await body?.cancel();
    throw corrupt(
      `The server offers ${nameOf(request)} with ${total} bytes where ${request.size} are expected: it has another file. Nothing was installed.`,
    );
  }
  if (body === null) throw await refuse(`The server sent ${nameOf(request)} without content. Nothing was installed. ${AGAIN}.`);
  return { stream: body, from, total: request.size ?? total };
}

const httpHint = (status: number) =>
  status === 401 || status === 403 || status === 404
    ? "The file is not there or not public; check MEMORY_INDUSTRY_MODELS_URL if a mirror is set."
    : `${AGAIN} in a while.`;

async function store(request: Transfer, part: string, { stream, from, total }: Body, watch: Watchdog): Promise<void> {
  const file = await open(part, from > 0 ? "r+" : "w");
  let received = from;
  try {
    request.onBytes(received, total);
    for await (const chunk of stream) {
      watch.sign();
      await writeAll(file, chunk, received);
      received += chunk.length;
      request.onBytes(received, total);
    }
    await file.datasync();
  } finally {
    await file.close();
  }
  if (total !== undefined && received < total) throw new Error("the connection ended early");
  if (total !== undefined && received > total) {
    await rm(part);
    throw corrupt(
      `${nameOf(request)} has more than the ${total} bytes it should have. It was deleted and nothing was installed. ${AGAIN}.`,
    );
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await file.write(chunk, written, chunk.length - written, position + written)).bytesWritten;
  }
}

async function explained(request: Transfer, part: string, error: unknown, stalled: boolean): Promise<Error> {
  if (error instanceof MemoryError) return error;
  if (request.signal.aborted) return cancelled();
  if (error instanceof Error && "code" in error && error.code === "ENOSPC") {
    return unavailable(
      `The disk is full while writing ${nameOf(request)}. What is there is kept; make room and run the same command again.`,
      { cause: error },
    );
  }
  const have = await sizeOf(part);
  if (have === 0) {
    const why = stalled ? `did not answer for ${Math.round(request.stallMs / 1000)} s` : "cannot be reached";
    return unavailable(
      `${nameOf(request)} could not be fetched: ${new URL(request.url).host} ${why}. Nothing was installed. ${AGAIN} once there is a connection, or name a mirror with MEMORY_INDUSTRY_MODELS_URL.`,
      { cause: error },
    );
  }
  const why = stalled ? `no byte came for ${Math.round(request.stallMs / 1000)} s` : "the connection failed";
  return unavailable(
    `${nameOf(request)} did not arrive whole: ${why} (${have} ${request.size === undefined ? "bytes" : `of ${request.size} bytes`} are here and kept). Nothing was installed. ${AGAIN} to continue.`,
    { cause: error },
  );
}

interface Watchdog {
  readonly signal: AbortSignal;
  sign(): void;
  stalled(): boolean;
  end(): void;
}

/** Fires when the caller gives up, or when nothing moved for `stallMs`. */
function watchdog(parent: AbortSignal, stallMs: number): Watchdog {
  const controller = new AbortController();
  const onParent = () => controller.abort(parent.reason);
  let stalled = false;
  const arm = () =>
    setTimeout(() => {
      stalled = true;
      controller.abort(new DOMException("no byte came", "TimeoutError"));
    }, stallMs);
  let timer = arm();
  if (parent.aborted) onParent();
  else parent.addEventListener("abort", onParent, { once: true });
  return {
    signal: controller.signal,
    sign() {
      clearTimeout(timer);
      timer = arm();
    },
    stalled: () => stalled,
    end() {
      clearTimeout(timer);
      parent.removeEventListener("abort", onParent);
    },
  };
}
