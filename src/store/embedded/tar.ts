/** Just enough of the ustar format to carry a data directory: plain files and directories with names up to 100 bytes. */

const BLOCK = 512;
const NAME_BYTES = 100;

export interface TarEntry {
  /** Path below the archive's root, `/` between parts; directories end with `/`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;

function header(entry: TarEntry): Uint8Array {
  const name = new TextEncoder().encode(entry.name);
  if (name.byteLength > NAME_BYTES) throw new RangeError(`the name ${entry.name} is too long for this archive`);
  const isDirectory = entry.name.endsWith("/");
  const block = new Uint8Array(BLOCK);
  const put = (text: string, at: number) => block.set(new TextEncoder().encode(text), at);
  block.set(name, 0);
  put(octal(isDirectory ? 0o700 : 0o600, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(entry.bytes.byteLength, 11), 124);
  put(octal(0, 11), 136); // time 0: the same content gives the same archive
  put("        ", 148);
  put(isDirectory ? "5" : "0", 156);
  put("ustar\u000000", 257);
  put(
    octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
  );
  return block;
}

/** Entries as one archive, in the order given. */
export function packTar(entries: readonly TarEntry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(header(entry), entry.bytes);
    const rest = entry.bytes.byteLength % BLOCK;
    if (rest > 0) parts.push(new Uint8Array(BLOCK - rest));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return new Uint8Array(Buffer.concat(parts));
}

/**
 * The entries of an archive; their bytes are views into it.
 * @throws RangeError for a damaged archive, a kind of entry other than file or directory, or a name that leaves the root.
 */
export function* readTar(archive: Uint8Array): Generator<TarEntry> {
  const text = (from: number, length: number) => {
    const field = archive.subarray(from, from + length);
    const end = field.indexOf(0);
    return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
  };
  for (let at = 0; at + BLOCK <= archive.byteLength && archive[at] !== 0; ) {
    const name = text(at, NAME_BYTES);
    const size = Number.parseInt(text(at + 124, 12), 8);
    const kind = text(at + 156, 1);
    const sum = Number.parseInt(text(at + 148, 8), 8);
    const block = archive.subarray(at, at + BLOCK);
    const real = block.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0);
    if (sum !== real) throw new RangeError("the archive is damaged");
    if (kind !== "0" && kind !== "5") throw new RangeError(`the archive holds an entry of kind ${kind}`);
    if (name.startsWith("/") || name.split("/").includes("..")) throw new RangeError("the archive holds a name outside of it");
    if (at + BLOCK + size > archive.byteLength) throw new RangeError("the archive ends early");
    yield { name, bytes: archive.subarray(at + BLOCK, at + BLOCK + size) };
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
