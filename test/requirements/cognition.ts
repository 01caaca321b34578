/** The given/when/then lines of `spec/tools-cognition.md` with the tests that show them, or with what is not covered; `test/repository/requirements.test.ts` checks. */
import type { Requirement } from "./requirement.ts";

export const cognitionRequirements: readonly Requirement[] = [
  {
    id: "jornada.replace",
    at: "§4",
    says: "a second start abandons the first, one open row stays",
    by: [["services/sessions.test.ts", "a second start closes the first as abandoned and leaves exactly one open row"]],
  },
  {
    id: "jornada.gate-end",
    at: "§4",
    says: "a token in the summary of end is refused",
    by: [["tools/sessions-gate.test.ts", "a credential in %s is refused by that name, and not repeated"]],
  },
  {
    id: "jornada.gate-goals",
    at: "§4",
    says: "a token among the goals is refused and makes no project",
    by: [["tools/sessions-gate.test.ts", "a credential in %s is refused by that name, and not repeated"]],
  },
  {
    id: "jornada.prose",
    at: "§4",
    says: "a name that talks about passwords is accepted",
    by: [["tools/sessions-gate.test.ts", "a name that merely talks about passwords is accepted, and an outcome that is none is not"]],
  },
  {
    id: "jornada.hint",
    at: "§4",
    says: "100 observations or two hours give the hint",
    by: [["services/sessions.test.ts", "a session of "]],
  },
  {
    id: "jornada.row-security",
    at: "§4",
    says: "a start in another project works under row security",
    by: [["services/sessions.test.ts", "a start in another project than the active one works under row security"]],
  },
  {
    id: "jornada.triggers",
    at: "§4",
    says: "start answers although the reminders cannot be read",
    by: [["tools/sessions.test.ts", "a start is answered although the reminders cannot be read"]],
  },
  {
    id: "decreto.projects",
    at: "§5",
    says: "one decision in two projects is found in its own alone",
    by: [
      [
        "tools/decisions.test.ts",
        "the same decision in two projects and in none hangs from three entities, and is found in its own project alone",
      ],
    ],
  },
  {
    id: "decreto.title",
    at: "§5",
    says: "a long decision is found by its title in any case",
    by: [["tools/decisions.test.ts", "finds a long decision by its title in any case, by a word inside it, and nothing by signs alone"]],
  },
  {
    id: "decreto.gate",
    at: "§5",
    says: "a token in any field is refused",
    by: [
      [
        "tools/decisions.test.ts",
        "refuses a credential in any field, a decision without title or choice, and one that is longer than a memory",
      ],
    ],
  },
  {
    id: "decreto.session",
    at: "§5",
    says: "a decision recorded in a session is counted there",
    by: [["tools/decisions.test.ts", "a decision recorded in a session is counted there"]],
  },
  {
    id: "proyecto.switch",
    at: "§6",
    says: "switch binds the open session and all that follows",
    by: [["services/projects.test.ts", "switching binds the open session and all that follows"]],
  },
  {
    id: "proyecto.backfill",
    at: "§6",
    says: "backfill is a plan, moves with confirm, and then finds nothing",
    by: [["services/projects.test.ts", "backfill is a plan that creates nothing, moves with confirm, and finds nothing the second time"]],
  },
  {
    id: "proyecto.merge",
    at: "§6",
    says: "merge with itself is refused; a merge keeps every row",
    by: [
      ["services/projects.test.ts", "merging a project with itself is refused, also when the names differ in case, and it still exists"],
      [
        "services/projects.test.ts",
        "merging folds entities of one name, keeps every observation and relation, and takes bound clients along",
      ],
    ],
  },
  {
    id: "proyecto.unbound",
    at: "§6",
    says: "rows without a project are not counted and not found",
    by: [["services/projects.test.ts", "a row without a project is neither counted nor found while a project is active"]],
  },
  {
    id: "compact.fifty",
    at: "§7",
    says: "of sixty observations fifty are kept and the true number is told",
    by: [
      [
        "tools/compaction.test.ts",
        "of sixty observations, one superseded and one withheld, the fifty newest are kept and the true number is told",
      ],
    ],
  },
  {
    id: "compact.cut",
    at: "§7",
    says: "texts are cut by characters",
    by: [["tools/compaction.test.ts", "texts are cut by characters: 240, 160 and 80 of them, an emoji never in two"]],
  },
  {
    id: "compact.newest",
    at: "§7",
    says: "restore gives the newest of its own session",
    by: [["tools/compaction.test.ts", "gives back the newest of the session, else of the client, else of the project, and says which"]],
  },
  {
    id: "compact.resource",
    at: "§7",
    says: "another project's snapshot is not found as a resource",
    by: [["mcp/resources.test.ts", "a snapshot shows nothing that was withheld since, and only in its project"]],
  },
  {
    id: "receta.order",
    at: "§8",
    says: "47/3 stands before 1/0, never run is last",
    by: [["tools/procedures.test.ts", "reliability is the Wilson lower bound: 47 of 50 stands before 1 of 1, never run is last"]],
  },
  {
    id: "receta.edit",
    at: "§8",
    says: "a known name is edited and keeps its record; bad steps and outcomes are errors",
    by: [
      ["tools/procedures.test.ts", "adding a known name edits it: same id, same record, and a fresh count once the steps are others"],
      ["tools/procedures.test.ts", "refuses steps that are no steps and an outcome that is no boolean"],
    ],
  },
  {
    id: "receta.gate",
    at: "§8",
    says: "a token in a command is refused",
    by: [["tools/procedures.test.ts", "refuses a credential in any text of a recipe, and takes ordinary shell"]],
  },
  {
    id: "receta.name",
    at: "§8",
    says: "a name in two projects is not deleted without saying which",
    by: [
      [
        "tools/procedures.test.ts",
        "a name means one project's recipe; without a project an error says where it is, and nothing is touched",
      ],
    ],
  },
  {
    id: "receta.reads",
    at: "§8",
    says: "two hundred reads change nothing",
    by: [["tools/procedures.test.ts", "two hundred reads change nothing"]],
  },
  {
    id: "reflexion.empty",
    at: "§9",
    says: "an empty database has five empty lists",
    by: [["tools/gaps.test.ts", "an empty database has no gaps, with or without an action"]],
  },
  {
    id: "reflexion.facts",
    at: "§9",
    says: "four facts are a gap, three are none",
    by: [["tools/gaps.test.ts", "more than three facts ask for a decision and a lesson; retired and withheld notes do not count"]],
  },
  {
    id: "reflexion.silo",
    at: "§9",
    says: "one edge between two types is no silo",
    by: [["tools/gaps.test.ts", "two types without a relation in either direction are a silo"]],
  },
  {
    id: "reflexion.outlier",
    at: "§9",
    says: "fifty observations among twenty of two stand out",
    by: [["tools/gaps.test.ts", "one of fifty notes among twenty of two stands out, and relations do not multiply its notes"]],
  },
  {
    id: "hipotesis.rank",
    at: "§10",
    says: "A 0.36 stands before B 0.30",
    by: [["tools/hypotheses.test.ts", "ranks causes by path strength times importance and tells the path"]],
  },
  {
    id: "hipotesis.depth",
    at: "§10",
    says: "depth 1 gives B, 99 is 5",
    by: [["tools/hypotheses.test.ts", "bounds are kept: depth 1 to 5, limit 1 to 50, and no action means explain"]],
  },
  {
    id: "hipotesis.cycle",
    at: "§10",
    says: "a cycle ends",
    by: [["tools/hypotheses.test.ts", "a cycle ends, and of several ways to a cause the strongest counts once"]],
  },
  {
    id: "hipotesis.depends",
    at: "§10",
    says: "a dependency explains, a dependent does not",
    by: [["tools/hypotheses.test.ts", "a fault in a dependency explains the effect; the dependent is no cause"]],
  },
  {
    id: "contradiccion.score",
    at: "§11",
    says: "scores of .60 and .80 with, .70 without a negation",
    by: [["services/conflicts/conflicts.test.ts", "cosine %p, negation %p: score %p"]],
  },
  {
    id: "contradiccion.pairs",
    at: "§11",
    says: "uvicorn conflicts; fast and safe, piano and guitar do not; .85 is kept, .86 dropped",
    by: [
      ["services/conflicts/conflicts.test.ts", "a negated pair in the band is found, with its score, and a judge is suggested"],
      ["services/conflicts/conflicts.test.ts", "%p beside %p at %p: %p"],
    ],
  },
  {
    id: "juez.order",
    at: "§12",
    says: "(b, a) after (a, b) is cached with ordered ids",
    by: [["services/conflicts/conflicts.test.ts", "asks once, whichever way round, and says who is newer by the clock"]],
  },
  {
    id: "juez.band",
    at: "§12",
    says: "bounds of the band are included",
    by: [
      [
        "services/conflicts/conflicts.test.ts",
        "takes pairs in the band, bounds included, nearest to its middle first, and counts calls and hits",
      ],
    ],
  },
  {
    id: "juez.edited",
    at: "§12",
    says: "an edited text is judged again",
    by: [
      [
        "services/conflicts/conflicts.test.ts",
        "an edited text is judged again, and a verdict on a text that changed meanwhile is not kept",
      ],
    ],
  },
  {
    id: "juez.unknown",
    at: "§12",
    says: "nobody and garbage are unknown and not stored",
    by: [["services/conflicts/conflicts.test.ts", "unknown, garbage, the heuristic and nobody are not kept"]],
  },
  {
    id: "juez.visible",
    at: "§12",
    says: "an observation of another project is not found although a verdict is on file",
    by: [["services/conflicts/conflicts.test.ts", "both must be visible before the cache is looked at"]],
  },
  {
    id: "centinela.once",
    at: "§13",
    says: "one fire and it is gone from the list",
    by: [["tools/triggers.test.ts", "a reminder fires once by default and is gone from the list"]],
  },
  {
    id: "centinela.count",
    at: "§13",
    says: "counts down, never where unlimited",
    by: [["tools/triggers.test.ts", "counts down from what was asked, and never where it is unlimited"]],
  },
  {
    id: "centinela.match",
    at: "§13",
    says: "near names match on access, notes are exact",
    by: [
      [
        "tools/triggers.test.ts",
        "matches near names, but not for notes; nothing for an empty subject, another condition or after the expiry",
      ],
    ],
  },
  {
    id: "centinela.refusals",
    at: "§13",
    says: "a token is refused; an expiry that is past is silent",
    by: [["tools/triggers.test.ts", "refuses credentials, empty texts, zero fires, and an expiry that is malformed or past"]],
  },
  {
    id: "centinela.race",
    at: "§13",
    says: "of twenty starts one is told; a note reaches its client in any project",
    by: [
      ["tools/triggers.test.ts", "of twenty starts at once one is told"],
      [
        "tools/triggers.test.ts",
        "a note reaches its client by label, machine or whole key in any project, and no third client sees or deletes it",
      ],
    ],
  },
  {
    id: "calibrar.twice",
    at: "§14",
    says: "the second resolve is an error and moves nothing",
    by: [
      [
        "tools/calibration.test.ts",
        "resolving credits the sources of the deciding evidence, once each; a second time is an error and moves nothing",
      ],
    ],
  },
  {
    id: "calibrar.unknown",
    at: "§14",
    says: "an outcome is right or wrong, nothing else",
    by: [["tools/calibration.test.ts", "outcomes are right or wrong, nothing else, and a prediction without evidence credits nobody"]],
  },
  {
    id: "calibrar.empty",
    at: "§14",
    says: "without rows metrics are null with a note",
    by: [["tools/calibration.test.ts", "with nothing resolved says so: no levels, metrics null with a note, every source at one half"]],
  },
  {
    id: "calibrar.level",
    at: "§14",
    says: "8 right and 1 wrong are .8182",
    by: [["tools/calibration.test.ts", "8 right and 1 wrong of a level are 0.8182"]],
  },
  {
    id: "calibrar.brier",
    at: "§14",
    says: "a right rejection counts as a hit in the Brier score",
    by: [
      [
        "tools/calibration.test.ts",
        "metrics: Brier 0.175 and ECE 0.35 on the worked example; a right rejection is a hit; unknown is no prediction",
      ],
    ],
  },
];
