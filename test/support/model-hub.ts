/** A hub on this machine: serves files under the hub's paths, continues them, and fails in the ways that networks fail. */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface HubFile {
  readonly content: Uint8Array;
  /** Show an LFS pointer under `raw`. */
  readonly pointer?: boolean;
  /** The bytes that are really sent, where they are others. */
  readonly served?: Uint8Array;
}

export interface HubRequest {
  readonly path: string;
  readonly range: string | undefined;
  readonly status: number;
}

export interface ModelHub extends AsyncDisposable {
  readonly url: string;
  /** By `owner/name/path`; change it to serve something else. */
  readonly files: Map<string, HubFile>;
  readonly requests: HubRequest[];
  /** Sends so many bytes of the next file and then nothing more. */
  stallAfter: number | undefined;
  /** Ends every open connection. */
  cut(): void;
  /** Ignores Range and sends everything. */
  withoutRange: boolean;
}

export const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

export async function startModelHub(files: Readonly<Record<string, HubFile>>): Promise<ModelHub> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((request, response) => answer(request, response));
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const hub: ModelHub = {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    files: new Map(Object.entries(files)),
    requests: [],
    stallAfter: undefined,
    withoutRange: false,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      hub.cut();
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      server.close(() => end());
      await ended;
    },
  };

  /** `/owner/name/{resolve,raw}/revision/path` */
  function answer(request: IncomingMessage, response: ServerResponse): void {
    const [, owner, name, how, , ...path] = new URL(request.url ?? "/", hub.url).pathname.split("/");
    const file = hub.files.get([owner, name, ...path].join("/"));
    const range = request.headers.range;
    const finish = (status: number, headers: Record<string, string | number>, body: Uint8Array | string) => {
      hub.requests.push({ path: request.url ?? "", range, status });
      response.writeHead(status, headers);
      response.end(body);
    };
    if (file === undefined) {
      finish(404, {}, "no such file");
      return;
    }
    if (how === "raw") {
      const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256(file.content)}\nsize ${file.content.length}\n`;
      finish(200, {}, file.pointer === true ? pointer : file.content);
      return;
    }
    const content = file.served ?? file.content;
    const start = range === undefined || hub.withoutRange ? 0 : Number(/^bytes=(\d+)-/.exec(range)?.[1]);
    if (start >= content.length && start > 0) {
      finish(416, { "Content-Range": `bytes */${content.length}` }, "");
      return;
    }
    const rest = content.subarray(start);
    const headers = {
      "Content-Length": rest.length,
      ...(start > 0 ? { "Content-Range": `bytes ${start}-${content.length - 1}/${content.length}` } : {}),
    };
    const { stallAfter } = hub;
    hub.stallAfter = undefined;
    if (stallAfter === undefined) {
      finish(start > 0 ? 206 : 200, headers, rest);
      return;
    }
    hub.requests.push({ path: request.url ?? "", range, status: start > 0 ? 206 : 200 });
    response.writeHead(start > 0 ? 206 : 200, headers);
    response.write(rest.subarray(0, stallAfter));
  }
  return hub;
}
