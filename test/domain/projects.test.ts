import { describe, expect, test } from "bun:test";
import {
  freeName,
  identityCandidates,
  percentDecode,
  projectName,
  projectNameKey,
  remoteIdentity,
  rootDirectory,
} from "../../src/domain/projects.ts";

describe("the identity of a remote", () => {
  for (const [url, wanted] of [
    ["https://GitHub.com/acme/api.git", "remote:github.com/acme/api"],
    ["https://user:pw@github.com:443/acme/api/", "remote:github.com/acme/api"],
    ["git@github.com:acme/api.git", "remote:github.com/acme/api"],
    ["ssh://git@github.com:22/acme/api.git", "remote:github.com/acme/api"],
    ["git@host:~/work/api", "remote:host/work/api"],
    ["https://example.org/项目/café.git", "remote:example.org/项目/café"],
    ["/srv/git/api.git", undefined],
    ["file:///srv/git/api.git", undefined],
    ["C:/repos/api", undefined],
    ["", undefined],
  ] as const)
    test(`${JSON.stringify(url)} is ${wanted}`, () => expect(remoteIdentity(url)).toBe(wanted));
});

describe("a workspace", () => {
  const facts = { top: "/a/api", rootCommit: "c0ffee", remote: "git@github.com:acme/service.git", machine: undefined };
  test("is known best by its first commit, then by its remote, then by its path", () => {
    expect(identityCandidates(facts)).toEqual(["git:c0ffee", "remote:github.com/acme/service", "path:/a/api"]);
    expect(identityCandidates({ ...facts, rootCommit: undefined, remote: undefined, machine: "laptop" })).toEqual(["path:laptop:/a/api"]);
  });
  test("is named after its remote, else after its directory", () => {
    expect(projectName(facts)).toBe("service");
    expect(projectName({ ...facts, remote: "/srv/git/x.git" })).toBe("api");
    expect(projectName({ ...facts, remote: undefined, top: "/" })).toBe("");
  });
  test("gets a number where its name is taken by another repository", () => {
    const taken = new Set(["api", "api-2"]);
    expect(freeName("api", (name) => taken.has(name))).toBe("api-3");
    expect(freeName("web", (name) => taken.has(name))).toBe("web");
  });
});

describe("a client's root", () => {
  for (const [uri, wanted] of [
    ["file:///x/%5Bid%5D", "/x/[id]"],
    ["file:///home/ana/caf%C3%A9/", "/home/ana/café"],
    ["file:///home/ana/%E9%A1%B9%E7%9B%AE", "/home/ana/项目"],
    ["file:///C:/Users/Jane%20Doe/api", "C:/Users/Jane Doe/api"],
    ["file:///x/100%25%zz", "/x/100%%zz"],
    ["/plain/path", "/plain/path"],
    ["file:///", undefined],
    ["", undefined],
    [".", undefined],
    ["file:///home/ana", undefined],
    ["https://example.org/x", undefined],
  ] as const)
    test(`${uri} is ${wanted}`, () => expect(rootDirectory(uri, "/home/ana")).toBe(wanted));

  test("with a broken escape keeps it as it is", () => expect(percentDecode("%C3%28 %")).toBe("%C3%28 %"));
});

test("names that differ in case, separators and what cannot be seen alone have one key", () => {
  expect(projectNameKey("My-App_v2 x")).toBe("myappv2x");
  expect(projectNameKey("my\u200bapp\u00adv2\u2060x")).toBe("myappv2x");
  expect(projectNameKey("mýapp")).toBe("mýapp");
});
