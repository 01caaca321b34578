/** What `secure` does. */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PASSWORD_PLACE, type SecureOutcome } from "../cli/command.ts";
import { chooseDatabase } from "../config/modes.ts";
import { requirePath } from "../config/paths.ts";
import { APP_ROLE } from "../store/app-role.ts";
import { grants } from "../store/migrations.ts";
import { hasPassword, newPassword, withCredentials } from "../store/server/scram.ts";
import { secureServer } from "../store/server/secure.ts";
import type { ProcessFacts } from "./process.ts";
import { asSchemaOwner } from "./schema-owner.ts";

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

/** Written beside and renamed: a crash leaves the old password or the new one. */
function writePassword(file: string, password: string): void {
  writeFileSync(`${file}.tmp`, `${password}\n`, { mode: PRIVATE_FILE });
  renameSync(`${file}.tmp`, file);
}

/** Once is enough on a screen: a password that is not new does not leave its file. */
export const shownAddress = (adminUrl: string, password: string, isNew: boolean): string =>
  withCredentials(adminUrl, APP_ROLE, isNew ? password : PASSWORD_PLACE);

/** @throws MemoryError where the server cannot be reached, or the login is no superuser */
export async function secure(facts: ProcessFacts, { rotate }: { readonly rotate: boolean }, signal: AbortSignal): Promise<SecureOutcome> {
  const { config } = facts;
  const choice = chooseDatabase(config);
  if (choice.kind === "embedded") return { kind: "embedded" };
  const directory = requirePath(config.paths, "configDir");
  const file = join(directory, "pgpass_app");
  const known = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  const password = known === "" || rotate ? newPassword() : known;
  const adminFile = join(directory, "pgpass");
  // A login that comes in without a password is trusted by other means: one that nobody asks for would only be a second way in.
  const adminPassword = rotate && hasPassword(choice.url) ? newPassword() : undefined;
  return await asSchemaOwner(
    facts,
    {
      onlyLook: false,
      run: async ({ db }) =>
        await db.asOwner(async (connection): Promise<SecureOutcome> => {
          mkdirSync(directory, { recursive: true, mode: PRIVATE_DIRECTORY });
          // The file first: a password that only the server knows would lock everybody out.
          if (password !== known) writePassword(`${file}.new`, password);
          if (adminPassword !== undefined) writePassword(`${adminFile}.new`, adminPassword);
          const { adminLogin, ...done } = await secureServer(connection, { password, rotate, adminPassword, grants });
          if (adminLogin !== undefined) renameSync(`${adminFile}.new`, adminFile);
          const isOurs = done.passwordSet || known !== "";
          if (password !== known) {
            if (done.passwordSet) renameSync(`${file}.new`, file);
            else rmSync(`${file}.new`, { force: true });
          }
          if (process.platform !== "win32" && existsSync(file)) chmodSync(file, PRIVATE_FILE);
          return {
            kind: "server",
            role: APP_ROLE,
            ...done,
            file,
            url: isOurs ? shownAddress(choice.url, password, done.passwordSet) : undefined,
            admin:
              adminLogin === undefined
                ? undefined
                : { login: adminLogin, file: adminFile, url: withCredentials(choice.url, adminLogin, PASSWORD_PLACE) },
          };
        }),
    },
    signal,
  );
}
