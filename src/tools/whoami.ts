import { z } from "zod";
import { action, defineTool } from "./define.ts";

export default defineTool({
  name: "cuba_whoami",
  group: "coordination",
  profile: "lean",
  title: "Who am I here",
  describe: "Who you are to this server: client label, session, project, scope, what is available.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  only: action({
    lenient: true,
    input: z.object({}),
    run: async (ctx, _args, { status }) => {
      const me = await status.whoami(ctx);
      return {
        server: "MemoryIndustry",
        version: me.version,
        client_id: me.clientLabel,
        mcp_session: me.protocolSession,
        session_id: me.sessionId,
        rls_enforced: me.rlsEnforced,
        // A peer token cannot call this tool, so whoever reads this has the full scope.
        scope: "full",
        node_id: me.nodeId,
        project_id: me.project?.id ?? null,
        project_name: me.project?.name ?? null,
        llm: {
          configured: me.llm.configured,
          provider: me.llm.provider,
          judge_available: me.llm.judgeAvailable,
          hint: me.llm.hint,
        },
        graph_db: {
          backend: "off",
          graph_name: "memory_industry",
          url_configured: false,
          reachable: null,
          projected_ops: 0,
          last_error: null,
          note: "relations live in the database itself",
        },
        resources: {
          tier: me.resources.tier,
          describe: me.resources.describe,
          ram_available_mb: me.resources.availableMemoryMb,
          vram_free_mb: me.resources.freeCardMemoryMb,
        },
        ...(me.endpoints === undefined
          ? {}
          : {
              mcp_endpoint: me.endpoints.mcp,
              connect_page: me.endpoints.connect,
              events: me.endpoints.events,
              events_ticket: me.endpoints.ticket,
            }),
      };
    },
  }),
});
