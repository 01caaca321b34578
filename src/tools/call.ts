import { z } from "zod";
import { defineTool, forwarding } from "./define.ts";
import { filledText, object } from "./fields.ts";

export default defineTool({
  name: "cuba_call",
  group: "meta",
  profile: "meta",
  title: "Call any tool",
  describe: "Calls a tool by name, also one that is not listed here; the answer is that tool's own. cuba_tools shows what there is.",
  hints: { readOnly: false, destructive: true, openWorld: true },
  only: forwarding({
    input: z.object({
      tool: filledText(64, "tool name, e.g. cuba_faro"),
      args: object("that tool's own arguments").optional(),
    }),
    to: ({ tool, args }) => ({ name: tool, args: args ?? {} }),
  }),
});
