/** Progress on standard error: a bar that redraws itself on a terminal, now and then a line elsewhere. */

export interface Progress {
  /** @param done and `total` in the same unit; @param label what is being done. */
  show(label: string, done: number, total: number | undefined): void;
  /** Leaves the last state standing. */
  end(): void;
}

const BAR_WIDTH = 24;
/** A terminal is redrawn ten times a second; a log file gets a line each ten seconds. */
const REDRAW_MS = 100;
const LINE_MS = 10_000;

const MB = 1_000_000;
const megabytes = (bytes: number): string => `${(bytes / MB).toFixed(1)} MB`;

/** What is counted. */
export type Unit = "bytes" | "rows";

/** One line: `tokenizer.json  [##########              ]  42 %  7.2 MB of 17.1 MB`. */
export function progressLine(label: string, done: number, total: number | undefined, unit: Unit = "bytes"): string {
  const amount = unit === "bytes" ? megabytes : String;
  if (total === undefined || total <= 0) return `${label}  ${amount(done)}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * BAR_WIDTH);
  return `${label}  [${"#".repeat(filled)}${" ".repeat(BAR_WIDTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %  ${amount(done)} of ${amount(total)}`;
}

/** @param now milliseconds of a monotonic clock */
export function createProgress(write: (text: string) => void, interactive: boolean, now: () => number, unit: Unit = "bytes"): Progress {
  let shownAt = Number.NEGATIVE_INFINITY;
  let open = false;
  const ERASE = "\r\u001b[2K";
  return {
    show(label, done, total) {
      const complete = total !== undefined && done >= total;
      if (!complete && now() - shownAt < (interactive ? REDRAW_MS : LINE_MS)) return;
      shownAt = now();
      const line = progressLine(label, done, total, unit);
      write(interactive ? ERASE + line : `${line}\n`);
      open = interactive;
    },
    end() {
      if (open) write("\n");
      open = false;
      shownAt = Number.NEGATIVE_INFINITY;
    },
  };
}
