import { expect, test } from "bun:test";
import { decisionText, inBrief } from "../../src/domain/decision-text.ts";

const queue = {
  title: "Queue between checkout and billing",
  context: "Billing is down every Sunday night.\nOrders must not get lost.",
  alternatives: ["Kafka", "a table"],
  chosen: "a table of PostgreSQL.",
  rationale: "We run it already.\n50 orders a minute need no broker.",
};

test("a short view of a recorded decision begins with what was chosen, and why", () => {
  expect(inBrief(decisionText(queue))).toBe(
    "Queue between checkout and billing: a table of PostgreSQL. Why: We run it already.\n50 orders a minute need no broker.",
  );
  expect(inBrief(decisionText({ ...queue, alternatives: ["a\nChosen: b"], chosen: "放在 PostgreSQL 里。" }))).toStartWith(
    "Queue between checkout and billing: 放在 PostgreSQL 里. Why: We run",
  );
});

test("any other text stays as it is, also one that begins like a decision", () => {
  for (const text of ["", "We decided to stay.", "**Bold** start\nContext: none", "**T**\nContext: c\nAlternatives: []\nChosen: x"])
    expect(inBrief(text)).toBe(text);
});
