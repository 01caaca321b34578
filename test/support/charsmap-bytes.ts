/** Writes a precompiled character map in SentencePiece's layout. Not packed as theirs is: each node gets a block of its own. */

interface Node {
  readonly children: Map<number, Node>;
  replacement?: number;
  block: number;
}

const BLOCK = 256;
const LEAF = 0x100;

/** @param map which text becomes which. */
export function charsMapBytes(map: Readonly<Record<string, string>>): Uint8Array {
  const encoder = new TextEncoder();
  let blocks = 1;
  const makeNode = (): Node => ({ children: new Map(), block: blocks++ });
  const root = makeNode();
  const replacements: number[] = [];
  for (const [from, to] of Object.entries(map)) {
    let node = root;
    for (const byte of encoder.encode(from)) {
      const next = node.children.get(byte) ?? makeNode();
      node.children.set(byte, next);
      node = next;
    }
    node.replacement = replacements.length;
    replacements.push(...encoder.encode(to), 0);
  }
  const units = new Uint32Array(blocks * BLOCK);
  const place = (node: Node, index: number, label: number) => {
    const base = node.block * BLOCK;
    units[index] = (((index ^ base) << 10) | (node.replacement === undefined ? 0 : LEAF) | label) >>> 0;
    if (node.replacement !== undefined) units[base] = (node.replacement | 0x80000000) >>> 0;
    for (const [byte, child] of node.children) place(child, base ^ byte, byte);
  };
  place(root, 0, 0);
  const out = new Uint8Array(4 + units.byteLength + replacements.length);
  new DataView(out.buffer).setUint32(0, units.byteLength, true);
  out.set(new Uint8Array(units.buffer), 4);
  out.set(replacements, 4 + units.byteLength);
  return out;
}
