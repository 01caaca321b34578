/**
 * Notices that the embedded engine has crashed, and gets out of it.
 *
 * PGlite runs a message in a loop that goes on until the whole message is read, and passes over every exception on the way. After a PANIC or a trap
 * the engine reads no more: the loop would turn for ever on this thread, with no signal and no timer heard. The one exception that is part of the
 * engine's work is its error handling (`siglongjmp`, known by a status); whatever else comes out of the engine is its end.
 */

/** Exit status by which PGlite knows the jump of an ordinary SQL error. */
const ORDINARY_ERROR = 100;

/** The entrances of the Emscripten module that PGlite's loop uses; its types leave them open. */
export interface CrashingModule {
  _PostgresMainLoopOnce: () => void;
  _PostgresSendReadyForQueryIfNecessary: () => void;
  stackRestore: (pointer: number) => void;
}

const isOrdinary = (error: unknown) => typeof error === "object" && error !== null && "status" in error && error.status === ORDINARY_ERROR;

/** Makes every call after a crash throw what the engine died of. Call before the engine runs. */
export function throwAfterCrash(module: CrashingModule): void {
  let crash: { readonly cause: unknown } | undefined;
  const unlessCrashed = () => {
    if (crash !== undefined) throw crash.cause;
  };
  const once = module._PostgresMainLoopOnce;
  module._PostgresMainLoopOnce = () => {
    unlessCrashed();
    try {
      once();
    } catch (error) {
      if (!isOrdinary(error)) crash = { cause: error };
      throw error;
    }
  };
  // The loop catches what the line above throws, and this is the first thing it calls then.
  const restore = module.stackRestore;
  module.stackRestore = (pointer) => {
    unlessCrashed();
    restore(pointer);
  };
  const ready = module._PostgresSendReadyForQueryIfNecessary;
  module._PostgresSendReadyForQueryIfNecessary = () => {
    unlessCrashed();
    ready();
  };
}
