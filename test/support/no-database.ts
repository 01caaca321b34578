/** A database that cannot be reached: whoever gets its refusal has passed every check of the arguments. */
import { unavailable } from "../../src/kernel/errors.ts";
import type { Database } from "../../src/store/port.ts";

const unreachable = () => Promise.reject(unavailable("no database here"));

export const noDatabase: Database = {
  traits: { concurrent: false, crossProcessNotify: false, serverVersion: 180_000 },
  read: unreachable,
  write: unreachable,
  tryLock: async () => undefined,
  listen: unreachable,
  [Symbol.asyncDispose]: async () => {},
};
