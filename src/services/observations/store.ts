/**
 * Storing observations: resolve, gate, insert, mirror, slice, all in the caller's transaction and for one note as for a hundred.
 * Every tool that writes observations ends here; the vectors are the queue's business, after the commit.
 */
import { informationDensity, initialImportance } from "../../domain/density.ts";
import { type PossibleConflict, REINFORCEMENT } from "../../domain/duplicate-gate.ts";
import { lexicalText } from "../../domain/lexical.ts";
import { autoTags } from "../../domain/tags.ts";
import { type Trust, trustOfWrite } from "../../domain/trust.ts";
import type { CallContext } from "../../kernel/context.ts";
import { MemoryError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { Tx } from "../../store/port.ts";
import {
  insertObservations,
  lockEntities,
  type NewObservation,
  reinforceObservation,
  rewriteObservation,
  supersedeObservation,
} from "../../store/queries/observations.ts";
import type { Chunks } from "../chunks.ts";
import { judgeTexts, type Verdict } from "../duplicates/gate.ts";
import { type ResolvedEntity, resolveEntity } from "../entities/resolve.ts";
import type { ClosingReason, FactMirror } from "../facts.ts";
import type { Note } from "./kinds.ts";

interface Seen {
  readonly entity: ResolvedEntity;
  readonly density: number;
}

/** What became of a note. */
export type NoteOutcome =
  | {
      readonly kind: "added";
      readonly id: string;
      readonly importance: number;
      readonly tags: readonly string[];
      readonly trust: Trust;
      readonly chunks: number;
      readonly possibleConflict: PossibleConflict | undefined;
      readonly matchesQuarantined: readonly string[];
    }
  | {
      readonly kind: "duplicate";
      readonly existingId: string;
      readonly similarity: number;
      readonly contentPreview: string;
      readonly ready: boolean;
    }
  | { readonly kind: "reinforced"; readonly existingId: string; readonly ready: boolean };

export type StoredNote = Seen & NoteOutcome;

/** A note whose entity cannot be told; the others go in. */
export interface RefusedNote {
  readonly kind: "refused";
  readonly error: MemoryError;
}

export interface NoteStore {
  /**
   * Stores notes in order, within `tx`. Nothing is written of a note that adds nothing, or whose entity cannot be told.
   * The entities are locked until the transaction ends. @returns one outcome a note, in order.
   */
  store(tx: Tx, ctx: CallContext, notes: readonly Note[]): Promise<(StoredNote | RefusedNote)[]>;
  /**
   * Gives an observation another text: tags, words, slices and fact follow in the same transaction, its old text becomes history, its vector
   * waits. Poke the queue after the commit. @returns false where the row is not in scope.
   */
  rewrite(
    tx: Tx,
    ctx: CallContext,
    change: { readonly id: string; readonly content: string; readonly reason: ClosingReason },
  ): Promise<boolean>;
  /**
   * Retires a trusted observation for a trusted one of the same entity that says what holds now; its fact ends with that one's as successor.
   * With `content` only while it still says that: a verdict is about a text.
   * @returns false where the two are not such a pair: nothing was written.
   */
  supersede(
    tx: Tx,
    ctx: CallContext,
    pair: { readonly id: string; readonly content?: string; readonly successor: string },
  ): Promise<boolean>;
}

export interface NoteStoreParts {
  readonly facts: FactMirror;
  readonly chunks: Chunks;
  /** `CUBA_QUARANTINE_INFERENCE` */
  readonly quarantineInference: boolean;
  /** Two writers can meet (`traits.concurrent`). */
  readonly concurrent: () => boolean;
}

interface Prepared {
  readonly at: number;
  readonly note: Note;
  readonly entity: ResolvedEntity;
  readonly id: string;
  readonly trust: Trust;
}

export function createNoteStore({ facts, chunks, quarantineInference, concurrent }: NoteStoreParts): NoteStore {
  /** Names in one order, or two batches that create the same entities would wait for each other. */
  const resolveAll = async (tx: Tx, ctx: CallContext, notes: readonly Note[]) => {
    const byName = new Map<string, ResolvedEntity | MemoryError>();
    for (const name of [...new Set(notes.map((note) => note.entityName))].sort()) {
      try {
        byName.set(name, await resolveEntity(tx, name, ctx.scope, "create"));
      } catch (error) {
        // What the database refuses ends the transaction anyway; a name that cannot be told is this note's own affair.
        if (!(error instanceof MemoryError) || (error.code !== "ambiguous" && error.code !== "invalid")) throw error;
        byName.set(name, error);
      }
    }
    return byName;
  };

  const rowOf = ({ note, entity, id, trust }: Prepared, ctx: CallContext, density: number): NewObservation => ({
    id,
    entityId: entity.id,
    content: note.content,
    observationType: note.observationType,
    importance: initialImportance(note.observationType, density),
    source: note.source,
    trust,
    tags: autoTags(note.content),
    lexical: lexicalText(note.content),
    sessionId: ctx.session?.id ?? null,
    projectId: entity.projectId,
  });

  return {
    async rewrite(tx, { scope }, { id, content, reason }) {
      const change = { id, content, tags: autoTags(content), lexical: lexicalText(content), scope };
      if ((await tx.run(rewriteObservation(change))) === 0) return false;
      await chunks.restore(tx, [{ id, content }]);
      await facts.replace(tx, id, reason);
      return true;
    },

    async supersede(tx, { scope }, { id, content, successor }) {
      if ((await tx.run(supersedeObservation({ id, content, successor, scope }))) === 0) return false;
      await facts.close(tx, [id], "superseded", successor);
      return true;
    },

    async store(tx, ctx, notes) {
      const byName = await resolveAll(tx, ctx, notes);
      const outcomes: (StoredNote | RefusedNote)[] = [];
      const prepared: Prepared[] = [];
      for (const [at, note] of notes.entries()) {
        const entity = byName.get(note.entityName);
        if (entity === undefined || entity instanceof MemoryError)
          outcomes[at] = { kind: "refused", error: entity ?? new MemoryError("internal", "a name was not resolved") };
        else {
          const trust = trustOfWrite({ source: note.source, requested: note.trust, quarantineInference });
          prepared.push({ at, note, entity, id: newId(), trust });
        }
      }
      if (prepared.length === 0) return outcomes;
      if (concurrent()) await tx.run(lockEntities([...new Set(prepared.map(({ entity }) => entity.id))]));

      const texts = prepared.map(({ id, entity, note, trust }) => ({
        id,
        entityId: entity.id,
        content: note.content,
        trust,
        force: note.force === true,
      }));
      const verdicts = await judgeTexts(tx, texts, ctx.scope);

      const rows: NewObservation[] = [];
      for (const [index, item] of prepared.entries()) {
        const verdict = verdicts[index];
        if (verdict === undefined) throw new Error("a text was not judged");
        const density = informationDensity(item.note.content);
        const seen = { entity: item.entity, density };
        if (verdict.decision.kind === "unique") rows.push(rowOf(item, ctx, density));
        outcomes[item.at] = { ...seen, ...outcomeOf(item, verdict, rows.at(-1), chunks) };
      }
      if (rows.length > 0) {
        await tx.run(insertObservations(rows));
        await chunks.store(tx, rows);
        await facts.append(
          tx,
          rows.filter((row) => row.trust === "trusted").map((row) => row.id),
          ctx.log,
        );
      }
      // After the inserts: an item may repeat one of its own call.
      for (const { decision } of verdicts)
        if (decision.kind === "reinforce")
          await tx.run(reinforceObservation({ id: decision.existingId, by: REINFORCEMENT, scope: ctx.scope }));
      return outcomes;
    },
  };
}

type Outcome<T> = T extends Seen ? Omit<T, keyof Seen> : never;

function outcomeOf(item: Prepared, { decision, ready }: Verdict, row: NewObservation | undefined, chunks: Chunks): Outcome<StoredNote> {
  switch (decision.kind) {
    case "duplicate": {
      const { existingId, similarity, contentPreview } = decision;
      return { kind: "duplicate", existingId, similarity, contentPreview, ready };
    }
    case "reinforce":
      return { kind: "reinforced", existingId: decision.existingId, ready };
    case "unique":
      return {
        kind: "added",
        id: item.id,
        importance: row?.importance ?? 0,
        tags: row?.tags ?? [],
        trust: item.trust,
        chunks: chunks.count(item.note.content),
        possibleConflict: decision.possibleConflict,
        matchesQuarantined: decision.matchesQuarantined,
      };
  }
}
