/**
 * Where the passwords of a server's logins lie, and what `secure` leaves in between: before the server is told, `<file>.new` holds the new password and the
 * address that it opens; once the server has it, the file itself. Of a `secure` that was killed between the two the server's password is known to
 * `<file>.new` alone, so whoever comes next asks the server which of the two holds.
 */
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { storeFault } from "../store/failures.ts";
import { openPostgres } from "../store/postgres.ts";

const PRIVATE_FILE = 0o600;

/** `app`: of the role that the product works as. `admin`: of the login of `DATABASE_URL`, where `secure --rotate` has changed it; the program never reads that one. */
export const passwordFiles = (configDir: string) => ({ app: join(configDir, "pgpass_app"), admin: join(configDir, "pgpass") });

const unfinished = (file: string) => `${file}.new`;

/** Written beside and renamed: a crash leaves the old text or the new one. */
function write(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text, { mode: PRIVATE_FILE });
  renameSync(`${file}.tmp`, file);
}

/** The password in a file; undefined where there is none. */
export const passwordIn = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, "utf8").trim() || undefined : undefined;

/** Before the server is told: a password that only the server knows would lock everybody out. @param url opens the database with that password */
export const announcePassword = (file: string, password: string, url: string): void => write(unfinished(file), `${password}\n${url}\n`);

/** The server has it. */
export function keepPassword(file: string, password: string): void {
  write(file, `${password}\n`);
  withdrawPassword(file);
}

/** The server does not have it. */
export const withdrawPassword = (file: string): void => rmSync(unfinished(file), { force: true });

/** Nobody but the owner reads it, whoever wrote it. */
export function closeToOthers(file: string): void {
  if (process.platform !== "win32" && existsSync(file)) chmodSync(file, PRIVATE_FILE);
}

/** A password that an earlier `secure` had set and not kept; now the file holds it. */
export interface Finished {
  readonly login: string;
  readonly file: string;
  readonly password: string;
}

/** Whether a login comes in; undefined where the server does not say. */
async function comesIn(url: string, nodeName: string): Promise<{ readonly login: string } | "refused" | undefined> {
  const db = openPostgres({ url, nodeName });
  try {
    return { login: (await db.ping()).role };
  } catch (error) {
    return /^28/.test(storeFault(error)?.state ?? "") ? "refused" : undefined;
  } finally {
    await db[Symbol.asyncDispose]();
  }
}

/**
 * Finishes what a killed `secure` has begun with these files: a new password that the server takes is kept. One that it refuses was never set; only
 * `mayWithdraw` takes it away, since a `secure` that runs at this moment may be about to set it. Where the server does not answer everything stays.
 */
export async function finishPasswords(
  files: readonly string[],
  { nodeName, mayWithdraw }: { readonly nodeName: string; readonly mayWithdraw: boolean },
): Promise<readonly Finished[]> {
  const finished: Finished[] = [];
  for (const file of files) {
    const [password = "", url = ""] = passwordIn(unfinished(file))?.split("\n") ?? [];
    if (password === "" || url === "") continue;
    const found = await comesIn(url, nodeName);
    if (found === "refused") {
      if (mayWithdraw) withdrawPassword(file);
    } else if (found !== undefined) {
      keepPassword(file, password);
      finished.push({ login: found.login, file, password });
    }
  }
  return finished;
}
