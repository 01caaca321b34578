/**
 * A process that writes to the embedded database and says each acknowledged name on a line of its own, in the moment the write resolves:
 * `writer.ts DIRECTORY COUNT WRITERS`. Then it closes the database, unless it is killed first.
 */
import { sql } from "drizzle-orm";
import { installedAssets } from "../../../src/store/embedded/assets.ts";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { testScope } from "../../support/engines.ts";

const [directory = "", count = "0", writers = "1"] = process.argv.slice(2);
const db = await openEmbedded({ directory, assets: await installedAssets(), nodeName: "writer" });
process.stdout.write("ready\n");
let next = 0;
const writer = async () => {
  while (next < Number(count)) {
    const name = `${process.pid}-${next++}`;
    await db.write(testScope(), async (tx) => {
      await tx.run(sql`insert into brain_entities (name) values (${name}::text)`);
      await tx.run(
        sql`insert into brain_observations (entity_id, content) select e.id, ${name}::text from brain_entities as e where e.name = ${name}::text`,
      );
    });
    process.stdout.write(`${name}\n`);
  }
};
await Promise.all(Array.from({ length: Number(writers) }, writer));
await db[Symbol.asyncDispose]();
