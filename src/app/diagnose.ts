/** `doctor`: asks the daemon where there is one, else looks itself, under the owner lock and without migrating. */

import { nodeName } from "../config/environment.ts";
import { OWNER_LEAVES_WITHIN_MS, takeOwnership } from "../daemon/ownership.ts";
import type { Finding } from "../doctor/check.ts";
import { diagnoseOutside, diagnoseOwner, inOrder } from "../doctor/run.ts";
import { MemoryError, present } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import { linkTo } from "../transports/daemon-link.ts";
import { openAssets } from "./assets.ts";
import { NO_DATABASE, openForReading } from "./bootstrap.ts";
import { outsideFacts, ownerFacts } from "./diagnosis.ts";
import { openGateway } from "./gateway.ts";
import { openModels } from "./models.ts";
import { helloOf, type ProcessFacts } from "./process.ts";

/** How long a running daemon may take for its welcome, milliseconds. */
const WELCOME_LIMIT_MS = 3_000;

/** Every finding, in the order of the report. Never rejects for what it finds. */
export async function diagnose(
  facts: ProcessFacts,
  { deep }: { readonly deep: boolean },
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const place = facts.paths();
  const found = await linkTo(place.socket, helloOf("cli", facts.config), WELCOME_LIMIT_MS);
  const outside = await diagnoseOutside(outsideFacts(facts.config, place, found));
  if (found.kind !== "linked") return inOrder([...outside, ...(await diagnoseHere(facts, deep, signal))]);
  found.link.abort();
  await using gateway = await openGateway(facts, { project: undefined }, signal);
  const answer = await gateway.ask("owner/doctor", { deep });
  return inOrder([...outside, ...readFindings(answer)]);
}

/** Findings as they come over the socket; what does not have their shape is dropped. */
function readFindings(answer: unknown): Finding[] {
  const list: unknown[] = Array.isArray(answer) ? answer : [];
  return list.flatMap((item): Finding[] => {
    if (typeof item !== "object" || item === null) return [];
    const { name, status, detail, hint } = Object.fromEntries(Object.entries(item));
    if (typeof name !== "string" || typeof detail !== "string" || (status !== "ok" && status !== "warn" && status !== "fail")) return [];
    return [{ name, status, detail, ...(typeof hint === "string" ? { hint } : {}) }];
  });
}

async function diagnoseHere(facts: ProcessFacts, deep: boolean, signal: AbortSignal): Promise<Finding[]> {
  const { config, log, paths } = facts;
  const assets = openAssets();
  const models = await openModels({ config, assets, log });
  try {
    const request = { paths: paths(), version: VERSION, address: "alone", waitMs: OWNER_LEAVES_WITHIN_MS, stop: signal, log };
    const owning = await takeOwnership(request);
    try {
      await using db = await openForReading({ config, assets, nodeName: nodeName(config), log });
      return await diagnoseOwner(await ownerFacts({ models, database: { db } }, { deep, signal }));
    } finally {
      if (owning.kind === "owned") owning.lock.release();
    }
  } catch (error) {
    return await diagnoseOwner(
      await ownerFacts(
        { models, database: { reason: present(error).text, isNew: error instanceof MemoryError && error.reason === NO_DATABASE } },
        { deep, signal },
      ),
    );
  } finally {
    await models.close();
  }
}
