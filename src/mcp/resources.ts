/** `resources/list` and `resources/read`: addresses in, JSON or Markdown out. Three of them are what a tool answers; the dispatcher answers those. */
import type { CallContext } from "../kernel/context.ts";
import { MemoryError, present, protocolFault, rpcCode, shown, unavailable } from "../kernel/errors.ts";
import { isUuid } from "../kernel/ids.ts";
import type { Offer, Resources } from "../services/resources.ts";
import { fitRows, fitText, tokensLeft } from "../tools/fit.ts";
import { round } from "../tools/numbers.ts";
import type { Dispatcher, Opening } from "./dispatch.ts";

const JSON_TYPE = "application/json";
const MARKDOWN = "text/markdown";

/** Resources that a tool answers. */
const tools = {
  context: {
    tool: "cuba_contexto",
    args: {},
    description: "What to know first: notes, messages, shared artifacts, the memories that matter",
  },
  status: { tool: "cuba_whoami", args: {}, description: "Who you are to this server, and what is available" },
  artifacts: { tool: "cuba_artefacto", args: { action: "list", limit: 50 }, description: "Texts that agents share" },
} as const;

interface Item {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
}

interface Contents {
  readonly contents: readonly { readonly uri: string; readonly mimeType: string; readonly text: string }[];
}

export interface ResourceMethods {
  /** Answers also without a database: then the fixed ones, and what is missing under `_meta`. */
  list(opening: Opening): Promise<unknown>;
  /** @throws MemoryError `protocol` with −32002 for an address that leads nowhere. */
  read(opening: Opening, uri: string): Promise<Contents>;
}

const nowhere = (message: string) => protocolFault(rpcCode.resource, message);

/** Kind and key of an address; both schemes serve every kind. Keys are percent-encoded: names hold blanks and slashes. */
function readAddress(uri: string): { readonly kind: string; readonly key: string } {
  const parts = /^(?:memory|cuba):\/\/([a-z]+)(?:\/(.+))?$/.exec(uri);
  if (parts === null)
    throw nowhere(
      `'${shown(uri)}' is no address of a resource. They look like memory://context or cuba://entity/NAME; resources/list names them.`,
    );
  try {
    return { kind: parts[1] ?? "", key: decodeURIComponent(parts[2] ?? "") };
  } catch {
    throw nowhere(`'${shown(uri)}' is not percent-encoded UTF-8: a % stands for itself as %25.`);
  }
}

const asText = (uri: string, mimeType: string, text: string): Contents => ({ contents: [{ uri, mimeType, text }] });

function itemsOf({ entities, projects, snapshots }: Offer): Item[] {
  return [
    ...entities.map(({ name, entityType, importance, accessCount }) => ({
      uri: `cuba://entity/${encodeURIComponent(name)}`,
      name,
      description: `${entityType}, importance ${importance.toFixed(2)}, read ${accessCount} times`,
      mimeType: JSON_TYPE,
    })),
    ...projects.map(({ name, lastActiveAt }) => ({
      uri: `cuba://project/${encodeURIComponent(name)}`,
      name,
      description: `Project, last active ${lastActiveAt}`,
      mimeType: JSON_TYPE,
    })),
    ...snapshots.map(({ id, createdAt, observations }) => ({
      uri: `cuba://snapshot/${id}`,
      name: `Snapshot of ${createdAt}`,
      description: `What a session knew before its context was compacted: ${observations} observations`,
      mimeType: MARKDOWN,
    })),
  ];
}

const fixed: readonly Item[] = Object.entries(tools).map(([kind, { description }]) => ({
  uri: `memory://${kind}`,
  name: kind,
  description,
  mimeType: JSON_TYPE,
}));

export function createResourceMethods(dispatcher: Dispatcher, resources: Resources): ResourceMethods {
  const entity = async (ctx: CallContext, key: string) => {
    const { name, entityType, importance, accessCount, observations, total } = await resources.entity(ctx, key);
    const head = { name, entity_type: entityType, importance: round(importance), access_count: accessCount };
    const rows = observations.map((row) => ({ id: row.id, content: row.content, type: row.type, importance: round(row.importance) }));
    const page = await fitRows({ rows, total, offset: 0, budget: await tokensLeft(head), long: "content" });
    const next = page.next === null ? {} : { next: { tool: "cuba_alma", action: "get", ...page.next } };
    return { ...head, observations: page.rows, ...(page.truncated ? { truncated: true, total, ...next } : {}) };
  };

  const readKind = async (ctx: CallContext, uri: string, kind: string, key: string): Promise<Contents> => {
    switch (kind) {
      case "entity":
        return asText(uri, JSON_TYPE, JSON.stringify(await entity(ctx, key)));
      case "project": {
        const { id, name, entities, observations, episodes, relations } = await resources.project(ctx, key);
        return asText(uri, JSON_TYPE, JSON.stringify({ name, id, entities, observations, episodes, relations }));
      }
      default: {
        const whole = await resources.snapshot(ctx, key.toLowerCase());
        const { text } = await fitText("text", whole);
        const cut = text === whole ? "" : `\n\n[cut: cuba_pre_compact action=restore snapshot_id=${key.toLowerCase()} reads on]`;
        return asText(uri, MARKDOWN, `${String(text)}${cut}`);
      }
    }
  };

  return {
    async list(opening) {
      // Without knowing the project nothing but the fixed ones may be shown.
      const ctx = await opening.open(false).catch((cause: unknown) => {
        opening.log.warn("resources are listed without the database", { cause: present(cause).text });
        return undefined;
      });
      const offer = ctx === undefined ? undefined : await resources.offer(ctx);
      const rows = offer === undefined ? [] : itemsOf(offer).map((item) => ({ ...item }));
      const page = await fitRows({ rows, total: rows.length, offset: 0, budget: await tokensLeft({ fixed }) });
      const incomplete = offer?.incomplete ?? ["entities", "projects", "snapshots"];
      const meta = {
        ...(incomplete.length === 0 ? {} : { degraded: true, incomplete }),
        ...(page.truncated ? { truncated: true, total: fixed.length + page.total } : {}),
      };
      return { resources: [...fixed, ...page.rows], ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) };
    },

    async read(opening, uri) {
      const { kind, key } = readAddress(uri);
      const tool = key === "" ? Object.entries(tools).find(([name]) => name === kind)?.[1] : undefined;
      if (tool !== undefined) {
        const outcome = await dispatcher.call(opening, tool.tool, tool.args);
        if (!outcome.ok) throw unavailable(outcome.text);
        return asText(uri, JSON_TYPE, outcome.text);
      }
      if (key === "" || !["entity", "project", "snapshot"].includes(kind))
        throw nowhere(
          `There is no resource '${shown(uri)}'. Kinds are context, status, artifacts, entity/NAME, project/NAME and snapshot/ID.`,
        );
      if (kind === "snapshot" && !isUuid(key)) throw nowhere(`'${shown(key)}' is no id of a snapshot: a UUID is wanted.`);
      try {
        return await readKind(await opening.open(false), uri, kind, key);
      } catch (error) {
        if (error instanceof MemoryError && ["not_found", "ambiguous", "invalid"].includes(error.code))
          throw nowhere(error.message.replace(/ Nothing was written\./g, ""));
        throw error;
      }
    },
  };
}
