/** Which code a text speaks of, and which words only look like it. */
import { expect, test } from "bun:test";
import { referencesIn } from "../../../src/domain/code/references.ts";

test("a path with a directory is code, and beside one a name that looks like code or is called so", () => {
  expect(referencesIn("Auth lives in `src/auth/session.ts`, function `renewToken`")).toEqual({
    paths: ["src/auth/session.ts"],
    symbols: ["renewToken"],
    languages: ["typescript"],
  });
  expect(referencesIn("see ./app/models.py:12, class User and `Session.renew_all()`, función renovarToken")).toMatchObject({
    paths: ["app/models.py"],
    symbols: ["renovarToken", "renew_all"],
  });
  expect(referencesIn("登录在 src/登录/auth.go，函数`renewToken`")).toMatchObject({ symbols: [] });
  expect(referencesIn("登录在 src/auth/auth.go，函数`renewToken`")).toMatchObject({ paths: ["src/auth/auth.go"], symbols: ["renewToken"] });
});

test("web addresses, absolute paths, libraries' names and plain words are not", () => {
  for (const text of [
    "https://example.com/lib/main.js says so",
    "Node.js and three.js, and `Next.js`",
    "/usr/lib/python3/site.py",
    "C:\\Users\\x\\main.ts",
    "node_modules/react/index.js",
    "dist/bundle.js",
    "../other/repo.ts",
    "the function `renewToken` is slow",
    "docs/guide.md and assets/logo.png",
  ])
    expect(referencesIn(text)).toEqual({ paths: [], symbols: [], languages: [] });
  expect(referencesIn("in src/a.ts the function of the gate is `true` unless `npm` runs").symbols).toEqual([]);
});
