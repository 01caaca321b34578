/** Every project: what the owner asks of the whole memory. */
import type { CallScope } from "../kernel/context.ts";

export const everything = (signal: AbortSignal): CallScope => ({ principal: { kind: "owner" }, scope: { kind: "everything" }, signal });
