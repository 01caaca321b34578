import { expect, test } from "bun:test";
import { createHouse, lives, PATIENCE_MS, textOf, until } from "./harness.ts";

/** Bridges at once, how many of them are killed in the middle of their work, how often their daemon is. */
const BRIDGES = 50;
const KILLED_BRIDGES = 20;
const NOTES_EACH = 12;

test(
  `${BRIDGES} bridges write, ${KILLED_BRIDGES} of them and the daemon twice are killed: every acknowledged write is there, one daemon is left, no process is lost`,
  async () => {
    await using house = createHouse();
    const clients = Array.from({ length: BRIDGES }, () => house.client({ daemon: ["idle=1000"] }));
    const acknowledged: string[] = [];
    const lost: string[] = [];
    let written = 0;

    const work = clients.map(async (client, at) => {
      const isDoomed = at < KILLED_BRIDGES;
      for (let round = 0; round < NOTES_EACH; round++) {
        if (isDoomed && round === NOTES_EACH / 2) {
          client.kill("SIGKILL");
          await client.exited;
          return;
        }
        const text = `${at}:${round}`;
        const answer = await client.call("note", { text });
        written++;
        if (textOf(answer) === "kept") acknowledged.push(text);
        else if (textOf(answer).includes("outcome is unknown")) lost.push(text);
        else throw new Error(`an answer nobody expects: ${JSON.stringify(answer)}`);
      }
    });
    // Told by the work that is done, not by the clock: about a third and two thirds of it.
    const total = (BRIDGES - KILLED_BRIDGES / 2) * NOTES_EACH;
    const killed: number[] = [];
    const assassin = [1, 2].map(async (third) => {
      await until(`${third} thirds of the work`, () => written >= (total * third) / 3);
      const pid = house.owner();
      if (pid === undefined) throw new Error("nobody owns the directory");
      killed.push(pid);
      process.kill(pid, "SIGKILL");
    });
    await Promise.all([...work, ...assassin]);

    const survivors = clients.slice(KILLED_BRIDGES);
    const pids = new Set(await Promise.all(survivors.map(async (client) => textOf(await client.call("pid")))));
    expect(pids.size).toBe(1);
    expect(new Set(killed).size).toBe(2);
    const [survivor = house.client()] = survivors;
    const kept: string[] = JSON.parse(textOf(await survivor.call("notes")));
    const missing = acknowledged.filter((text) => !kept.includes(text));
    expect(missing).toEqual([]);
    expect(new Set(kept).size).toBe(kept.length);
    expect(acknowledged.length + lost.length).toBe(written);
    expect(written).toBe(total);
    // A kill costs what was in flight at that moment, one call a bridge at most.
    expect(lost.length).toBeLessThanOrEqual(2 * BRIDGES);

    for (const client of survivors) client.end();
    expect(await Promise.all(survivors.map((client) => client.exited))).toEqual(Array<number>(survivors.length).fill(0));
    await until("the last daemon to end", () => house.daemons().length === 0);
    expect(clients.filter(({ pid }) => lives(pid))).toEqual([]);
  },
  4 * PATIENCE_MS,
);
