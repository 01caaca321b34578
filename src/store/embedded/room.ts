/**
 * Room on the disk of the embedded database. The engine takes a full disk in the middle of a commit for the end of the world (PANIC), so no write begins
 * where it could come to that.
 */
import { statfsSync } from "node:fs";
import { unavailable } from "../../kernel/errors.ts";

const MEBIBYTE = 1024 * 1024;

/** Free space below which no write begins, bytes: four segments of the log, what a checkpoint writes, and the largest single call. */
export const LEAST_FREE_BYTES = 16 * MEBIBYTE;

/** Bytes that this process may still write; undefined where the file system does not say. */
export type FreeBytes = () => number | undefined;

export function freeBytesOf(directory: string): FreeBytes {
  return () => {
    try {
      const { blocks, bavail, bsize } = statfsSync(directory);
      return blocks > 0 ? bavail * bsize : undefined; // some network file systems count no blocks at all
    } catch {
      return undefined;
    }
  };
}

export const lacksRoom = (free: number | undefined): free is number => free !== undefined && free < LEAST_FREE_BYTES;

const mebibytes = (bytes: number) => `${(bytes / MEBIBYTE).toFixed(1)} MiB`;

export const isFull = (free: number) =>
  `The disk of the data directory is full: ${mebibytes(free)} are free, and no write begins below ${mebibytes(LEAST_FREE_BYTES)}.`;

/** @throws MemoryError `unavailable` */
export function requireRoom(free: number | undefined): void {
  if (lacksRoom(free)) throw unavailable(`${isFull(free)} Nothing was written; reading still works. Free some space, then try again.`);
}
