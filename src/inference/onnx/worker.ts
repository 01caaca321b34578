/**
 * A model's worker: one tokenizer, one session, one request at a time. Inference is a native call that blocks its thread, so it has one of its own.
 * In the compiled program this file is an entry point of the build (`entry.ts` says where it lies).
 */
import { loadTokenizer, prepareTokenizer } from "../tokenizer/load.ts";
import type { EncodedPair } from "../tokenizer/pair.ts";
import type { EmbeddingLoad, FromWorker, LoadRequest, PairLoad, ToWorker } from "./messages.ts";
import { openPairSession } from "./pair-session.ts";
import { loadRuntime } from "./runtime.ts";
import { openSession } from "./session.ts";
import { withoutFrame } from "./token-frame.ts";

declare const self: Worker;

/** Read once at load: shows a wrong width, a broken graph or a missing kernel before anybody waits for an answer. */
const PROBE = "probe";

type Request = Exclude<ToWorker, { kind: "prepare" | "load" | "release" }>;

interface Loaded {
  answer(request: Request): Promise<FromWorker>;
  release(): Promise<void>;
  readonly remark?: string | undefined;
}

let loaded: Loaded | undefined;

const wrongKind = (request: Request) => new Error(`the model in this worker does not do '${request.kind}'`);

async function load(request: LoadRequest): Promise<FromWorker> {
  const started = performance.now();
  const { encoder, form } = await loadTokenizer(request);
  const tokenized = performance.now();
  loaded = request.task === "embed" ? await openEmbedder(request, encoder) : await openPairs(request, encoder);
  return {
    kind: "loaded",
    tokenizerMs: tokenized - started,
    sessionMs: performance.now() - tokenized,
    tokenizer: form,
    remark: loaded.remark,
  };
}

type Encoder = Awaited<ReturnType<typeof loadTokenizer>>["encoder"];

async function openEmbedder(request: EmbeddingLoad, encoder: Encoder): Promise<Loaded> {
  const session = await openSession({ runtime: await loadRuntime(request), ...request });
  const embed = (text: string) => session.embed(encoder.encode(text, request.maxTokens));
  await embed(PROBE);
  return {
    async answer(message) {
      if (message.kind === "embed") return { kind: "vector", vector: await embed(message.text) };
      if (message.kind !== "tokens") throw wrongKind(message);
      if (encoder.pieces === undefined) throw new Error("the tokenizer cannot tell the text of a token");
      const ids = encoder.encode(message.prefix + message.text, request.maxTokens);
      const [pieces, vectors] = [encoder.pieces(ids), await session.tokens(ids)];
      return { kind: "tokens", ...withoutFrame({ pieces, vectors }, message.prefix) };
    },
    release: session.release,
  };
}

async function openPairs(request: PairLoad, encoder: Encoder): Promise<Loaded> {
  const session = await openPairSession({ runtime: await loadRuntime(request), ...request });
  const encode = ([first, second]: readonly [string, string]) => encoder.encodePair(first, second, request.maxTokens);
  let encoded: readonly EncodedPair[] = [];
  const probe = encode([PROBE, PROBE]);
  await session.run({ pairs: [probe], length: probe.ids.length, size: 1 });
  return {
    async answer(message) {
      if (message.kind === "encode") {
        encoded = message.pairs.map(encode);
        return { kind: "encoded", lengths: encoded.map(({ ids }) => ids.length), cut: encoded.map(({ isCut }) => isCut) };
      }
      if (message.kind !== "run") throw wrongKind(message);
      const { rows, length, size } = message;
      return { kind: "logits", ...(await session.run({ pairs: rows.flatMap((row) => encoded[row] ?? []), length, size })) };
    },
    release: session.release,
    remark: session.remark,
  };
}

async function answer(message: ToWorker): Promise<FromWorker> {
  switch (message.kind) {
    case "prepare":
      await prepareTokenizer(message.load);
      return { kind: "done" };
    case "load":
      return await load(message.load);
    case "release":
      await loaded?.release();
      loaded = undefined;
      return { kind: "done" };
    default:
      if (loaded === undefined) throw new Error("the worker has no model loaded");
      return await loaded.answer(message);
  }
}

function reply(message: FromWorker): void {
  if (message.kind === "vector") self.postMessage(message, [message.vector.buffer]);
  else if (message.kind === "tokens") self.postMessage(message, [message.vectors.buffer]);
  else if (message.kind === "logits") self.postMessage(message, [message.logits.buffer]);
  else self.postMessage(message);
}

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  try {
    reply(await answer(data));
  } catch (error) {
    reply({ kind: "failed", reason: error instanceof Error ? error.message : String(error) });
  }
};
