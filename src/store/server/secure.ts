/** The unprivileged login of a server (`cli-daemon.md` §3.23): its attributes, its password, its grants, in that order and as often as wanted. */
import { refused } from "../../kernel/errors.ts";
import { APP_ROLE } from "../app-role.ts";
import { allOrNothing, type Connection } from "../connection.ts";
import { scramVerifier } from "./scram.ts";

export interface Secured {
  readonly created: boolean;
  /** Whether the password was set now; a role that has one keeps it. */
  readonly passwordSet: boolean;
  /** False where the schema is not there yet. */
  readonly granted: boolean;
  /** Name of the login that this was done with, where its password was set too. */
  readonly adminLogin: string | undefined;
}

export interface SecureOptions {
  readonly password: string;
  /** Sets the password also where the role has one. */
  readonly rotate: boolean;
  /** New password of the login that does this; undefined keeps the one it has. */
  readonly adminPassword: string | undefined;
  /** Grants and, last, revokes. */
  readonly grants: string;
}

/** All of it or nothing. @throws MemoryError `refused` for a login that is no superuser; nothing was touched then. */
export async function secureServer(connection: Connection, { password, rotate, adminPassword, grants }: SecureOptions): Promise<Secured> {
  const { rows } = await connection.query(
    `select (select rolsuper from pg_roles where rolname = current_user) as super, exists (select from pg_roles where rolname = '${APP_ROLE}') as there,
            to_regclass('public.brain_migrations') is not null as migrated, session_user::text as login, quote_ident(session_user) as quoted`,
  );
  const facts = rows[0];
  if (facts?.super !== true)
    throw refused("The login of DATABASE_URL is no superuser, so it cannot make a role; nothing was touched. Use the server's admin URL.");
  const created = facts.there !== true;
  // The caller puts its files in place behind all of it: of one new password alone nobody would know.
  return await allOrNothing(connection, async () => {
    if (created) await connection.script(`create role ${APP_ROLE} login`);
    await connection.script(`alter role ${APP_ROLE} login nosuperuser nocreatedb nocreaterole nobypassrls noreplication`);
    const has = await connection.query(`select rolpassword is not null as has from pg_authid where rolname = '${APP_ROLE}'`);
    const passwordSet = rotate || has.rows[0]?.has !== true;
    // A verifier, never the password: it can reach no statement log.
    if (passwordSet) await connection.script(`alter role ${APP_ROLE} password '${scramVerifier(password)}'`);
    if (facts.migrated === true) await connection.script(grants);
    if (adminPassword !== undefined)
      await connection.script(`alter role ${String(facts.quoted)} password '${scramVerifier(adminPassword)}'`);
    return {
      created,
      passwordSet,
      granted: facts.migrated === true,
      adminLogin: adminPassword === undefined ? undefined : String(facts.login),
    };
  });
}
