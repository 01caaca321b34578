/** An edge that a language model read from a text: its names come from outside, so any of them may be unusable. */
import type { RelationType } from "../../domain/graph/edges.ts";
import type { Scope } from "../../kernel/context.ts";
import { MemoryError } from "../../kernel/errors.ts";
import type { Tx } from "../../store/port.ts";
import { resolveEntity } from "../entities/resolve.ts";
import { writeEdge } from "./relations.ts";

/**
 * Stores it with provenance `inferred`, creating its entities. A name that is no name, or is one of several projects, leaves this edge out and harms
 * nothing else in the transaction: then the reason comes back. @throws what is no fault of the names.
 */
export async function storeReadEdge(
  tx: Tx,
  scope: Scope,
  { from, to, relation }: { readonly from: string; readonly to: string; readonly relation: RelationType },
): Promise<MemoryError | undefined> {
  try {
    await tx.savepoint(async (inner) => {
      const ends = {
        from: await resolveEntity(inner, from, scope, "create", "from"),
        to: await resolveEntity(inner, to, scope, "create", "to"),
      };
      await writeEdge(inner, ends, { relation, bidirectional: false, provenance: "inferred" });
    });
    return undefined;
  } catch (error) {
    if (error instanceof MemoryError && ["invalid", "ambiguous", "conflict"].includes(error.code)) return error;
    throw error;
  }
}
