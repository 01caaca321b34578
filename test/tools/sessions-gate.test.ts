/** cuba_jornada before the database: what its gate refuses, by which name, and what it lets pass. A refusal here has touched nothing, so no project was made. */
import { expect, test } from "bun:test";
import { toEnd } from "../../src/kernel/steps.ts";
import sessions from "../../src/tools/sessions.ts";

const TOKEN = "ghp_abcdefghijklmnop";

const refusal = (args: Record<string, unknown>): string => {
  try {
    toEnd(sessions.parse(args));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "accepted";
};

test.each([
  ["summary", { action: "end", summary: `all done, the token is ${TOKEN}` }],
  ["goals[1]", { action: "start", name: "s", project: "new", goals: ["x", TOKEN] }],
  ["name", { action: "start", name: TOKEN }],
])("a credential in %s is refused by that name, and not repeated", (field, args) => {
  const message = refusal(args);
  expect(message).toStartWith(`refusing to write ${field}: what looks like a github token`);
  expect(message).not.toContain(TOKEN);
});

test("a name that merely talks about passwords is accepted, and an outcome that is none is not", () => {
  expect(refusal({ action: "start", name: "password: not set yet, rotate the token" })).toBe("accepted");
  expect(refusal({ action: "end", outcome: "foo" })).toBe("Invalid outcome: foo. Use success/partial/failed/abandoned");
});
