/** Just enough of the ONNX protobuf format to write small graphs: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto (field numbers below). */

const VARINT = 0;
const BYTES = 2;
const utf8 = new TextEncoder();

function varint(value: number): number[] {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    out.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  out.push(Number(rest));
  return out;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const int = (field: number, value: number) => Uint8Array.from([...varint((field << 3) | VARINT), ...varint(value)]);
const bytes = (field: number, value: Uint8Array) =>
  concat([Uint8Array.from([...varint((field << 3) | BYTES), ...varint(value.length)]), value]);
const text = (field: number, value: string) => bytes(field, utf8.encode(value));
const message = (field: number, parts: readonly Uint8Array[]) => bytes(field, concat(parts));

export const elementType = { float: 1, int64: 7, bool: 9, float16: 10 } as const;
type ElementType = (typeof elementType)[keyof typeof elementType];

/** AttributeProto: name 1, i 3, g 6, ints 8, type 20 (INT 2, GRAPH 5, INTS 7). */
export type Attribute = { readonly i: number } | { readonly ints: readonly number[] } | { readonly graph: Uint8Array };

function attribute(name: string, value: Attribute): Uint8Array {
  if ("i" in value) return concat([text(1, name), int(3, value.i), int(20, 2)]);
  if ("graph" in value) return concat([text(1, name), bytes(6, value.graph), int(20, 5)]);
  return concat([text(1, name), ...value.ints.map((each) => int(8, each)), int(20, 7)]);
}

/** NodeProto: input 1, output 2, op_type 4, attribute 5. */
export function node(
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, Attribute>> = {},
): Uint8Array {
  return concat([
    ...inputs.map((each) => text(1, each)),
    ...outputs.map((each) => text(2, each)),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) => bytes(5, attribute(name, value))),
  ]);
}

/** TensorProto: dims 1, data_type 2, name 8, raw_data 9 (little-endian). */
export function tensor(name: string, dims: readonly number[], data: Float32Array | BigInt64Array): Uint8Array {
  const type = data instanceof Float32Array ? elementType.float : elementType.int64;
  return concat([
    ...dims.map((dim) => int(1, dim)),
    int(2, type),
    text(8, name),
    bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  ]);
}

/** ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 | dim_param 2 } } } }. */
export function valueInfo(name: string, type: ElementType, shape: readonly (number | string)[]): Uint8Array {
  const dims = shape.map((dim) => message(1, [typeof dim === "number" ? int(1, dim) : text(2, dim)]));
  return concat([text(1, name), message(2, [message(1, [int(1, type), message(2, dims)])])]);
}

export interface Graph {
  readonly nodes: readonly Uint8Array[];
  readonly initializers?: readonly Uint8Array[];
  readonly inputs: readonly Uint8Array[];
  readonly outputs: readonly Uint8Array[];
}

/** GraphProto: node 1, name 2, initializer 5, input 11, output 12. */
export function graph({ nodes, initializers = [], inputs, outputs }: Graph): Uint8Array {
  return concat([
    ...nodes.map((each) => bytes(1, each)),
    text(2, "tiny"),
    ...initializers.map((each) => bytes(5, each)),
    ...inputs.map((each) => bytes(11, each)),
    ...outputs.map((each) => bytes(12, each)),
  ]);
}

/** ModelProto: ir_version 1, producer_name 2, graph 7, opset_import 8 { version 2 }. IR 8 and opset 17 are read by every ONNX Runtime since 1.12. */
export function model(content: Graph): Uint8Array {
  return concat([int(1, 8), text(2, "memory-industry tests"), bytes(7, graph(content)), message(8, [int(2, 17)])]);
}
