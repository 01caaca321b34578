/** A database on which every transaction collides once: its work is done, rolled back, and done again, as a server does under load. */
import type { Database, Tx } from "../../src/store/port.ts";

class Collision extends Error {}

export function colliding(db: Database): Database {
  const lost = async (run: (work: (tx: Tx) => Promise<never>) => Promise<never>, work: (tx: Tx) => Promise<unknown>) => {
    let failure: unknown;
    let collided = false;
    await run(async (tx) => {
      try {
        await work(tx);
        collided = true;
      } catch (error) {
        failure = error;
      }
      throw new Collision("could not serialize access");
    }).catch(() => undefined);
    if (!collided && failure !== undefined) throw failure;
  };
  return {
    traits: db.traits,
    async read(ctx, work) {
      await lost((again) => db.read(ctx, again), work);
      return await db.read(ctx, work);
    },
    async write(ctx, work, limits) {
      await lost((again) => db.write(ctx, again, limits), work);
      return await db.write(ctx, work, limits);
    },
    tryLock: (key) => db.tryLock(key),
    listen: (channel, onPayload) => db.listen(channel, onPayload),
    [Symbol.asyncDispose]: async () => {},
  };
}
