/** Pages of the public internet: an address in, its text as it was sent out. */

export interface Page {
  /** Where the page really lies, behind its redirects. */
  readonly url: string;
  readonly html: string;
}

/** Ends when `signal` fires, whatever the network does. @throws MemoryError `refused` for an address that is not public · `unavailable` for what could not be had. */
export type FetchPage = (url: string, signal: AbortSignal) => Promise<Page>;
