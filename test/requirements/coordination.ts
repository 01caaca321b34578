/** The given/when/then lines of `spec/tools-maintenance.md` §10 to §18 with the tests that show them, or with what is not covered; `test/repository/requirements.test.ts` checks. */
import type { Requirement } from "./requirement.ts";

export const coordinationRequirements: readonly Requirement[] = [
  {
    id: "pizarra.own",
    at: "§10",
    says: "nobody else's notes are seen or cleared",
    by: [["tools/working-memory.test.ts", "a note is its session's own: no other session, no client without one reads or clears it"]],
  },
  {
    id: "pizarra.expiry",
    at: "§10",
    says: "what expired is gone",
    by: [["tools/working-memory.test.ts", "what has expired is not there, is not counted as cleared, and goes with the next write"]],
  },
  {
    id: "pizarra.tag",
    at: "§10",
    says: "a tag clears itself alone",
    by: [["tools/working-memory.test.ts", "clearing a tag leaves the others"]],
  },
  {
    id: "pizarra.refused",
    at: "§10",
    says: "ttl 0 and tokens are refused",
    by: [["tools/working-memory.test.ts", "refuses credentials, empty and oversized notes, and times outside a second and a month"]],
  },
  {
    id: "docs.off",
    at: "§11",
    says: "off there is no such tool",
    by: [["tools/library-docs.test.ts", "off there is no such tool, on it is listed in full before the meta tools"]],
  },
  {
    id: "docs.names",
    at: "§11",
    says: "an address, a path, a command and nothing are no names of a library",
    by: [["tools/library-docs.test.ts", "%p is no name of a library, and nothing is fetched"]],
  },
  {
    id: "docs.cache",
    at: "§11",
    says: "a second call within 300 s fetches nothing",
    by: [["tools/library-docs.test.ts", "the same page is fetched once in five minutes"]],
  },
  {
    id: "artefacto.versions",
    at: "§13",
    says: "1, 2, then a conflict that names 2",
    by: [
      ["tools/artifacts.test.ts", "creates at version 1, goes on with the version that was edited, and gives the content back"],
      ["tools/artifacts.test.ts", "a version that is not the current one is a conflict that names it, and changes nothing"],
    ],
  },
  {
    id: "artefacto.lease",
    at: "§13",
    says: "A's lock keeps B out until it runs out",
    by: [["tools/artifacts.test.ts", "a lease keeps others from writing until it runs out; its holder writes, renews and releases it"]],
  },
  {
    id: "artefacto.patch",
    at: "§13",
    says: "two places are refused, one is replaced",
    by: [["tools/artifacts.test.ts", "patch replaces the one place where the text stands, and refuses none or several"]],
  },
  {
    id: "artefacto.size",
    at: "§13",
    says: "2 MiB and a byte is refused",
    by: [["tools/artifacts.test.ts", "refuses bad paths, contents above 2 MiB, credentials, and an empty text to find"]],
  },
  {
    id: "contexto.order",
    at: "§14",
    says: "the session's writes come first, fifteen in all",
    by: [
      [
        "tools/context.test.ts",
        "the session's own writes come first, then entities that its notes mention, then what is most important; fifteen in all",
      ],
    ],
  },
  {
    id: "contexto.budget",
    at: "§14",
    says: "the budget holds in bytes",
    by: [["tools/context.test.ts", "keeps its budget in bytes, whole entries only, the least worth going first, and counts what went"]],
  },
  {
    id: "graph.pagerank",
    at: "§15.1",
    says: "chain, hub and cycle; sums to 1",
    by: [
      ["domain/graph/centrality.test.ts", "PageRank of a chain, a hub and a cycle is what the paper's formula gives"],
      [
        "domain/graph/centrality.test.ts",
        "PageRank sums to 1 over the nodes that an edge touches, and agrees with the personalised one without seeds",
      ],
      ["domain/graph/links.test.ts", "personalised stays near its seeds"],
    ],
  },
  {
    id: "graph.leiden",
    at: "§15.3",
    says: "two triangles; every community connected; two pairs are split",
    by: [
      ["domain/graph/communities.test.ts", "two triangles with a thin bridge are two communities; a lone node stays alone"],
      [
        "domain/graph/communities.test.ts",
        "every community is connected, every node is in one, and the modularity is that of the definition",
      ],
      ["domain/graph/communities.test.ts", "two pairs that were given one label are taken apart"],
    ],
  },
  {
    id: "graph.betweenness",
    at: "§15.4",
    says: "0 to 1, sampled above 2000 nodes",
    by: [
      [
        "domain/graph/centrality.test.ts",
        "betweenness is 1 in the middle of a path of three and of a star, 0 at the ends, and the same with doubled edges",
      ],
      ["domain/graph/centrality.test.ts", "betweenness is estimated above 2,000 nodes, says so, and is the same each time"],
    ],
  },
  {
    id: "graph.closeness",
    at: "§15.5",
    says: "star, two pairs, isolated",
    by: [["domain/graph/centrality.test.ts", "closeness and harmonic of a star, of two pairs, and of what stands alone"]],
  },
  {
    id: "graph.cores",
    at: "§15.6",
    says: "triangle, star, empty",
    by: [["domain/graph/centrality.test.ts", "cores: a triangle has 2, a star 1, and peeling one node after the other agrees"]],
  },
  {
    id: "graph.npmi",
    at: "§15.7",
    says: "the golden values",
    by: [["domain/graph/cooccurrence.test.ts", "how often two entities meet, against chance"]],
  },
  {
    id: "strength.access",
    at: "§16",
    says: "Hebbian boost and sliding threshold",
    by: [
      ["domain/strength/reinforcement.test.ts", "the threshold slides towards the number of accesses and never falls below 10"],
      ["domain/strength/reinforcement.test.ts", "a neighbour gains 0.005 times the strongest edge, a survivor of a merge 0.05"],
    ],
  },
  {
    id: "mcp.versions",
    at: "§17",
    says: "negotiation",
    by: [["mcp/server.test.ts", "answers protocol version "]],
  },
  {
    id: "mcp.cancel",
    at: "§17",
    says: "a cancelled call has no answer and leaves no entry",
    by: [["mcp/server.test.ts", "gives no answer to a cancelled call, and tells string and number ids apart"]],
  },
  {
    id: "mcp.order",
    at: "§17",
    says: "answers come as calls end",
    by: [["transports/stdio.test.ts", "a call that waits holds up no other, and answers come in order of completion"]],
  },
  {
    id: "mcp.parse-error",
    at: "§17",
    says: "a parse error between two good lines loses neither",
    by: [["transports/stdio.test.ts", "a parse error between two good lines loses neither"]],
  },
  {
    id: "mcp.batch",
    at: "§17",
    says: "257 messages are refused and none runs; notifications alone get 202",
    by: [
      ["transports/http.test.ts", "256 messages are served, 257 get 413 and not one of them ran"],
      ["transports/http.test.ts", "notifications and answers alone get 202 and not one byte"],
      ["transports/http.test.ts", "initialize is plain JSON, also for a client that announces roots"],
    ],
  },
  {
    id: "mcp.watchdog",
    at: "§17",
    says: "the table of the watchdog",
    by: [["transports/watchdog.test.ts", "%p is that many seconds"]],
  },
  {
    id: "rem.first-delay",
    at: "§18",
    says: "300 s, or what the variable says",
    by: [["app/jobs.test.ts", "the first cycle comes 300 seconds after the start, or when the variable says"]],
  },
  {
    id: "rem.lock",
    at: "§18",
    says: "a second cycle meanwhile does nothing",
    by: [["services/rem/cycle.test.ts", "while one runs another does nothing and writes nothing, whoever asks"]],
  },
  {
    id: "rem.batch",
    at: "§18",
    says: "number, auto, unset",
    by: [
      ["services/rem/reading.test.ts", "a batch is what was set; auto is five, and twenty entities while fifty wait"],
      ["services/rem/reading.test.ts", "nothing is asked where the variable is not set, and nothing where nobody chose a model"],
    ],
  },
  {
    id: "rem.no-model",
    at: "§18",
    says: "where nothing was set or chosen no model is asked",
    by: [["services/rem/reading.test.ts", "nothing is asked where the variable is not set, and nothing where nobody chose a model"]],
  },
  {
    id: "rem.cap",
    at: "§18",
    says: "the day's cap",
    by: [["services/rem/reading.test.ts", "the day's cap holds over cycles, says why it stopped, and counts a question before it is put"]],
  },
  {
    id: "rem.retry",
    at: "§18",
    says: "two failures end the phase; attempts sink a row, none is dropped",
    by: [
      [
        "services/rem/reading.test.ts",
        "two failures in a row end the phase; what failed sinks behind what is fresh and is parked at eight",
      ],
    ],
  },
  {
    id: "rem.scanned",
    at: "§18",
    says: "a scanned entity leaves the queue, a newer observation brings it back",
    by: [
      [
        "services/rem/reading.test.ts",
        "an entity is asked about once, its links are marked as read by a model, in its project; a newer observation brings it back",
      ],
    ],
  },
  {
    id: "rem.extraction",
    at: "§18",
    says: "extracted text is withheld and writes no relation",
    by: [
      [
        "services/rem/reading.test.ts",
        "what a model reads out of a memory is withheld, writes no relation, stays in the project, and is never read again itself",
      ],
    ],
  },
  {
    id: "rem.autolink",
    at: "§18",
    says: "edges are marked as predicted",
    by: [
      [
        "services/rem/phases.test.ts",
        "entities that meet in sessions are related: both ways, marked as predicted, in their project, and only once",
      ],
    ],
  },
  {
    id: "rem.duplicates",
    at: "§18",
    says: "near names are counted",
    by: [["services/rem/phases.test.ts", "names that nearly are one are counted, whatever their case"]],
  },
  {
    id: "rem.crash",
    at: "§18",
    says: "a failing phase takes no other along and is in the record",
    by: [["services/rem/cycle.test.ts", "a phase that fails takes no other with it; the row says which and why"]],
  },
  {
    id: "rem.protected",
    at: "§18",
    says: "what is being worked on does not fade",
    by: [
      ["services/rem/fading.test.ts", "while a session is open, an entity that was touched two hours ago is spared; without one it fades"],
    ],
  },
  {
    id: "code.references",
    at: "PR-21",
    says: "a memory whose path or symbol the tree does not hold is marked, never hidden; where no tree is known nothing is claimed",
    by: [
      ["services/codegraph/references.test.ts", "a search, a verification and recall carry the mark, and hide nothing"],
      [
        "services/codegraph/references.test.ts",
        "nothing is said without a tree, for another language, another project, or no project at all",
      ],
    ],
  },
  {
    id: "code.edges",
    at: "§3.17",
    says: "code makes uses only where one symbol has the name, depends_on for imports, both extracted with strength 1",
    by: [
      ["parsing/parser.test.ts", "an ambiguous name is dropped, not guessed, and nobody calls himself"],
      [
        "services/codegraph/store.test.ts",
        "a symbol is an entity with one observation that says how it is known; calls and imports are edges",
      ],
    ],
  },
  {
    id: "code.again",
    at: "cli-daemon §3.16",
    says: "a second run rewrites what moved and removes what is gone; what people wrote stays",
    by: [
      ["services/codegraph/store.test.ts", "a second run changes nothing; a definition that moved is rewritten, not added"],
      ["services/codegraph/store.test.ts", "what a file no longer holds goes with its edges, and so does a file that is gone"],
      ["services/codegraph/store.test.ts", "what people wrote about a symbol stays when it goes, and its entity is no code any more"],
    ],
  },
  {
    id: "code.whole",
    at: "cli-daemon §3.16",
    says: "a build shows in one moment, holds nobody up, and killed at any moment it leaves the old graph whole",
    by: [
      ["services/codegraph/build.test.ts", "whoever reads meanwhile sees the old graph or the new one, never half of it"],
      [
        "services/codegraph/build.test.ts",
        "killed at any moment it leaves the old graph or the new one, and the next build takes away what it left",
      ],
      ["services/codegraph/build.test.ts", "two builds of one project at once come one after the other"],
    ],
  },
  {
    id: "dedupe.judge",
    at: "cli-daemon §3.11",
    says: "a judged group in which two are different is left alone as a whole; nobody chosen, nothing asked",
    by: [
      ["domain/same-entities.test.ts", "a group in which two are different is left alone as a whole, and no other"],
      ["services/duplicates/verdicts.test.ts", "nobody who was chosen: nothing is judged, and that is said"],
    ],
  },
  {
    id: "dedupe.undo",
    at: "cli-daemon §3.11",
    says: "a merge is taken apart again whole, or not at all",
    by: [
      [
        "services/duplicates/entities.test.ts",
        "a merge is taken apart again: all that moved goes back, what came since stays, the second time does nothing",
      ],
      ["services/duplicates/entities.test.ts", "a merge that cannot be taken apart whole is left whole"],
    ],
  },
];
