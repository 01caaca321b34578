import { z } from "zod";
import { action, defineTool } from "./define.ts";
import { choice, text } from "./fields.ts";
import { publicForm } from "./profiles.ts";

const QUERY_CHARS = 500;
const details = ["names", "summary", "full"] as const;

/** Words of a query that a tool must have, in its name or its description. */
const wordsOf = (query: string) =>
  query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");

export default defineTool({
  name: "cuba_tools",
  group: "meta",
  profile: "meta",
  title: "Find tools",
  describe: "Lists the tools of this server, also those not shown here, and their schemas. Call one with cuba_call.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  only: action({
    lenient: true,
    input: z.object({
      query: text(0, QUERY_CHARS, "words to look for in names and descriptions; empty lists all").optional(),
      detail: choice(details, "names only | name and description (default) | whole definition with inputSchema").optional(),
    }),
    run: async (_ctx, { query, detail = "summary" }, { catalogue }) => {
      const wanted = wordsOf(query ?? "");
      const all = catalogue();
      const found = all
        .filter((tool) => tool.profile !== "meta")
        .map((tool) => ({ tool, name: tool.name.toLowerCase(), describe: tool.describe.toLowerCase() }))
        .filter(({ name, describe }) => wanted.every((word) => name.includes(word) || describe.includes(word)))
        .map((entry) => ({ ...entry, inName: wanted.filter((word) => entry.name.includes(word)).length }))
        .sort((a, b) => b.inName - a.inName)
        .map(({ tool }) => tool);
      const shown = {
        names: () => found.map((tool) => tool.name),
        summary: () => found.map((tool) => ({ name: tool.name, description: tool.describe })),
        full: () => found.map(publicForm),
      };
      return {
        count: found.length,
        total_tools: all.length,
        detail,
        tools: shown[detail](),
        hint: 'call one with cuba_call {"tool":…,"args":{…}}; ask detail=full first for the exact arguments',
      };
    },
  }),
});
