/** An embedding graph opened by ONNX Runtime, with everything checked that the runtime lets pass in silence. */
import { fromHalf, type Pooling, pool, toUnit } from "./pooling.ts";
import type { InferenceSession, Runtime } from "./runtime.ts";

export interface SessionOptions {
  readonly runtime: Runtime;
  /** The `.onnx` file; external data is found beside it by the runtime. */
  readonly graphFile: string;
  readonly dimensions: number;
  readonly pooling: Pooling;
  /** Output to read; found by name and rank where it is not given. */
  readonly output?: string | undefined;
  readonly threads: number;
}

export interface EmbeddingSession {
  /** Unit vector f32 [dimensions] of one text's token ids. */
  embed(ids: readonly number[]): Promise<Float32Array<ArrayBuffer>>;
  /** The vectors of the tokens before pooling, f32 [tokens, dimensions]. @throws Error for a graph that pools itself. */
  tokens(ids: readonly number[]): Promise<Float32Array<ArrayBuffer>>;
  release(): Promise<void>;
}

/** Only errors reach standard error; the runtime's warnings are about its own graph rewriting. */
export const LOG_ERRORS_ONLY = 3;
/** Inputs that we know how to fill for a single text. The runtime drops one that a graph does not declare and says nothing. */
const KNOWN_INPUTS = ["input_ids", "attention_mask", "token_type_ids"];
const TOKEN_OUTPUTS = ["last_hidden_state", "token_embeddings"];
const TEXT_OUTPUTS = ["sentence_embedding", "pooled_output"];

/**
 * Opens the graph and embeds nothing yet.
 * @throws Error where the graph cannot be read, or wants or returns something else than an encoder of text.
 */
export async function openSession(options: SessionOptions): Promise<EmbeddingSession> {
  const { runtime, dimensions, pooling } = options;
  const session = await runtime.InferenceSession.create(options.graphFile, {
    executionProviders: ["cpu"],
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    // Every length is another shape, so a remembered plan is never used again and only holds memory (28 MB after one long text).
    enableMemPattern: false,
    logSeverityLevel: LOG_ERRORS_ONLY,
  });
  const inputs = checkedInputs(session);
  const output = chosenOutput(session, options);

  const run = async (ids: readonly number[]): Promise<Float32Array> => {
    const shape = [1, ids.length];
    const input_ids = BigInt64Array.from(ids, BigInt);
    const filled: Readonly<Record<string, BigInt64Array>> = {
      input_ids,
      attention_mask: new BigInt64Array(ids.length).fill(1n),
      token_type_ids: new BigInt64Array(ids.length),
    };
    const feeds: Record<string, InstanceType<Runtime["Tensor"]>> = {};
    for (const name of inputs) feeds[name] = new runtime.Tensor("int64", filled[name] ?? input_ids, shape);
    const results = await session.run(feeds, [output]);
    const tensor = results[output];
    if (tensor === undefined) throw new Error(`the graph returned no '${output}'`);
    const { dims } = tensor;
    const wanted = pooling === "none" ? [1, dimensions] : [1, ids.length, dimensions];
    if (dims.length !== wanted.length || dims.some((dim, i) => dim !== wanted[i])) {
      throw new Error(
        `'${output}' has the shape [${dims.join(", ")}], expected [${wanted.join(", ")}]: CUBA_EMBEDDING_DIM or the pooling does not fit this model`,
      );
    }
    return numbersOf(tensor, output);
  };
  return {
    embed: async (ids) => toUnit(pool(await run(ids), ids.length, dimensions, pooling)),
    async tokens(ids) {
      if (pooling === "none") throw new Error("the graph returns no vectors of tokens");
      return Float32Array.from(await run(ids));
    },
    release: () => session.release(),
  };
}

/** A tensor's numbers as single precision. @throws Error where it holds something else than float32 or float16. */
export function numbersOf({ type, data }: InferenceSession.OnnxValueMapType[string], output: string): Float32Array {
  if (typeof data === "string" || Array.isArray(data)) throw new Error(`'${output}' holds text, not numbers`);
  const values = type === "float16" ? fromHalf(data) : data;
  if (!(values instanceof Float32Array)) throw new Error(`'${output}' holds ${type}, expected float32 or float16`);
  return values;
}

/** The inputs that the graph declares. @throws Error where it wants one that no text fills, or in another type. */
export function checkedInputs(session: InferenceSession): readonly string[] {
  const names = session.inputNames;
  if (!names.includes("input_ids")) throw new Error(`the graph has no input 'input_ids'; it declares ${names.join(", ") || "none"}`);
  for (const { name, ...rest } of session.inputMetadata) {
    if (!KNOWN_INPUTS.includes(name)) throw new Error(`the graph wants an input '${name}' that a text encoder does not have`);
    const type = rest.isTensor ? rest.type : "no tensor";
    if (type !== "int64") throw new Error(`the graph wants '${name}' as ${type}, expected int64`);
  }
  return names;
}

/** By the name the model's description gives; else by the usual names; else the only output there is. */
function chosenOutput(session: InferenceSession, { output, pooling }: SessionOptions): string {
  const names = session.outputNames;
  const found = output === undefined ? (pooling === "none" ? TEXT_OUTPUTS : TOKEN_OUTPUTS).find((name) => names.includes(name)) : output;
  const chosen = found ?? (names.length === 1 ? names[0] : undefined);
  if (chosen === undefined || !names.includes(chosen)) {
    throw new Error(`the graph has no output '${output ?? TOKEN_OUTPUTS[0]}'; it declares ${names.join(", ")}`);
  }
  return chosen;
}
