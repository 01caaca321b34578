/** Runs the checks, each on its own: one that breaks is a finding, not the end. */
import { causeChain, MemoryError, present } from "../kernel/errors.ts";
import { oneLine } from "../kernel/text.ts";
import { type DatabaseFacts, type Finding, fail, type OutsideFacts, type OwnerFacts, type Verdict, warn } from "./check.ts";
import connection from "./checks/connection.ts";
import { checks } from "./registry.ts";

/** Longest cause of a broken check in its detail, characters. */
const CAUSE_CHARS = 200;

async function settle(name: string, run: () => Promise<Verdict>): Promise<Finding> {
  try {
    return { name, ...(await run()) };
  } catch (error) {
    const cause = error instanceof MemoryError ? present(error).text : oneLine(causeChain(error), CAUSE_CHARS);
    return { name, ...warn(`could not be read: ${cause}`) };
  }
}

/** The checks of the process that owns the database. With no connection those that need one are left out: `connection` says why. */
export async function diagnoseOwner(facts: OwnerFacts): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) if (check.where === "owner") findings.push(await settle(check.name, () => check.run(facts)));
  const { database } = facts;
  if (database.db === undefined) {
    findings.push({
      name: connection.name,
      ...(database.isNew ? warn : fail)(database.reason, "The other checks of the database need it; run doctor again when it answers."),
    });
    return findings;
  }
  const inside: DatabaseFacts = {
    ...facts,
    db: database.db,
    migrations: database.migrations,
    scope: { principal: { kind: "owner" }, scope: { kind: "everything" }, signal: facts.signal },
  };
  for (const check of checks) {
    if (check.where !== "database") continue;
    const finding = await settle(check.name, () => check.run(inside));
    if (check !== connection) findings.push(finding);
    else if (finding.status === "ok") findings.push(finding);
    else return [...findings, { ...finding, status: "fail" }];
  }
  return findings;
}

/** The checks of the asking process. */
export async function diagnoseOutside(facts: OutsideFacts): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) if (check.where === "outside") findings.push(await settle(check.name, () => check.run(facts)));
  return findings;
}

/** Findings in the order of the registry. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  const place = new Map(checks.map(({ name }, at) => [name, at]));
  return findings.toSorted((a, b) => (place.get(a.name) ?? checks.length) - (place.get(b.name) ?? checks.length));
}
