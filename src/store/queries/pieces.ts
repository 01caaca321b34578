/** Short pieces of observations, for views with little room. */
import { type SQL, sql } from "drizzle-orm";
import { inBrief } from "../../domain/decision-text.ts";
import { firstChars } from "../../kernel/text.ts";
import { fixed } from "./predicates.ts";

/** Characters of a piece (`tools-maintenance.md` §14, `tools-cognition.md` §7). */
const PIECE_CHARS = 240;
/** Of a decision more is read: its choice stands near its end, and `inBrief` brings it forward. One still longer begins like any other text. */
const DECISION_CHARS = 4_000;

/** What {@link pieceOf} needs of the observation `o`. */
export const pieceSource: SQL = sql`left(o.content, case o.observation_type when 'decision' then ${fixed(DECISION_CHARS)} else ${fixed(PIECE_CHARS)} end)`;

/** At most 240 characters: of a recorded decision its choice and reason, of anything else its beginning. */
export const pieceOf = (text: string): string => firstChars(inBrief(text), PIECE_CHARS);
