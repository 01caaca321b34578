/** What the owner of the database does for our own commands (`OwnerMethodName` of `cli/gateway.ts`); served to the `cli` transport alone. */
import { diagnoseOwner } from "../doctor/run.ts";
import { noDeadline } from "../kernel/deadline.ts";
import { invalidField } from "../kernel/errors.ts";
import { isUuid } from "../kernel/ids.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { Reembed } from "../services/embedding/reembed.ts";
import { projectNamed } from "../services/identity/project-names.ts";
import { createUndo, type Undo } from "../services/undo.ts";
import { migrationStatus } from "../store/migrate.ts";
import { migrations } from "../store/migrations.ts";
import type { Database } from "../store/port.ts";
import { type OwnerParts, ownerFacts } from "./diagnosis.ts";
import { type EvaluationMethodParts, evaluationMethods } from "./evaluation-methods.ts";
import { everything } from "./owner-scope.ts";

export interface OwnerMethodParts extends OwnerParts {
  readonly evaluation: EvaluationMethodParts;
  readonly reembed: Reembed;
  /** Methods that live beside their subject. */
  readonly further: readonly (readonly [string, OwnerMethod])[];
  /** Wakes the queue that computes vectors. */
  readonly requestEmbedding: () => void;
}

export function ownerMethods(parts: OwnerMethodParts): ReadonlyMap<string, OwnerMethod> {
  const { database, evaluation, reembed, requestEmbedding, further } = parts;
  const ofMemories =
    "db" in database ? [projectMethod(database.db), ...undoMethods(createUndo({ db: database.db, requestEmbedding }))] : [];
  return new Map<string, OwnerMethod>([
    ...ofMemories,
    ...further,
    ...evaluationMethods(evaluation),
    [
      "owner/reembed",
      // A person waits for it and may stop it; a tool call's time limit would cut it off.
      ({ all, batch }, { signal, progress }) =>
        reembed.run({
          ...everything(signal),
          all: all === true,
          deadline: noDeadline,
          progress,
          ...(typeof batch === "number" ? { progressEvery: batch } : {}),
        }),
    ],
    ["owner/doctor", async ({ deep }, { signal }) => await diagnoseOwner(await ownerFacts(parts, { deep: deep === true, signal }))],
    [
      "owner/migrations",
      async () => ("db" in database ? await database.db.asOwner((connection) => migrationStatus(connection, migrations)) : []),
    ],
  ]);
}

/** A command that only reads asks first: a connection that names a project makes it where it is new. */
const projectMethod = (db: Database): [string, OwnerMethod] => [
  "owner/project",
  ({ name }, { signal }) => {
    if (typeof name !== "string") throw invalidField("name", "a name", name);
    return db.read(everything(signal), (tx) => projectNamed(tx, name, "project"));
  },
];

const idOf = (value: unknown): string => {
  if (typeof value === "string" && isUuid(value)) return value.toLowerCase();
  throw invalidField("id", "a UUID", value);
};

const undoMethods = (undo: Undo): [string, OwnerMethod][] => [
  ["owner/observation", ({ id }, { signal }) => undo.snapshot(everything(signal), idOf(id))],
  [
    "owner/delete",
    async ({ id, version }, { signal }) => {
      if (typeof version !== "number") throw invalidField("version", "the version that was seen", version);
      await undo.remove(everything(signal), { id: idOf(id), version });
      return { deleted: idOf(id) };
    },
  ],
  ["owner/restore", ({ snapshot }, { signal }) => undo.restore(everything(signal), snapshot)],
];
