/**
 * The embedding worker: one tokenizer, one session, one request at a time. Inference is a native call that blocks its thread, so it has one of its own.
 * In the compiled program this file is an entry point of the build (`entry.ts` says where it lies).
 */
import { loadTokenizer, prepareTokenizer } from "../tokenizer/load.ts";
import type { FromWorker, LoadRequest, ToWorker } from "./messages.ts";
import { loadRuntime } from "./runtime.ts";
import { openSession } from "./session.ts";

declare const self: Worker;

/** Embedded once at load: shows a wrong width, a broken graph or a missing kernel before anybody waits for an answer. */
const PROBE = "probe";

interface Loaded {
  embed(text: string): Promise<Float32Array<ArrayBuffer>>;
  release(): Promise<void>;
}

let loaded: Loaded | undefined;

async function load(request: LoadRequest): Promise<FromWorker> {
  const started = performance.now();
  const { encoder, form } = await loadTokenizer(request);
  const tokenized = performance.now();
  const session = await openSession({ runtime: await loadRuntime(request), ...request });
  const embed = (text: string) => session.embed(encoder.encode(text, request.maxTokens));
  await embed(PROBE);
  loaded = { embed, release: session.release };
  return { kind: "loaded", tokenizerMs: tokenized - started, sessionMs: performance.now() - tokenized, tokenizer: form };
}

async function answer(message: ToWorker): Promise<FromWorker> {
  switch (message.kind) {
    case "prepare":
      await prepareTokenizer(message.load);
      return { kind: "done" };
    case "load":
      return await load(message.load);
    case "embed":
      if (loaded === undefined) throw new Error("the worker has no model loaded");
      return { kind: "vector", vector: await loaded.embed(message.text) };
    case "release":
      await loaded?.release();
      loaded = undefined;
      return { kind: "done" };
  }
}

const reply = (message: FromWorker) => self.postMessage(message, message.kind === "vector" ? [message.vector.buffer] : []);

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  try {
    reply(await answer(data));
  } catch (error) {
    reply({ kind: "failed", reason: error instanceof Error ? error.message : String(error) });
  }
};
