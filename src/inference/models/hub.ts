/** Where a catalogue file lies on the hub or its mirror, and what the hub itself says about its digest. */
import type { CatalogueFile, CatalogueModel } from "./catalogue.ts";

export type Fetch = (url: string, init: { readonly headers: Record<string, string>; readonly signal: AbortSignal }) => Promise<Response>;

/** A Git LFS pointer is some 130 bytes; more is the file itself. */
const POINTER_BYTES = 512;
const POINTER = /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n/;

const at = (hubUrl: string, how: "resolve" | "raw", { repository, revision }: CatalogueModel, { path }: CatalogueFile) =>
  `${hubUrl.replace(/\/+$/, "")}/${repository}/${how}/${revision}/${path}`;

/** The file's own address. */
export const fileUrl = (hubUrl: string, model: CatalogueModel, file: CatalogueFile): string => at(hubUrl, "resolve", model, file);

/**
 * What the hub's LFS pointer says: the object id is the file's SHA-256, so a file without a pin can be checked against the hub at least.
 * @returns undefined where the file has no pointer (small files lie in the repository as they are) or the mirror serves none.
 */
export async function hubPointer(
  fetch: Fetch,
  hubUrl: string,
  model: CatalogueModel,
  file: CatalogueFile,
  signal: AbortSignal,
): Promise<{ readonly sha256: string; readonly size: number } | undefined> {
  const response = await fetch(at(hubUrl, "raw", model, file), { headers: { Range: `bytes=0-${POINTER_BYTES - 1}` }, signal });
  const start = await beginning(response, POINTER_BYTES);
  if (!response.ok) return undefined;
  const [, sha256, size] = POINTER.exec(start) ?? [];
  return sha256 === undefined ? undefined : { sha256, size: Number(size) };
}

/** Reads at most `limit` bytes and lets the rest go. */
async function beginning(response: Response, limit: number): Promise<string> {
  const reader = response.body?.getReader();
  let text = "";
  const decoder = new TextDecoder();
  for (let read = 0; reader !== undefined && read <= limit; ) {
    const { done, value } = await reader.read();
    if (done) return text;
    read += value.length;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text;
}
