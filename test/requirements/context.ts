/** The given/when/then lines of `spec/tools-cognition.md` §1.3 (whose project and session a call has) with the tests that show them; `test/repository/requirements.test.ts` checks. */
import type { Requirement } from "./requirement.ts";

export const contextRequirements: readonly Requirement[] = [
  {
    id: "context.kill-switch",
    at: "§1.3",
    says: "with the switch off no handler has a project",
    by: [["services/identity/identity.test.ts", "the kill switch takes the project away from everything"]],
  },
  {
    id: "context.repositories",
    at: "§1.3",
    says: "two repositories of one name are two projects; a worktree and a sub-directory are one; a directory that becomes a repository stays what it was",
    by: [
      [
        "services/identity/identity.test.ts",
        "two repositories of one directory name are two projects; worktree, clone and sub-directory are the first",
      ],
      [
        "services/identity/identity.test.ts",
        "a directory without git is known by its path, and stays the same project when it becomes a repository",
      ],
    ],
  },
  {
    id: "context.windows",
    at: "§1.3",
    says: "sessions of two windows of one label do not mix, also after the daemon was killed; one's start is not the other's current",
    by: [["services/identity/identity.test.ts", "two windows of one label keep their sessions apart, also after the process was killed"]],
  },
  {
    id: "context.order",
    at: "§1.3",
    says: "a session with a project goes before the directory, one without does not",
    by: [
      [
        "services/identity/identity.test.ts",
        "a name given to the connection goes before its directory, a client's root before the directory, a session before all",
      ],
    ],
  },
  {
    id: "context.chosen",
    at: "§1.3",
    says: "the project that a client switched to, and the root it posted over HTTP, are the same after its daemon was killed, stopped or replaced, in the same order; a client that leaves keeps nothing",
    by: [
      [
        "services/identity/client-projects.test.ts",
        "survives the daemon: two windows of one label, a client over HTTP, and each of its chats",
      ],
      ["services/identity/client-projects.test.ts", "stands in the same order as before: session, switch, then the connection's own"],
      [
        "services/identity/client-projects.test.ts",
        "a root that came over HTTP is kept, below a switch; a bridge is asked for its own again",
      ],
      ["services/identity/client-projects.test.ts", "goes with a client that leaves, and stays for one that is cut off"],
      [
        "system/processes/chosen-project.test.ts",
        "is the same for every window after its daemon was killed or stopped, and a window that closes leaves nothing",
      ],
      ["system/processes/chosen-project.test.ts", "is the same over HTTP, a root that was posted too"],
    ],
  },
  {
    id: "context.alone",
    at: "§1.2",
    says: "without a daemon each process is a client of its own, with its own session, project and notes; a label makes it the same client again",
    by: [
      [
        "system/processes/chosen-project.test.ts",
        "is no other window's where each process has everything in it, unless both say one label",
      ],
    ],
  },
  {
    id: "context.idle",
    at: "§1.2",
    says: "a client unseen for a day is forgotten, an open window is not, and inventing names bounds what is kept",
    by: [
      ["services/identity/client-projects.test.ts", "is forgotten after a day without a sight of the client, and not before"],
      ["services/identity/client-projects.test.ts", "the sweep keeps what is in use and what is open, and drops the rest"],
      [
        "services/identity/client-projects.test.ts",
        "what a caller with invented names leaves is bounded, and a window it pushes out of memory works on where it did",
      ],
    ],
  },
  {
    id: "context.blank-label",
    at: "§1.3",
    says: "a blank header is none, and a client's name is shown but declares nothing",
    by: [
      ["transports/http.test.ts", "the label comes from %s"],
      ["transports/http.test.ts", "clientInfo.name is shown, but is no identity"],
    ],
  },
  {
    id: "context.batch-label",
    at: "§1.3",
    says: "the first name of a batch is the label",
    by: [["transports/http.test.ts", "the label comes from %s"]],
  },
  {
    id: "context.forget",
    at: "§1.3",
    says: "forgetting a client takes its chats along and nobody whose name begins alike",
    by: [["services/identity/identity.test.ts", "forgetting a client forgets its chats and nobody whose name merely starts alike"]],
  },
  {
    id: "context.outside",
    at: "§1.3",
    says: "who declares nothing inherits nobody's session",
    by: [["services/identity/identity.test.ts", "a client over HTTP that declares nothing has no state, and inherits nobody's"]],
  },
];
