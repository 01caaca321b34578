/** The given/when/then lines of `spec/tools-maintenance.md` §2 to §4, the catalogue of tools and calls through it, with the tests that show them; `test/repository/requirements.test.ts` checks. */
import type { Requirement } from "./requirement.ts";

export const catalogueRequirements: readonly Requirement[] = [
  {
    id: "catalogue.profiles",
    at: "§2.4",
    says: "full, lean, a typo and the narrow profiles list what they should",
    by: [
      ["tools/registry.test.ts", "each profile lists what the specification names"],
      ["tools/registry.test.ts", "ends with the meta tools in full and lean, and has none of them in the profiles between"],
    ],
  },
  {
    id: "catalogue.cost",
    at: "§2.2",
    says: "full at most 34,000 bytes, lean at most 17,000 and 51 % of full, with the same words",
    by: [
      ["tools/registry.test.ts", "costs at most what was agreed, and lean at most 51 % of full"],
      ["tools/registry.test.ts", "lean says of each tool what full says, but for titles and for lengths that a refusal names"],
    ],
  },
  {
    id: "catalogue.peer",
    at: "§2.4",
    says: "a peer token reaches nothing through cuba_call",
    by: [["mcp/server.test.ts", "refuses a peer token every tool, also inside cuba_call"]],
  },
  {
    id: "catalogue.peer-sync",
    at: "§2.4",
    says: "cuba_sync status works with a peer token",
    by: [],
    gap: "cuba_sync is not there yet",
  },
  {
    id: "catalogue.redacted-failure",
    at: "§2.4",
    says: "a stored failure holds no token",
    by: [["services/telemetry.test.ts", "is written down with the tool, the client and the reason, and a token in it is masked"]],
  },
  {
    id: "catalogue.failure-cap",
    at: "§2.4",
    says: "of 1005 failures the newest 1000 remain",
    by: [["store/deletion.test.ts", "keep the newest 1000 failures and 500 cycles"]],
  },
  {
    id: "catalogue.schemas",
    at: "§2.4",
    says: "each schema is an object; what deletes declares confirm",
    by: [
      ["tools/define.test.ts", "publishes one flat object with a selector, what every action needs, and no dialect that clients refuse"],
      ["services/forgetting.test.ts", "needs a name, and opens on the boolean alone"],
      ["services/maintenance/maintenance.test.ts", "refuses credentials and numbers without meaning before the database is asked"],
    ],
  },
  {
    id: "tools.discover",
    at: "§3",
    says: "tools are found and listed without a database",
    by: [["mcp/server.test.ts", "lists tools and finds them without a database"]],
  },
  {
    id: "call.equals-direct",
    at: "§4",
    says: "cuba_call answers as the tool itself",
    by: [["mcp/server.test.ts", "cuba_call answers exactly as the tool itself and is counted once, under the inner name"]],
  },
  {
    id: "call.refuses",
    at: "§4",
    says: "meta tools and unknown names are refused",
    by: [["mcp/server.test.ts", "cuba_call refuses the meta tools and unknown names"]],
  },
];
