import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { auditKeyOf } from "../../src/app/audit-key.ts";
import { loadConfig } from "../../src/config/load.ts";
import { temporaryDirectory } from "../support/temporary.ts";

/** A home with key files at these places, and the key that counts there. */
function keyWith(files: Readonly<Record<string, string>>, variable?: string): string | undefined {
  const home = temporaryDirectory("key");
  for (const [folder, content] of Object.entries(files)) {
    mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, folder, "audit_key"), content);
  }
  const environment = { HOME: home, ...(variable === undefined ? {} : { CUBA_AUDIT_KEY: variable }) };
  return auditKeyOf(loadConfig({ environment, machine: { platform: "linux", workingDirectory: home } }))();
}

test("the variable beats the files; the secrets folder beats the caches, ours before the older one", () => {
  const files = { ".config/memory-industry": "one\n", ".cache/memory-industry": "two", ".cache/cuba-memorys": " three " };
  expect(keyWith(files, " k3y ")).toBe("k3y");
  expect(keyWith(files)).toBe("one");
  expect(keyWith(files, "   ")).toBe("one");
  expect(keyWith({ ...files, ".config/memory-industry": " \n" })).toBe("two");
  expect(keyWith({ ".cache/cuba-memorys": " three \n" })).toBe("three");
  expect(keyWith({})).toBeUndefined();
});

test("without a home directory there is no key, and that is no error", () => {
  const config = loadConfig({ environment: {}, machine: { platform: "linux", workingDirectory: "/nowhere" } });
  expect(auditKeyOf(config)()).toBeUndefined();
});
