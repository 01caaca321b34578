/** Current documentation of a library (`tools-maintenance.md` §11). The only service that leaves the machine by itself, and only while docs are switched on. */
import { excerpt, findLibrary } from "../../domain/library-docs.ts";
import type { CallContext } from "../../kernel/context.ts";
import { deadlineIn, signalUntil } from "../../kernel/deadline.ts";
import type { FetchPage } from "../../web/port.ts";

export interface Documentation {
  readonly library: string;
  /** Where the page really lies, behind its redirects. */
  readonly url: string;
  /** Undefined where the page never mentions the query. */
  readonly text: string | undefined;
  /** Stands in the markers around the text: a page that cannot guess it cannot end its quotation. */
  readonly nonce: string;
}

export interface LibraryDocs {
  /** @throws MemoryError `invalid` for an unknown library · `refused` · `unavailable` */
  look(ctx: Pick<CallContext, "signal">, library: string, query: string | undefined): Promise<Documentation>;
}

export interface LibraryDocsParts {
  readonly fetchPage: FetchPage;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly nonce: () => string;
  /** Milliseconds that a page may take; {@link FETCH_MS} where none is given. */
  readonly fetchMs?: number;
}

/** Of a page with the lookup of its host and its redirects. */
const FETCH_MS = 10_000;
const KEPT_MS = 300_000;
/** Columns of the text. */
const WIDTH = 100;

interface Kept {
  readonly url: string;
  readonly text: string;
  readonly at: number;
}

/** Links and pictures say where something lies, not what it is. The library is loaded with the first page. */
async function textOf(html: string): Promise<string> {
  const { convert } = await import("html-to-text");
  const skipped = ["img", "nav", "header", "footer", "script", "style", "svg", "button", "form"].map((selector) => ({
    selector,
    format: "skip",
  }));
  const headings = ["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } }));
  return convert(html, { wordwrap: WIDTH, selectors: [{ selector: "a", options: { ignoreHref: true } }, ...skipped, ...headings] });
}

export function createLibraryDocs({ fetchPage, clock, nonce, fetchMs = FETCH_MS }: LibraryDocsParts): LibraryDocs {
  /** By address: as many as there are known libraries, at most. */
  const kept = new Map<string, Kept>();

  const page = async (url: string, signal: AbortSignal): Promise<Kept> => {
    const known = kept.get(url);
    if (known !== undefined && clock() - known.at < KEPT_MS) return known;
    using limit = signalUntil(deadlineIn(fetchMs), signal);
    const fetched = await fetchPage(url, limit.signal);
    const fresh = { url: fetched.url, text: await textOf(fetched.html), at: clock() };
    kept.set(url, fresh);
    return fresh;
  };

  return {
    async look({ signal }, library, query) {
      const known = findLibrary(library);
      const { url, text } = await page(known.url, signal);
      return { library: known.name, url, text: excerpt(text, query), nonce: nonce() };
    },
  };
}
