/** Keeps the mean around which the signs of vectors are taken (`brain_vector_signs`, decision 0130) that of the vectors that are there. */
import type { CallScope } from "../../kernel/context.ts";
import type { Database } from "../../store/port.ts";
import { countVectors, fittedVectors, fitVectors } from "../../store/queries/search-vectors.ts";

/** Vectors from which signs are taken; fewer are compared one by one in no time. */
const FIT_FROM = 64;
/** The mean is taken again when there are so many times as many vectors, up to {@link FIT_TO}: it has settled by then, and taking signs is work for each vector. */
const FIT_AGAIN_AT = 8;
const FIT_TO = 4_096;
/** Vectors whose mean is taken: that of all others differs by some hundredths of a component's spread. */
const SAMPLE = 2_000;
/** Vectors stored between two looks. */
const LOOK_EVERY = 32;

export interface Signs {
  /** Call after `stored` vectors of a model were stored. Fits where it is due; some milliseconds, 60 at the most. */
  stored(label: string, stored: number): Promise<void>;
  /** Takes the signs of every vector of a model anew, due or not. */
  refit(label: string): Promise<void>;
}

export function createSigns(db: Database): Signs {
  const ctx: CallScope = {
    principal: { kind: "system", id: "embedding" },
    scope: { kind: "everything" },
    signal: new AbortController().signal,
  };
  /** Vectors stored since the last look, by model; the first ones are looked at at once. */
  const waiting = new Map<string, number>();

  const refit = (label: string) =>
    db.write(ctx, async (tx) => {
      await tx.run(fitVectors({ label, sample: SAMPLE }));
    });

  return {
    refit,
    async stored(label, stored) {
      const since = (waiting.get(label) ?? LOOK_EVERY) + stored;
      waiting.set(label, since);
      if (stored === 0 || since < LOOK_EVERY) return;
      waiting.set(label, 0);
      const isDue = await db.read(ctx, async (tx) => {
        const fitted = (await tx.first(fittedVectors({ label })))?.rows ?? 0;
        if (fitted >= FIT_TO) return false;
        const due = fitted === 0 ? FIT_FROM : FIT_AGAIN_AT * fitted;
        return ((await tx.first(countVectors({ label, most: due })))?.rows ?? 0) >= due;
      });
      if (isDue) await refit(label);
    },
  };
}
