/**
 * SQLSTATE → our errors. The driver's message may hold the statement and its values: it ends here. What is kept as `cause` is a
 * {@link StoreFault}: state, table, column and constraint, which are names of the schema, never data.
 */
import { type ErrorCode, MemoryError, PROJECT_GONE } from "../kernel/errors.ts";

/** What the engine said, without its words. */
export class StoreFault extends Error {
  override readonly name = "StoreFault";
  /** Five characters of PostgreSQL, or the driver's own word (`CONNECT_TIMEOUT`, `ECONNREFUSED`). */
  readonly state: string;
  readonly table: string | undefined;
  readonly column: string | undefined;
  readonly constraint: string | undefined;

  constructor(
    state: string,
    names: { table?: string | undefined; column?: string | undefined; constraint?: string | undefined },
    text = "",
  ) {
    const where = [names.table, names.column, names.constraint].filter(Boolean).join(" ");
    super(`SQLSTATE ${state}${where === "" ? "" : ` at ${where}`}${text === "" ? "" : `: ${text}`}`);
    this.state = state;
    this.table = names.table;
    this.column = names.column;
    this.constraint = names.constraint;
  }
}

/** The fault behind an error of this layer, if there is one. */
export function storeFault(error: unknown): StoreFault | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) if (at instanceof StoreFault) return at;
  return undefined;
}

/** True where `error` is a unique violation, of the named constraint or index if one is given. */
export function isDuplicate(error: unknown, constraint?: string): boolean {
  const fault = storeFault(error);
  return fault?.state === "23505" && (constraint === undefined || fault.constraint === constraint);
}

/** Serialisation failure and deadlock: the same transaction may succeed when run again. */
export const isRetryable = (error: unknown): boolean => /^(40001|40P01)$/.test(storeFault(error)?.state ?? "");

/** True where the connection is gone or was never there, rather than the statement being wrong. */
export const isConnectionFault = (error: unknown): boolean => connectionState.test(storeFault(error)?.state ?? "");

const connectionState = /^(08...|57P0[1-3]|CONNECT\w*|E[A-Z]{3,}|ACQUIRE_TIMEOUT|ENGINE_STOPPED)$/;

/** Every table with rows of a project refers to it by a key that is called so. */
const toProject = /_project_id_fkey$/;

interface Rule {
  readonly state: RegExp;
  readonly code: ErrorCode;
  readonly constraint?: RegExp;
  readonly reason?: string;
  readonly text: (fault: StoreFault) => string;
}

const rule = (
  state: RegExp,
  code: ErrorCode,
  text: string | ((fault: StoreFault) => string),
  more: Pick<Rule, "constraint" | "reason"> = {},
): Rule => ({
  state,
  code,
  text: typeof text === "string" ? () => text : text,
  ...more,
});

/** First match wins. Each text ends with what to do; that nothing was written is added where it is certain. */
const rules: readonly Rule[] = [
  rule(
    /^23505$/,
    "conflict",
    (f) => `A row with the same key exists already (${f.constraint ?? "unique constraint"}). Read it, then decide.`,
  ),
  rule(
    /^23503$/,
    "conflict",
    "The project was merged into another one, or removed, while this call wrote. Call again: the project is looked up anew then.",
    { constraint: toProject, reason: PROJECT_GONE },
  ),
  rule(/^23503$/, "conflict", (f) => `Another row is missing or still refers to this one (${f.constraint ?? "foreign key"}).`),
  rule(/^23514$/, "invalid", (f) => `A value is outside its allowed range (${f.constraint ?? "check"}).`),
  rule(/^23502$/, "invalid", (f) => `A required value is missing (${f.column ?? "column"}).`),
  rule(/^(22021|22P05)$/, "invalid", "A text holds a character that cannot be stored (NUL or broken UTF-8). Remove it and try again."),
  rule(
    /^VECTOR_WIDTH$/,
    "unavailable",
    "The vectors of this database have another length than those of the embedding model that runs here: somebody changed it meanwhile. Start this process again with the model that the database is made with; 'memory-industry doctor' compares the two.",
  ),
  rule(/^(22|54|21)/, "invalid", "A value does not fit its type or is too large for the database."),
  rule(
    /^42501$/,
    "refused",
    "The active project or the caller's grants do not allow this. Check cuba_proyecto current and the grants of the principal.",
  ),
  rule(/^(40001|40P01)$/, "busy", "The call collided with another one that changes the same rows. Try again."),
  rule(/^(55P03|55006)$/, "busy", "Another operation holds the lock that this one needs. Try again in a moment."),
  rule(/^57014$/, "timeout", "The database did not finish within its time limit. Ask for less, or try again when it is idle."),
  rule(/^(53300|ACQUIRE_TIMEOUT)$/, "busy", "No database connection became free in time. Try again, or raise CUBA_DB_MAX_CONNECTIONS."),
  rule(
    /^ENGINE_STOPPED$/,
    "unavailable",
    "The embedded database stopped by a fault, often a full disk. What was stored before is kept. This process ends itself; the next call starts another.",
  ),
  rule(/^53100$/, "unavailable", "The disk of the database is full. Free some space, then try again."),
  rule(
    /^(53|57P05)/,
    "unavailable",
    "The database ran out of a resource. Look at its log; 'memory-industry doctor' checks the installation.",
  ),
  rule(
    /^25006$/,
    "unavailable",
    "The database accepts no writes at the moment (read-only, perhaps a standby). Point DATABASE_URL at the primary.",
  ),
  rule(/^28/, "unavailable", "The database refused the credentials. Check DATABASE_URL or run 'memory-industry secure'."),
  rule(/^3D000$/, "unavailable", "The database named in DATABASE_URL does not exist. Create it, then start again."),
  rule(
    connectionState,
    "unavailable",
    "The database cannot be reached. Check that it runs and that DATABASE_URL is right; 'memory-industry doctor' tells more.",
  ),
  rule(
    /^(XX00[12]|58)/,
    "corrupt",
    "The database reports damaged or unreadable files. Stop, copy the data directory, then restore a backup.",
  ),
];

interface DriverError {
  readonly code: string;
  readonly message: string;
  readonly table: string | undefined;
  readonly column: string | undefined;
  readonly constraint: string | undefined;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** PGlite says `table` and `constraint`, postgres.js `table_name` and `constraint_name`. */
function driverError(error: unknown): DriverError | undefined {
  if (!(error instanceof Error)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(error));
  const field = (name: string) => textOf(fields.get(name)) ?? textOf(fields.get(`${name}_name`));
  const code = textOf(fields.get("code"));
  if (code === undefined) return undefined;
  return { code, message: error.message, table: field("table"), column: field("column"), constraint: field("constraint") };
}

/** pgvector says it under the general state of bad data, in words that are never translated. */
const isVectorWidth = ({ code, message }: DriverError): boolean =>
  code === "22000" && /^(expected \d+ dimensions, not \d+|different vector dimensions \d+ and \d+)$/.test(message);

export interface FailureContext {
  /** What is known about the effect: nothing was written (default), or the connection broke while committing. */
  readonly written?: "no" | "unknown";
}

/**
 * The error of this product for whatever a driver threw. Our own errors pass through; an error without a code is a bug and passes
 * through as well.
 */
export function translate(error: unknown, context: FailureContext = {}): unknown {
  if (error instanceof MemoryError) return error;
  const driver = driverError(error);
  if (driver === undefined) return error;
  // Class 42 (syntax, unknown names) is a bug of ours: its text holds identifiers, no values, and is worth keeping for the log.
  // PostgreSQL 18 tells ON DELETE RESTRICT from other foreign key violations (23001), older ones do not: one word for both.
  const state = driver.code === "23001" ? "23503" : isVectorWidth(driver) ? "VECTOR_WIDTH" : driver.code;
  const fault = new StoreFault(state, driver, /^(42(?!501)|0A)/.test(driver.code) ? driver.message : "");
  const tail =
    context.written === "unknown"
      ? " The connection broke while the change was being confirmed: read before you write it again."
      : " Nothing was written.";
  const match = rules.find((each) => each.state.test(state) && (each.constraint?.test(fault.constraint ?? "") ?? true));
  if (match !== undefined) {
    const reason = match.reason === undefined ? {} : { reason: match.reason };
    return new MemoryError(match.code, match.text(fault) + tail, { cause: fault, ...reason });
  }
  return new MemoryError(
    "internal",
    `The database refused a statement of this program (SQLSTATE ${driver.code}).${tail} 'memory-industry doctor' checks the schema.`,
    { cause: fault },
  );
}
