/** A graph that reads two texts (reranker, entailment), opened by ONNX Runtime; batches of pairs in, logits out. */
import type { EncodedPair } from "../tokenizer/pair.ts";
import type { PairPlacement } from "./messages.ts";
import type { InferenceSession, Runtime } from "./runtime.ts";
import { checkedInputs, LOG_ERRORS_ONLY, numbersOf } from "./session.ts";

export interface PairSessionOptions {
  readonly runtime: Pick<Runtime, "InferenceSession" | "Tensor">;
  readonly graphFile: string;
  readonly threads: number;
  readonly placement: PairPlacement;
  readonly padId: number;
  /** Logits that a pair must give; undefined takes what comes. */
  readonly labels: number | undefined;
}

export interface Batch {
  readonly pairs: readonly EncodedPair[];
  /** Tokens of a row, at least those of the longest pair. */
  readonly length: number;
  /** Rows of the tensor, at least the pairs; the rest is padding whose logits are dropped. */
  readonly size: number;
}

export interface Logits {
  /** f32 [pairs, labels] */
  readonly logits: Float32Array<ArrayBuffer>;
  readonly labels: number;
}

export interface PairSession {
  run(batch: Batch): Promise<Logits>;
  /** A sentence where the session runs elsewhere than asked. */
  readonly remark: string | undefined;
  release(): Promise<void>;
}

/** What published graphs call it; else the first output is taken. */
const USUAL_OUTPUT = "logits";

/**
 * Opens the graph. A card that cannot be used is no fault of the model: the session then runs on the processor, and `remark` says so.
 * @throws Error where the graph cannot be read or wants an input that a pair of texts does not fill.
 */
export async function openPairSession(options: PairSessionOptions): Promise<PairSession> {
  const { session, remark } = await create(options);
  const inputs = checkedInputs(session);
  const output = session.outputNames.includes(USUAL_OUTPUT) ? USUAL_OUTPUT : session.outputNames[0];
  if (output === undefined) throw new Error("the graph has no output");
  return {
    remark,
    async run(batch) {
      const feeds = fill(batch, inputs, options);
      const tensor = (await session.run(feeds, [output]))[output];
      if (tensor === undefined) throw new Error(`the graph returned no '${output}'`);
      const labels = tensor.dims.at(-1) ?? 0;
      const values = numbersOf(tensor, output);
      if (labels < 1 || values.length < batch.size * labels) {
        throw new Error(`'${output}' has the shape [${tensor.dims.join(", ")}], expected [${batch.size}, labels]`);
      }
      if (options.labels !== undefined && labels !== options.labels) {
        throw new Error(`'${output}' gives ${labels} numbers a pair where this kind of model must give ${options.labels}`);
      }
      const logits = Float32Array.from(values.subarray(0, batch.pairs.length * labels));
      if (!logits.every(Number.isFinite)) throw new Error("the model returned numbers that are not finite");
      return { logits, labels };
    },
    release: () => session.release(),
  };
}

async function create({ runtime, graphFile, threads, placement }: PairSessionOptions) {
  const common: InferenceSession.SessionOptions = {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Lengths vary, so a remembered plan is seldom used again and holds memory.
    enableMemPattern: false,
    enableCpuMemArena: placement.arena,
    logSeverityLevel: LOG_ERRORS_ONLY,
    ...(placement.spinning ? {} : { extra: { session: { intra_op: { allow_spinning: "0" } } } }),
  };
  const onProcessor = () => runtime.InferenceSession.create(graphFile, { ...common, executionProviders: ["cpu"] });
  if (placement.device === "cpu") return { session: await onProcessor(), remark: undefined };
  try {
    return {
      session: await runtime.InferenceSession.create(graphFile, { ...common, executionProviders: ["cuda", "cpu"] }),
      remark: undefined,
    };
  } catch (error) {
    const session = await onProcessor();
    const reason = error instanceof Error ? error.message : String(error);
    return { session, remark: `the model was placed on a card and runs on the processor, which is slower: ${reason}` };
  }
}

/** int64 [size, length] for each declared input: ids padded with the tokenizer's own padding id, mask 0 and segment 0 there. */
function fill(
  { pairs, length, size }: Batch,
  inputs: readonly string[],
  { runtime, padId }: PairSessionOptions,
): InferenceSession.FeedsType {
  const ids = new BigInt64Array(size * length).fill(BigInt(padId));
  const mask = new BigInt64Array(size * length);
  const segments = new BigInt64Array(size * length);
  for (const [row, pair] of pairs.entries()) {
    for (const [column, id] of pair.ids.entries()) {
      const at = row * length + column;
      ids[at] = BigInt(id);
      mask[at] = 1n;
      segments[at] = BigInt(pair.typeIds[column] ?? 0);
    }
  }
  // A row of nothing but padding would make a softmax over nothing; one visible token keeps its (dropped) numbers finite.
  for (let row = pairs.length; row < size; row++) mask[row * length] = 1n;
  const filled: Readonly<Record<string, BigInt64Array>> = { input_ids: ids, attention_mask: mask, token_type_ids: segments };
  const feeds: Record<string, InstanceType<Runtime["Tensor"]>> = {};
  for (const name of inputs) feeds[name] = new runtime.Tensor("int64", filled[name] ?? ids, [size, length]);
  return feeds;
}
