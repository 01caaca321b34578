/** Documentation of libraries: which names are known, where their pages are, and the part of a page that answers (`tools-maintenance.md` §11). */
import { invalid, shown } from "../kernel/errors.ts";
import { charCount, firstChars } from "../kernel/text.ts";

const sites = {
  fastapi: "https://fastapi.tiangolo.com/",
  pydantic: "https://docs.pydantic.dev/latest/",
  sqlalchemy: "https://docs.sqlalchemy.org/en/20/",
  httpx: "https://www.python-httpx.org/",
  pytest: "https://docs.pytest.org/en/stable/",
  structlog: "https://www.structlog.org/en/stable/",
  granian: "https://github.com/emmett-framework/granian",
  react: "https://react.dev/reference/react",
  next: "https://nextjs.org/docs",
  zod: "https://zod.dev/",
  zustand: "https://zustand.docs.pmnd.rs/getting-started/introduction",
  tailwindcss: "https://tailwindcss.com/docs",
  vitest: "https://vitest.dev/guide/",
  postgresql: "https://www.postgresql.org/docs/current/index.html",
  pgvector: "https://github.com/pgvector/pgvector",
  docker: "https://docs.docker.com/reference/",
  bun: "https://bun.sh/docs",
  typescript: "https://www.typescriptlang.org/docs/",
  node: "https://nodejs.org/docs/latest/api/",
  deno: "https://docs.deno.com/runtime/",
  hono: "https://hono.dev/docs/",
  drizzle: "https://orm.drizzle.team/docs/overview",
  kysely: "https://kysely.dev/docs/intro",
  prisma: "https://www.prisma.io/docs",
  vite: "https://vite.dev/guide/",
} as const;

/** Other names for the same thing. */
const aliases: Readonly<Record<string, keyof typeof sites>> = {
  nextjs: "next",
  "next.js": "next",
  tailwind: "tailwindcss",
  postgres: "postgresql",
  nodejs: "node",
  "node.js": "node",
};

/** Letters, digits and three other characters: no address, no path and no phrase can be written with them. */
const NAME = /^[a-z0-9_.-]+$/;

export interface Library {
  readonly name: string;
  readonly url: string;
}

/** @throws MemoryError `invalid` for what is no name, and for a name that is not known: guessing a language would answer about something else. */
export function findLibrary(raw: string): Library {
  const name = raw.trim().toLowerCase();
  if (!NAME.test(name))
    throw invalid(
      `library must be the name of a package (letters, digits, '-', '_', '.'), no address, path or phrase; got '${shown(raw)}'. Nothing was fetched.`,
      { field: "library" },
    );
  const known = Object.hasOwn(aliases, name) ? aliases[name] : Object.keys(sites).find((each): each is keyof typeof sites => each === name);
  if (known === undefined)
    throw invalid(`Unknown library '${shown(name)}'. Known ones are ${Object.keys(sites).join(", ")}. Nothing was fetched.`, {
      field: "library",
    });
  return { name, url: sites[known] };
}

/** Longest documentation of one answer, code points. */
const DOCUMENTATION_CHARS = 8_000;

/** A text cut to what an answer shows, with a mark where it was cut. */
function cut(text: string): string {
  const chars = charCount(text);
  return chars <= DOCUMENTATION_CHARS ? text : `${firstChars(text, DOCUMENTATION_CHARS)}\n\n[… cut: ${chars} characters in all]`;
}

/**
 * The part of a page that mentions the query, each paragraph with its neighbours, in order and once; the beginning of the page without a query.
 * @returns undefined where the page never mentions it: the page does not answer the question then.
 */
export function excerpt(text: string, query: string | undefined): string | undefined {
  if (query === undefined) return cut(text.trim());
  const wanted = query.toLowerCase();
  const paragraphs = text.split(/\n[ \t]*\n\s*/).filter((paragraph) => paragraph.trim() !== "");
  const kept = new Set<number>();
  // A line may be broken where the query has a blank.
  for (const [at, paragraph] of paragraphs.entries())
    if (paragraph.toLowerCase().replace(/\s+/gu, " ").includes(wanted)) for (const near of [at - 1, at, at + 1]) kept.add(near);
  if (kept.size === 0) return undefined;
  return cut(paragraphs.filter((_, at) => kept.has(at)).join("\n\n"));
}
