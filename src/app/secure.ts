/** What `secure` does. */
import { mkdirSync } from "node:fs";
import { PASSWORD_PLACE, type SecureOutcome } from "../cli/command.ts";
import { nodeName } from "../config/environment.ts";
import { chooseDatabase } from "../config/modes.ts";
import { requirePath } from "../config/paths.ts";
import { MemoryError, refused } from "../kernel/errors.ts";
import { APP_ROLE } from "../store/app-role.ts";
import { grants } from "../store/migrations.ts";
import { hasPassword, newPassword, withCredentials, withPassword } from "../store/server/scram.ts";
import { secureServer } from "../store/server/secure.ts";
import {
  announcePassword,
  closeToOthers,
  type Finished,
  finishPasswords,
  keepPassword,
  passwordFiles,
  passwordIn,
  withdrawPassword,
} from "./password-files.ts";
import type { ProcessFacts } from "./process.ts";
import { asSchemaOwner } from "./schema-owner.ts";

const PRIVATE_DIRECTORY = 0o700;

/** Once is enough on a screen: a password that is not new does not leave its file. */
export const shownAddress = (adminUrl: string, password: string, isNew: boolean): string =>
  withCredentials(adminUrl, APP_ROLE, isNew ? password : PASSWORD_PLACE);

/** A login that an earlier run gave another password comes in no more with the address that it has. */
function refuseOldAddress(url: string, files: ReturnType<typeof passwordFiles>, finished: readonly Finished[]): void {
  const admin = finished.find(({ file }) => file === files.admin);
  if (admin === undefined || withPassword(url, admin.password) === url) return;
  throw refused(
    `A secure --rotate that was broken off had given the login ${admin.login} a new password, which lies in ${admin.file} now, readable by you alone; nothing else was done. ` +
      `Set DATABASE_URL to ${withPassword(url, PASSWORD_PLACE)} with that for ${PASSWORD_PLACE}, then run the command again.`,
  );
}

/** @throws MemoryError where the server cannot be reached, or the login is no superuser */
export async function secure(facts: ProcessFacts, { rotate }: { readonly rotate: boolean }, signal: AbortSignal): Promise<SecureOutcome> {
  const { config } = facts;
  const choice = chooseDatabase(config);
  if (choice.kind === "embedded") return { kind: "embedded" };
  const directory = requirePath(config.paths, "configDir");
  const files = passwordFiles(directory);
  refuseOldAddress(choice.url, files, await finishPasswords(Object.values(files), { nodeName: nodeName(config), mayWithdraw: true }));
  const known = passwordIn(files.app);
  const password = known === undefined || rotate ? newPassword() : known;
  // A login that comes in without a password is trusted by other means: one that nobody asks for would only be a second way in.
  const adminPassword = rotate && hasPassword(choice.url) ? newPassword() : undefined;
  return await asSchemaOwner(
    facts,
    {
      onlyLook: false,
      run: async ({ db }) =>
        await db.asOwner(async (connection): Promise<SecureOutcome> => {
          mkdirSync(directory, { recursive: true, mode: PRIVATE_DIRECTORY });
          if (password !== known) announcePassword(files.app, password, withCredentials(choice.url, APP_ROLE, password));
          if (adminPassword !== undefined) announcePassword(files.admin, adminPassword, withPassword(choice.url, adminPassword));
          const { adminLogin, ...done } = await secureServer(connection, { password, rotate, adminPassword, grants }).catch(
            (error: unknown) => {
              // Anything else may have been said after the server had taken them: the next run asks it.
              if (error instanceof MemoryError && error.code === "refused") for (const file of Object.values(files)) withdrawPassword(file);
              throw error;
            },
          );
          if (adminLogin !== undefined && adminPassword !== undefined) keepPassword(files.admin, adminPassword);
          const isOurs = done.passwordSet || known !== undefined;
          if (password !== known) {
            if (done.passwordSet) keepPassword(files.app, password);
            else withdrawPassword(files.app);
          }
          closeToOthers(files.app);
          return {
            kind: "server",
            role: APP_ROLE,
            ...done,
            file: files.app,
            url: isOurs ? shownAddress(choice.url, password, done.passwordSet) : undefined,
            admin:
              adminLogin === undefined
                ? undefined
                : { login: adminLogin, file: files.admin, url: withCredentials(choice.url, adminLogin, PASSWORD_PLACE) },
          };
        }),
    },
    signal,
  );
}
