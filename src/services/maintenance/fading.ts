/**
 * Forgetting as time passes (`tools-maintenance.md` §5.1, §5.7), for the cycle and for a call: in slices, so that nobody waits for it, and resumable, since
 * each row has its anchor.
 */
import { countedIdleDays, decayedEpisode, decayedImportance, type PowerLaw, REST_DAYS } from "../../domain/strength/decay.ts";
import type { CallScope } from "../../kernel/context.ts";
import { ANSWER_RESERVE_MS, type Deadline } from "../../kernel/deadline.ts";
import type { Database } from "../../store/port.ts";
import { agingEpisodes, daysSinceDecay, fadingObservations, noteDecay, saveAged, saveFaded } from "../../store/queries/fading.ts";
import type { Pace } from "../pace.ts";
import { walk } from "../walk.ts";

/** Rows rewritten in one transaction: an update of a row costs as much as storing it, about a millisecond in the embedded engine. */
const MOST_REWRITTEN = 25;
/** Rows looked at in one transaction. */
const OBSERVATIONS = { first: 100, most: 4_000 };
const EPISODES = { first: 25, most: 500 };
/** Younger episodes are left alone. */
const EPISODE_REST_HOURS = 1;
/** The importance of an episode follows from age alone, so it may wait until it would move by this share: else every run rewrites every episode. */
const LEAST_CHANGE = 0.001;

export interface FadeRequest extends CallScope {
  readonly pace: Pace;
  readonly deadline: Deadline;
}

export interface DecayRequest extends FadeRequest {
  /** One half-life for all types that fade. */
  readonly halfLifeDays?: number | undefined;
  /** While a session is open, entities that got an observation within so many hours are left alone. */
  readonly spareHours?: number | undefined;
}

export interface Faded {
  /** Rows that lost importance. */
  readonly count: number;
  /** False where the time was over first; the rows that are left fade at the next call, nothing is lost. */
  readonly complete: boolean;
}

export interface Fading {
  /**
   * Trusted observations lose importance by the time nobody used them; never below 0.01, never a decision or a lesson. A row is rewritten at most once
   * a day, whatever the number of runs: the factors multiply up to the same importance (decisions 0112, 0120).
   */
  decay(request: DecayRequest): Promise<Faded>;
  /** Episodes lose importance by their age; running it again changes nothing. */
  decayEpisodes(request: FadeRequest, law: PowerLaw): Promise<Faded>;
}

export function createFading({ db }: { readonly db: Database }): Fading {
  const isOver = ({ deadline }: FadeRequest) => deadline.remainingMs() < ANSWER_RESERVE_MS;
  return {
    async decay(request) {
      const { scope, halfLifeDays, spareHours } = request;
      const since = (await db.read(request, (tx) => tx.first(daysSinceDecay({ scope }))))?.days;
      let count = 0;
      let complete = true;
      await walk(request, { db }, { table: "observations", ...OBSERVATIONS, writes: true }, async (tx, window) => {
        if (isOver(request)) {
          complete = false;
          return { stop: true };
        }
        const due = await tx.all(fadingObservations({ ...window, scope, restDays: REST_DAYS, spareHours, limit: MOST_REWRITTEN }));
        if (due.length === 0) return undefined;
        const faded = due.map(({ idleDays, ...row }) => ({
          id: row.id,
          before: row.importance,
          importance: decayedImportance({
            ...row,
            idleDays: countedIdleDays(idleDays, since),
            ...(halfLifeDays === undefined ? {} : { halfLifeDays }),
          }),
        }));
        await tx.run(saveFaded(faded));
        const lost = faded.filter(({ importance, before }) => importance < before).length;
        return {
          upTo: due.length < MOST_REWRITTEN ? undefined : due.at(-1)?.id,
          committed: () => {
            count += lost;
          },
        };
      });
      if (complete) await db.write(request, (tx) => tx.run(noteDecay({ scope })));
      return { count, complete };
    },

    async decayEpisodes(request, law) {
      let count = 0;
      let complete = true;
      await walk(request, { db }, { table: "episodes", ...EPISODES, writes: true }, async (tx, window) => {
        if (isOver(request)) {
          complete = false;
          return { stop: true };
        }
        const rows = await tx.all(agingEpisodes({ ...window, scope: request.scope, restHours: EPISODE_REST_HOURS }));
        const moved = rows
          .map((row) => ({ id: row.id, before: row.importance, importance: decayedEpisode(row.initialImportance, row.ageDays, law) }))
          .filter(({ before, importance }) => Math.abs(importance - before) > LEAST_CHANGE * before);
        const now = moved.slice(0, MOST_REWRITTEN);
        if (now.length > 0) await tx.run(saveAged(now));
        return {
          upTo: now.length < moved.length ? now.at(-1)?.id : undefined,
          committed: () => {
            count += now.length;
          },
        };
      });
      return { count, complete };
    },
  };
}
