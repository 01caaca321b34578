/** What is read out of each language, with the real parsers. */
import { beforeAll, expect, test } from "bun:test";
import { openAssets } from "../../src/app/assets.ts";
import { type SourceKind, sourceKind } from "../../src/domain/code/languages.ts";
import { treeOf } from "../../src/domain/code/tree.ts";
import { createSourceParser } from "../../src/parsing/parser.ts";
import type { SourceParser } from "../../src/parsing/port.ts";

let parser: SourceParser;
beforeAll(async () => {
  parser = await createSourceParser(openAssets(undefined).grammars);
});

const kindOf = (path: string): SourceKind => sourceKind(path) ?? { language: "python", grammar: "python" };

/** The graph of some files, edges as `from > to`. */
async function read(sources: Readonly<Record<string, string>>) {
  const files = [];
  for (const [path, source] of Object.entries(sources))
    files.push({ path, language: kindOf(path).language, ...(await parser.parse(source, kindOf(path))) });
  const tree = treeOf(files, () => true);
  const arrow = ({ from, to }: { from: string; to: string }) => `${from} > ${to}`;
  return {
    symbols: tree.symbols.map(({ kind, name }) => `${kind} ${name}`),
    calls: tree.calls.map(arrow),
    imports: tree.imports.map(({ external, ...edge }) => `${arrow(edge)}${external ? "" : " (here)"}`),
    tree,
  };
}

test("Rust: functions with the type of their impl, structs, calls by their last name, uses without aliases and lists", async () => {
  const { symbols, calls, imports } = await read({
    "src/lib.rs": `use std::collections::{HashMap, HashSet as Set};
use crate::other::thing as renamed;
use serde::*;
struct Store<T> { inner: T }
impl<T> Store<T> {
    pub fn open(&self) { helper(); self.close(); crate::a::parse::<u8>(); }
    fn close(&self) {}
}
impl fmt::Display for Store<u8> { fn fmt(&self) {} }
fn helper() { fn nested() { parse() } println!("x"); }
fn parse() {}
enum Ignored { A }
`,
  });
  expect(symbols).toEqual([
    "struct src/lib.rs::Store",
    "function src/lib.rs::Store::open",
    "function src/lib.rs::Store::close",
    "function src/lib.rs::Store::fmt",
    "function src/lib.rs::helper",
    "function src/lib.rs::nested",
    "function src/lib.rs::parse",
  ]);
  expect(calls).toEqual([
    "src/lib.rs::Store::open > src/lib.rs::helper",
    "src/lib.rs::Store::open > src/lib.rs::Store::close",
    "src/lib.rs::Store::open > src/lib.rs::parse",
    "src/lib.rs::nested > src/lib.rs::parse",
  ]);
  expect(imports).toEqual([
    "src/lib.rs::<module> > std::collections",
    "src/lib.rs::<module> > crate::other::thing",
    "src/lib.rs::<module> > serde",
  ]);
});

test("Python: functions with their class, classes, calls of names and attributes, imports by module", async () => {
  const { symbols, calls, imports } = await read({
    "app/main.py": `import os.path as p, json
from .models import User as U
class Service(Base):
    @cached
    def run(self):
        self.load()
        def inner():
            finish()
    def load(self): pass
async def finish(): Service()
`,
  });
  expect(symbols).toEqual([
    "class app/main.py::Service",
    "function app/main.py::Service::run",
    "function app/main.py::inner",
    "function app/main.py::Service::load",
    "function app/main.py::finish",
  ]);
  expect(calls).toEqual([
    "app/main.py::Service::run > app/main.py::Service::load",
    "app/main.py::inner > app/main.py::finish",
    "app/main.py::finish > app/main.py::Service",
  ]);
  expect(imports).toEqual(["app/main.py::<module> > os.path", "app/main.py::<module> > json", "app/main.py::<module> > .models"]);
});

test("TypeScript and JavaScript: functions in every form, classes, types; a relative import is a file of the tree", async () => {
  const { symbols, calls, imports } = await read({
    "src/app.tsx": `import { renew } from "./auth/session.js";
import type { X } from "react";
export * from "./lost";
export const App = () => <Page onClick={() => renew()} />;
function Page() { return null; }
`,
    "src/auth/session.ts": `export interface Options { a: 1 }
type Id = string;
enum Kind { A }
export abstract class Session { private keep = async () => this.end(); end(): void { new Session(); Math.floor(1); } }
export async function renew() { const local = () => 1; await import("../auth"); return local(); }
`,
    "src/auth/index.js": `const fs = require("node:fs");
export default function* walk() {}
const table = { method() { walk(); } };
`,
    "src/floor.ts": "export const floor = (x: number) => x;",
  });
  expect(symbols).toEqual([
    "function src/app.tsx::App",
    "function src/app.tsx::Page",
    "interface src/auth/session.ts::Options",
    "type src/auth/session.ts::Id",
    "enum src/auth/session.ts::Kind",
    "class src/auth/session.ts::Session",
    "function src/auth/session.ts::Session::keep",
    "function src/auth/session.ts::Session::end",
    "function src/auth/session.ts::renew",
    "function src/auth/index.js::walk",
    "function src/floor.ts::floor",
  ]);
  expect(calls).toEqual([
    "src/app.tsx::App > src/app.tsx::Page",
    "src/app.tsx::App > src/auth/session.ts::renew",
    "src/auth/session.ts::Session::keep > src/auth/session.ts::Session::end",
    "src/auth/session.ts::Session::end > src/auth/session.ts::Session",
  ]);
  expect(imports).toEqual([
    "src/app.tsx::<module> > src/auth/session.ts::<module> (here)",
    "src/app.tsx::<module> > react",
    "src/app.tsx::<module> > src/lost",
    "src/auth/session.ts::<module> > src/auth/index.js::<module> (here)",
    "src/auth/index.js::<module> > node:fs",
  ]);
});

test("TypeScript: a method that arrays, strings and maps have is theirs, but for one of the class itself", async () => {
  const { calls } = await read({
    "src/words.ts": "export function join(a: string[]) { return a.join(' '); }\nexport function pick() { return join([]); }",
    "src/store.ts": "class Store { get() { return [1].join(); } load(m: Map<string, number>) { this.get(); return m.get('x'); } }",
    "src/list.ts": "export const list = (m: { get(): void }) => m.get();",
  });
  expect(calls).toEqual(["src/words.ts::pick > src/words.ts::join", "src/store.ts::Store::load > src/store.ts::Store::get"]);
});

test("Go: functions, methods with the type they are for, types, imports by path", async () => {
  const { symbols, calls, imports } = await read({
    "main.go": `package main
import (
  f "fmt"
  "os"
)
type Server struct{}
type Handler interface{}
func (s *Server) Run(a int) { f.Println(); s.stop(); start() }
func (s Server) stop() {}
func start[T any]() {}
`,
  });
  expect(symbols).toEqual([
    "struct main.go::Server",
    "interface main.go::Handler",
    "function main.go::Server::Run",
    "function main.go::Server::stop",
    "function main.go::start",
  ]);
  expect(calls).toEqual(["main.go::Server::Run > main.go::Server::stop", "main.go::Server::Run > main.go::start"]);
  expect(imports).toEqual(["main.go::<module> > fmt", "main.go::<module> > os"]);
});

test("an ambiguous name is dropped, not guessed, and nobody calls himself", async () => {
  const { calls } = await read({
    "a.py": "def run(): go(); run(); only()\ndef go(): pass\n",
    "b.py": "def go(): pass\ndef only(): pass\n",
  });
  expect(calls).toEqual(["a.py::run > b.py::only"]);
});

test("a file with errors gives what is readable, and a deep one overflows nothing", async () => {
  const { symbols } = await read({
    "broken.ts": "export function fine() { return 1 }\nclass {{{ ???\nfunction alsoFine() {}",
    "deep.js": `function f() { return ${"1+".repeat(20_000)}1 }`,
  });
  expect(symbols).toContain("function broken.ts::fine");
  expect(symbols).toContain("function deep.js::f");
});

test("a signature is one line and holds no credential", async () => {
  const { tree } = await read({ "a.py": 'def f(a, token="ghp_abcdefghijklmnop1234"):\n    """doc"""\n    pass\n' });
  expect(tree.symbols[0]).toMatchObject({ firstLine: 1, lastLine: 3 });
  expect(tree.symbols[0]?.signature).toStartWith("def f(a, token=***");
  expect(tree.symbols[0]?.signature).not.toContain("ghp_");
});
