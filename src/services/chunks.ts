/** Slicing long observations (`tools-graph.md` §3.14). */
import { type ChunkSize, chunksOf, DEFAULT_CHUNKS } from "../domain/chunks.ts";
import type { Tx } from "../store/port.ts";
import { deleteChunks, insertChunks, unsliced } from "../store/queries/chunks.ts";

export interface Chunking {
  /** `CUBA_CHUNK_THRESHOLD_CHARS`: a longer text gets slices. */
  readonly thresholdChars: number;
  /** `CUBA_CHUNK_CHARS`. */
  readonly sizeChars: number;
}

export interface Chunks {
  /** How many slices a text gets; 0 for a short one. */
  count(content: string): number;
  /** Stores the slices of texts that have none yet, without vectors. @returns how many in all. */
  store(tx: Tx, texts: readonly { readonly id: string; readonly content: string }[]): Promise<number>;
  /** Cuts again, after a change of text or size: the old slices go, in the same transaction. @returns how many there are now. */
  restore(tx: Tx, texts: readonly { readonly id: string; readonly content: string }[]): Promise<number>;
  /** Slices up to `limit` long rows that have none, longest first. @returns how many rows. */
  backfill(tx: Tx, limit: number): Promise<number>;
}

export function createChunks({ thresholdChars, sizeChars }: Chunking): Chunks {
  const size: ChunkSize = { sizeChars, overlapChars: DEFAULT_CHUNKS.overlapChars };
  const cut = (content: string) => chunksOf(content, thresholdChars, size);
  const store: Chunks["store"] = async (tx, texts) => {
    const chunks = texts.flatMap(({ id, content }) => cut(content).map((piece, index) => ({ observationId: id, index, content: piece })));
    if (chunks.length > 0) await tx.run(insertChunks(chunks));
    return chunks.length;
  };
  return {
    count: (content) => cut(content).length,
    store,
    async restore(tx, texts) {
      if (texts.length > 0) await tx.run(deleteChunks(texts.map((text) => text.id)));
      return await store(tx, texts);
    },
    async backfill(tx, limit) {
      const rows = await tx.all(unsliced({ thresholdChars, limit }));
      await store(tx, rows);
      return rows.length;
    },
  };
}
