/** Observations as the tools see them: add one, add many, delete, list, and the timeline of an entity. */
import type { PossibleConflict } from "../../domain/duplicate-gate.ts";
import { cleanName, nameKey } from "../../domain/names.ts";
import { type CallContext, projectOf } from "../../kernel/context.ts";
import { type MemoryError, notFound } from "../../kernel/errors.ts";
import type { Database, Tx } from "../../store/port.ts";
import { deleteObservation } from "../../store/queries/observations.ts";
import {
  episodeCounts,
  type ListedObservation,
  type Moment,
  momentsOf,
  observationCounts,
  observationsOf,
} from "../../store/queries/observations-lists.ts";
import { resolveEntity } from "../entities/resolve.ts";
import { createKeyedTurns } from "../turns.ts";
import type { Note } from "./kinds.ts";
import type { Overload, Overloads } from "./overload.ts";
import type { NoteOutcome, NoteStore, RefusedNote, StoredNote } from "./store.ts";

/** What the entity of a note is called, and how it was asked for. */
export interface Named {
  readonly entityName: string;
  readonly requestedName: string | undefined;
}

export type AddResult = Named & {
  /** Milliseconds since the call began until words find the text. */
  readonly searchableMs: number;
} & (
    | (Extract<NoteOutcome, { kind: "added" }> & { readonly density: number; readonly overload: Overload | undefined })
    | Exclude<NoteOutcome, { kind: "added" }>
  );

/** A note of a batch with the place it had in the caller's list. */
export interface PlacedNote extends Note {
  readonly index: number;
}

export interface BatchResult {
  readonly added: number;
  readonly deduplicated: number;
  readonly reinforced: number;
  /** Slices stored. */
  readonly chunks: number;
  /** Row of each note by its place; null where none was inserted. */
  readonly ids: ReadonlyMap<number, string | null>;
  /** The entity of each note by its place, where it could be told. */
  readonly entities: ReadonlyMap<number, Named>;
  readonly rejected: readonly { readonly index: number; readonly reason: string }[];
  readonly ready: number;
  readonly possibleConflicts: readonly (PossibleConflict & { readonly index: number })[];
  readonly overloads: readonly (Overload & { readonly entityName: string })[];
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

export interface Listing<Row> extends Named {
  readonly rows: readonly Row[];
  readonly total: number;
  /** Rows that wait for review and are not shown. */
  readonly hidden: number;
}

export interface Observations {
  add(ctx: CallContext, note: Note): Promise<AddResult>;
  /**
   * One transaction: what fits goes in, what does not is reported.
   * @param notes checked, a few hundred at most.
   * @param alongside what must become true together with them; told the outcomes in the order of the notes. Runs again where the transaction does.
   */
  addMany(
    ctx: CallContext,
    notes: readonly PlacedNote[],
    alongside?: (tx: Tx, stored: readonly (StoredNote | RefusedNote)[]) => Promise<void>,
  ): Promise<BatchResult>;
  /** @throws MemoryError `not_found`, also for a row of another project. */
  remove(ctx: CallContext, id: string): Promise<void>;
  list(ctx: CallContext, entityName: string, page: Page): Promise<Listing<ListedObservation>>;
  /** Newest first. */
  timeline(ctx: CallContext, entityName: string, page: Page): Promise<Listing<Moment>>;
}

export interface ObservationsParts {
  readonly db: Database;
  readonly notes: NoteStore;
  readonly overloads: Overloads;
  /** Told after each commit that stored something. */
  readonly queue: { poke(): void };
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

type Added = Extract<StoredNote, { kind: "added" }>;

export function createObservations({ db, notes, overloads, queue, clock }: ObservationsParts): Observations {
  const turns = createKeyedTurns();

  /** Entities that got a row, each once. */
  const touched = (stored: readonly (StoredNote | RefusedNote)[]): string[] => [
    ...new Set(stored.flatMap((note) => (note.kind === "added" ? [note.entity.id] : []))),
  ];

  /**
   * Writers of one entity line up here, before they take a connection: fifty of them would hold the whole pool while they wait for the
   * entity's lock, and no search would get through. The lock stays for writers of other processes.
   */
  const inTurn = <T>(ctx: CallContext, wanted: readonly Note[], work: () => Promise<T>): Promise<T> => {
    if (!db.traits.concurrent) return work();
    const project = projectOf(ctx.scope) ?? "";
    return turns.take(
      wanted.map((note) => `${project} ${nameKey(note.entityName)}`),
      work,
      ctx.signal,
    );
  };

  const write = (ctx: CallContext, wanted: readonly Note[], alongside?: Parameters<Observations["addMany"]>[2]) =>
    inTurn(ctx, wanted, () =>
      db.write(
        ctx,
        async (tx) => {
          const stored = await notes.store(tx, ctx, wanted);
          await alongside?.(tx, stored);
          return { stored, over: await overloads.check(tx, ctx, touched(stored)) };
        },
        { byKey: true },
      ),
    );

  const settle = (ctx: CallContext, stored: readonly (StoredNote | RefusedNote)[], over: readonly Overload[]) => {
    if (stored.some((note) => note.kind === "added")) queue.poke();
    overloads.afterwards(ctx, over);
  };

  const listing = async <Row>(
    tx: Tx,
    ctx: CallContext,
    entityName: string,
    read: (entityId: string) => Promise<Omit<Listing<Row>, keyof Named>>,
  ) => {
    const entity = await resolveEntity(tx, entityName, ctx.scope, "read");
    return { entityName: entity.name, requestedName: entity.requestedName, ...(await read(entity.id)) };
  };

  return {
    async add(ctx, note) {
      const began = clock();
      cleanName(note.entityName, "entity_name");
      const { stored, over } = await write(ctx, [note]);
      const [outcome] = stored;
      if (outcome === undefined) throw new Error("a note had no outcome");
      if (outcome.kind === "refused") throw outcome.error;
      settle(ctx, stored, over);
      const { entity, density, ...rest } = outcome;
      const named = { entityName: entity.name, requestedName: entity.requestedName, searchableMs: clock() - began };
      return rest.kind === "added" ? { ...named, ...rest, density, overload: over[0] } : { ...named, ...rest };
    },

    async addMany(ctx, placed, alongside) {
      const { stored, over } = await write(ctx, placed, alongside);
      settle(ctx, stored, over);
      const place = (at: number) => placed[at]?.index ?? at;
      const added = stored.flatMap((note, at): (Added & { index: number })[] =>
        note.kind === "added" ? [{ ...note, index: place(at) }] : [],
      );
      const nameOf = new Map(added.map((note) => [note.entity.id, note.entity.name]));
      return {
        added: added.length,
        deduplicated: stored.filter((note) => note.kind === "duplicate").length,
        reinforced: stored.filter((note) => note.kind === "reinforced").length,
        chunks: added.reduce((sum, note) => sum + note.chunks, 0),
        ids: new Map(stored.map((note, at) => [place(at), note.kind === "added" ? note.id : null])),
        entities: new Map(
          stored.flatMap((note, at): [number, Named][] =>
            note.kind === "refused" ? [] : [[place(at), { entityName: note.entity.name, requestedName: note.entity.requestedName }]],
          ),
        ),
        rejected: stored.flatMap((note, at) => (note.kind === "refused" ? [{ index: place(at), reason: reasonOf(note.error) }] : [])),
        ready: stored.filter((note) => (note.kind === "duplicate" || note.kind === "reinforced") && note.ready).length,
        possibleConflicts: added.flatMap(({ possibleConflict, index }) =>
          possibleConflict === undefined ? [] : [{ ...possibleConflict, index }],
        ),
        overloads: over.map((overload) => ({ ...overload, entityName: nameOf.get(overload.entityId) ?? "" })),
      };
    },

    async remove(ctx, id) {
      const removed = await db.write(ctx, (tx) => tx.run(deleteObservation({ id, scope: ctx.scope })), { byKey: true });
      if (removed === 0)
        throw notFound("observation", id, {
          where: "(within current project scope)",
          next: "Nothing was deleted. cuba_cronica action=list shows the observations of an entity with their ids.",
        });
    },

    list: (ctx, entityName, page) =>
      db.read(ctx, (tx) =>
        listing(tx, ctx, entityName, async (entityId) => {
          const counts = await tx.first(observationCounts({ entityId, scope: ctx.scope }));
          const rows = await tx.all(observationsOf({ entityId, scope: ctx.scope, ...page }));
          return { rows, total: counts?.total ?? rows.length, hidden: counts?.hidden ?? 0 };
        }),
      ),

    timeline: (ctx, entityName, page) =>
      db.read(ctx, (tx) =>
        listing(tx, ctx, entityName, async (entityId) => {
          const notesThere = await tx.first(observationCounts({ entityId, scope: ctx.scope }));
          const episodesThere = await tx.first(episodeCounts({ entityId, scope: ctx.scope }));
          const rows = await tx.all(momentsOf({ entityId, scope: ctx.scope, ...page }));
          return {
            rows,
            total: (notesThere?.total ?? 0) + (episodesThere?.total ?? 0),
            hidden: (notesThere?.hidden ?? 0) + (episodesThere?.hidden ?? 0),
          };
        }),
      ),
  };
}

/** Why an item was left out; that nothing was written holds for the item, not for its batch. */
const reasonOf = (error: MemoryError) => error.message.replace(/ Nothing was written\./g, "");
