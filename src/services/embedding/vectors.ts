/** From stored text to stored vector, one text at a time; shared by the queue and by `reembed`. */
import { contextualText } from "../../domain/embedding-text.ts";
import type { Embedder } from "../../inference/port.ts";
import type { CallScope } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Database } from "../../store/port.ts";
import { type Embedded, saveVectors, type TextToEmbed, vectorKinds } from "../../store/queries/observations-vectors.ts";
import { createSigns } from "./signs.ts";

/** The text whose vector stands for a row. */
export const embeddedText = ({ kind, content, subject, subjectType }: TextToEmbed): string =>
  kind === "procedure" ? `${subject}. ${content}` : contextualText(subject, subjectType, content);

export interface Round {
  /** Vectors stored. A row whose text changed meanwhile is neither stored nor failed: it waits again. */
  readonly stored: number;
  /** Rows that could not be embedded. */
  readonly failed: readonly string[];
  /** The model is not there (any more): the rest was not tried. */
  readonly stopped: boolean;
}

export interface Vectors {
  /**
   * Embeds texts and stores their vectors under the running model's label. Never a made-up vector: a text that fails stays without one.
   * One text a call, so that a question waits for one text at most; nothing is held open while the model works.
   */
  embed(ctx: CallScope, texts: readonly TextToEmbed[]): Promise<Round>;
  /** Takes the signs of every vector of the running model anew: after many were replaced, and where a check found signs missing. */
  takeSigns(): Promise<void>;
}

export function createVectors({
  db,
  embedder,
  log,
}: {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly log: Logger;
}): Vectors {
  const signs = createSigns(db);
  const isThere = () => {
    const { state } = embedder.status();
    return state !== "missing" && state !== "failed";
  };

  return {
    async embed(ctx, texts) {
      const { label } = embedder;
      const embedded: Embedded[] = [];
      const failed: string[] = [];
      let stopped = false;
      for (const text of texts) {
        if (ctx.signal.aborted || stopped) break;
        try {
          const [vector] = await embedder.embed([embeddedText(text)], "passage", ctx.signal);
          if (vector === undefined || vector.length !== embedder.dimensions)
            throw new Error("the embedder answered no vector of its length");
          embedded.push({ text, vector });
        } catch (cause) {
          if (ctx.signal.aborted) break;
          stopped = !isThere();
          if (!stopped) failed.push(text.id);
          log.warn("a text was not embedded", { kind: text.kind, row: text.id, cause: causeChain(cause) });
        }
      }
      // A model that was exchanged while it worked: its vectors have no label that tells the truth.
      if (embedded.length === 0 || embedder.label !== label) return { stored: 0, failed, stopped };
      const stored = await db.write({ ...ctx, signal: new AbortController().signal }, async (tx) => {
        let count = 0;
        for (const kind of vectorKinds) {
          const mine = embedded.filter(({ text }) => text.kind === kind);
          if (mine.length > 0) count += await tx.run(saveVectors({ kind, label, embedded: mine }));
        }
        return count;
      });
      await signs.stored(label, stored);
      return { stored, failed, stopped };
    },

    takeSigns: () => signs.refit(embedder.label),
  };
}
