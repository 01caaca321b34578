/** A text's own tokens among those that a model reads. */

/** Characters that a token holds of the text, blanks apart. */
const lengthOf = (text: string) => text.replaceAll(/\s/g, "").length;

/**
 * Leaves out the special tokens (empty pieces) and those of the prefix that was put in front of the text.
 * @param vectors f32 [pieces, dim].
 * @param prefix plain ASCII, so that no normalisation changes its length.
 */
export function withoutFrame(
  { pieces, vectors }: { readonly pieces: readonly string[]; readonly vectors: Float32Array<ArrayBuffer> },
  prefix: string,
): { readonly pieces: readonly string[]; readonly vectors: Float32Array<ArrayBuffer> } {
  const size = pieces.length === 0 ? 0 : vectors.length / pieces.length;
  let left = lengthOf(prefix);
  const kept = pieces.flatMap((piece, at) => {
    if (piece === "") return [];
    if (left > 0) {
      left -= lengthOf(piece);
      return [];
    }
    return [at];
  });
  const own = new Float32Array(kept.length * size);
  for (const [to, at] of kept.entries()) own.set(vectors.subarray(at * size, (at + 1) * size), to * size);
  return { pieces: kept.map((at) => pieces[at] ?? ""), vectors: own };
}
