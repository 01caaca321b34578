/** A caller's text read into paragraphs, in turns: one of two million characters takes half a second, and nobody else waits for it. */
import { type Paragraphs, paragraphSteps } from "../../domain/paragraphs.ts";
import type { CallContext } from "../../kernel/context.ts";
import { inTurns, type PaceOfCall } from "../pace.ts";

export interface TextReader {
  /** @param mostChars longest paragraph, code points; a longer one is cut. Touches no database. */
  paragraphs(ctx: Pick<CallContext, "id" | "signal">, text: string, mostChars: number): Promise<Paragraphs>;
}

export const createTextReader = (paceOf: PaceOfCall): TextReader => ({
  async paragraphs(ctx, text, mostChars) {
    // Short ones are read before anybody's turn would come; only a long one stands back for the others.
    const turn = (signal: AbortSignal) => paceOf(ctx.id).turn(signal);
    return await inTurns({ now: () => performance.now(), turn }, ctx.signal, paragraphSteps(text, mostChars));
  },
});
