/** The services around the knowledge graph, wired: entities, observations, episodes, relations, and the embedding queue behind them. */
import type { Embedder } from "../inference/port.ts";
import type { Logger } from "../kernel/logger.ts";
import { createBackground } from "../services/background.ts";
import { createChunks } from "../services/chunks.ts";
import { createEmbeddingQueue } from "../services/embedding/queue.ts";
import { createReembed } from "../services/embedding/reembed.ts";
import { createVectors } from "../services/embedding/vectors.ts";
import { createEntityAccess } from "../services/entities/access.ts";
import { createEntities } from "../services/entities/entities.ts";
import { createEpisodes } from "../services/episodes.ts";
import { createFactMirror } from "../services/facts.ts";
import { createObservations } from "../services/observations/observations.ts";
import { createOverloads } from "../services/observations/overload.ts";
import { createNoteStore } from "../services/observations/store.ts";
import { createRelations } from "../services/relations/relations.ts";
import type { Reminders } from "../services/reminders.ts";
import type { Database } from "../store/port.ts";

export interface GraphParts {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly reminders: Pick<Reminders, "onSubject">;
  readonly log: Logger;
  /** `CUBA_BITEMPORAL` */
  readonly bitemporal: boolean;
  /** `CUBA_QUARANTINE_INFERENCE` */
  readonly quarantineInference: boolean;
  /** `CUBA_CHUNK_THRESHOLD_CHARS`, `CUBA_CHUNK_CHARS` */
  readonly chunking: { readonly thresholdChars: number; readonly sizeChars: number };
}

export function composeGraph({ db, embedder, reminders, log, bitemporal, quarantineInference, chunking }: GraphParts) {
  const background = createBackground(log);
  const vectors = createVectors({ db, embedder, log });
  const queue = createEmbeddingQueue({ db, embedder, vectors, log });
  const facts = createFactMirror({ enabled: bitemporal });
  const chunks = createChunks(chunking);
  const notes = createNoteStore({ facts, chunks, quarantineInference, concurrent: () => db.traits.concurrent });
  const overloads = createOverloads({ db, facts, background });
  return {
    background,
    queue,
    facts,
    chunks,
    notes,
    reembed: createReembed({ db, embedder, vectors }),
    entities: createEntities({ db, access: createEntityAccess({ db, background }), reminders, queue }),
    observations: createObservations({ db, notes, overloads, queue, clock: () => performance.now() }),
    episodes: createEpisodes({ db, queue }),
    relations: createRelations({ db }),
  };
}
