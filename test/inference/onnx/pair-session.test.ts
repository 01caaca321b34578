/** The runtime is played, so that a card can be "there" and can fail; what is asked of it is the point. */
import { describe, expect, test } from "bun:test";
import { openPairSession, type PairSessionOptions } from "../../../src/inference/onnx/pair-session.ts";

interface Seen {
  readonly providers: unknown[];
  readonly options: Record<string, unknown>[];
  readonly feeds: Record<string, { readonly data: BigInt64Array; readonly dims: readonly number[] }>[];
}

class Tensor {
  readonly type: string;
  readonly data: BigInt64Array;
  readonly dims: readonly number[];
  constructor(type: string, data: BigInt64Array, dims: readonly number[]) {
    this.type = type;
    this.data = data;
    this.dims = dims;
  }
}

/** A runtime whose card fails to open where `card` is false; every pair gets its row number as logits. */
function played({ card, inputs, labels = 1 }: { card: boolean; inputs: readonly string[]; labels?: number }): {
  runtime: PairSessionOptions["runtime"];
  seen: Seen;
} {
  const seen: Seen = { providers: [], options: [], feeds: [] };
  const runtime = {
    Tensor,
    InferenceSession: {
      create: (_path: string, options: Record<string, unknown>) => {
        seen.providers.push(options["executionProviders"]);
        seen.options.push(options);
        if (!card && JSON.stringify(options["executionProviders"]).includes("cuda")) return Promise.reject(new Error("no CUDA library"));
        return Promise.resolve({
          inputNames: inputs,
          outputNames: ["logits"],
          inputMetadata: inputs.map((name) => ({ name, isTensor: true, type: "int64", shape: [] })),
          run(feeds: Seen["feeds"][number]) {
            seen.feeds.push(feeds);
            const rows = feeds["input_ids"]?.dims[0] ?? 0;
            const data = Float32Array.from({ length: rows * labels }, (_, at) => Math.floor(at / labels));
            return Promise.resolve({ logits: { type: "float32", dims: [rows, labels], data } });
          },
          release: () => Promise.resolve(),
        });
      },
    },
  };
  // A stand-in has only what the session touches.
  return { runtime: runtime as unknown as PairSessionOptions["runtime"], seen };
}

const pair = (...ids: number[]) => ({ ids, typeIds: ids.map((_, at) => (at > 1 ? 1 : 0)), isCut: false });
const options = { graphFile: "model.onnx", threads: 2, padId: 7, labels: undefined };
const onProcessor = { device: "cpu", arena: true, spinning: true } as const;
const onCard = { device: "gpu", arena: true, spinning: true } as const;

describe("placement", () => {
  test("on the processor no card is asked for", async () => {
    const { runtime, seen } = played({ card: true, inputs: ["input_ids", "attention_mask"] });
    expect((await openPairSession({ ...options, runtime, placement: onProcessor })).remark).toBeUndefined();
    expect(seen.providers).toEqual([["cpu"]]);
  });
  test("on a card that works, with the processor behind it", async () => {
    const { runtime, seen } = played({ card: true, inputs: ["input_ids", "attention_mask"] });
    expect((await openPairSession({ ...options, runtime, placement: onCard })).remark).toBeUndefined();
    expect(seen.providers).toEqual([["cuda", "cpu"]]);
  });
  test("a card that fails is said, and the model runs on the processor", async () => {
    const { runtime, seen } = played({ card: false, inputs: ["input_ids", "attention_mask"] });
    const session = await openPairSession({ ...options, runtime, placement: onCard });
    expect(session.remark).toBe("the model was placed on a card and runs on the processor, which is slower: no CUDA library");
    expect(seen.providers).toEqual([["cuda", "cpu"], ["cpu"]]);
    expect((await session.run({ pairs: [pair(1)], length: 1, size: 1 })).logits).toHaveLength(1);
  });
  test("a model that runs rarely keeps no memory and no busy threads", async () => {
    const { runtime, seen } = played({ card: true, inputs: ["input_ids"] });
    await openPairSession({ ...options, runtime, placement: { device: "cpu", arena: false, spinning: false } });
    expect(seen.options[0]).toMatchObject({
      enableCpuMemArena: false,
      enableMemPattern: false,
      intraOpNumThreads: 2,
      extra: { session: { intra_op: { allow_spinning: "0" } } },
    });
  });
});

describe("tensors", () => {
  test("only declared inputs are fed, padded with the tokenizer's own id, mask 0 there", async () => {
    const { runtime, seen } = played({ card: true, inputs: ["input_ids", "attention_mask"] });
    const session = await openPairSession({ ...options, runtime, placement: onProcessor });
    const { logits, labels } = await session.run({ pairs: [pair(5, 6, 8), pair(9)], length: 4, size: 3 });
    const [feeds] = seen.feeds;
    expect(Object.keys(feeds ?? {})).toEqual(["input_ids", "attention_mask"]);
    expect(feeds?.["input_ids"]?.dims).toEqual([3, 4]);
    expect(Array.from(feeds?.["input_ids"]?.data ?? [], Number)).toEqual([5, 6, 8, 7, 9, 7, 7, 7, 7, 7, 7, 7]);
    // The third row is filling: one visible token, its logit dropped.
    expect(Array.from(feeds?.["attention_mask"]?.data ?? [], Number)).toEqual([1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    expect([Array.from(logits), labels]).toEqual([[0, 1], 1]);
  });
  test("segments go where they are declared", async () => {
    const { runtime, seen } = played({ card: true, inputs: ["input_ids", "attention_mask", "token_type_ids"] });
    const session = await openPairSession({ ...options, runtime, placement: onProcessor });
    await session.run({ pairs: [pair(5, 6, 8)], length: 4, size: 1 });
    expect(Array.from(seen.feeds[0]?.["token_type_ids"]?.data ?? [], Number)).toEqual([0, 0, 1, 0]);
  });
  test("another number of labels than the kind of model has is refused", async () => {
    const { runtime } = played({ card: true, inputs: ["input_ids"], labels: 2 });
    const session = await openPairSession({ ...options, runtime, labels: 3, placement: onProcessor });
    await expect(session.run({ pairs: [pair(1)], length: 1, size: 1 })).rejects.toThrow(
      "gives 2 numbers a pair where this kind of model must give 3",
    );
  });
});
