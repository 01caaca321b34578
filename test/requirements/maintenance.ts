/** The given/when/then lines of `spec/tools-maintenance.md` §5 to §9 with the tests that show them, or with what is not covered; `test/repository/requirements.test.ts` checks. */
import type { Requirement } from "./requirement.ts";

export const maintenanceRequirements: readonly Requirement[] = [
  {
    id: "zafra.decay-values",
    at: "§5.1",
    says: "the worked values",
    by: [
      ["services/maintenance/fading.test.ts", "decay: %d of a %s idle for %d days after %d uses → %d"],
      ["domain/strength/decay.test.ts", "%d of a %s idle for %d days with %d accesses → %d"],
    ],
  },
  {
    id: "zafra.decay-twice",
    at: "§5.1",
    says: "a second run changes nothing; eight days at once are eight runs",
    by: [
      [
        "services/maintenance/fading.test.ts",
        "decay: running again at once changes nothing, and one run after eight days is eight runs a day apart",
      ],
    ],
  },
  {
    id: "zafra.decay-clock",
    at: "§5.1",
    says: "version and updated_at stay",
    by: [
      ["services/maintenance/fading.test.ts", "decay: %d of a %s idle for %d days after %d uses → %d"],
      ["services/rem/fading.test.ts", "fading is no change: version, update time and embedding stay"],
    ],
  },
  {
    id: "zafra.decay-right",
    at: "PR-24",
    says: "running often is once; what must stay stays; a clock jump floors nothing",
    by: [
      ["services/rem/never-forgets-wrongly.test.ts", "many cycles are one"],
      [
        "services/maintenance/fading.test.ts",
        "decay: a year in which nothing faded counts as a month, and an anchor in the future is mended",
      ],
    ],
  },
  {
    id: "zafra.prune-plan",
    at: "§5.2",
    says: "a dry run leaves the rows",
    by: [["services/maintenance/maintenance.test.ts", "prune: without confirm it counts by project and type, and nothing changes"]],
  },
  {
    id: "zafra.prune-project",
    at: "§5.2",
    says: "a confirmed prune touches no other project",
    by: [
      [
        "services/maintenance/maintenance.test.ts",
        "prune: one project's call never touches another, and without a project everything must be meant",
      ],
    ],
  },
  {
    id: "zafra.prune-kept",
    at: "§5.2",
    says: "decisions survive, superseded or not; the threshold itself survives",
    by: [
      [
        "services/maintenance/maintenance.test.ts",
        "prune: decisions, lessons, what was retired from them, what waits for review, and the threshold itself survive",
      ],
    ],
  },
  {
    id: "zafra.prune-undo",
    at: "§5.2",
    says: "what went comes back",
    by: [
      [
        "services/maintenance/maintenance.test.ts",
        "prune: what went stands in an undo file and comes back; where none can be written nothing goes",
      ],
      ["cli/commands/delete.test.ts", "brings back what a prune took, one by one, and says which could not come"],
    ],
  },
  {
    id: "zafra.merge-one",
    at: "§5.3",
    says: "of three with the same words one survives, the trusted one; the boost ends at 1",
    by: [
      [
        "services/maintenance/maintenance.test.ts",
        "merge: of three texts with the same words one survives, the trusted one, and points are kept",
      ],
    ],
  },
  {
    id: "zafra.merge-different",
    at: "§5.3",
    says: "port 8080 and port 9090 both stay",
    by: [["services/maintenance/maintenance.test.ts", "merge: two texts that differ in a number both stay, and are counted"]],
  },
  {
    id: "zafra.merge-hundred",
    at: "§5.3",
    says: "more than 100 pairs take a second call",
    by: [
      [
        "services/maintenance/maintenance.test.ts",
        "merge: more than 100 pairs take a second call, and an entity with many rows is compared by its marks",
      ],
    ],
  },
  {
    id: "zafra.merge-types",
    at: "§5.3",
    says: "a decision is not retired by another type",
    by: [
      [
        "services/maintenance/maintenance.test.ts",
        "merge: a decision is not retired for a fact, nor a row of one entity or project for one of another",
      ],
    ],
  },
  {
    id: "zafra.summarize-gate",
    at: "§5.4",
    says: "a token in a summary is refused before the database",
    by: [["services/maintenance/maintenance.test.ts", "refuses credentials and numbers without meaning before the database is asked"]],
  },
  {
    id: "zafra.summarize",
    at: "§5.4",
    says: "one row in the place of many, in one transaction",
    by: [
      [
        "services/maintenance/maintenance.test.ts",
        "summarize: one observation in the place of many; decisions, lessons and what nobody reviewed stay",
      ],
    ],
  },
  {
    id: "zafra.stats-refit",
    at: "§5.5",
    says: "stats fits the out-of-distribution statistics again",
    by: [["services/maintenance/maintenance.test.ts", "stats has the abstention gate fit its distributions anew"]],
  },
  {
    id: "zafra.scope",
    at: "§5.5",
    says: "stats, find_duplicates and export are of the active project",
    by: [["services/maintenance/maintenance.test.ts", "stats, find_duplicates and export see the active project alone"]],
  },
  {
    id: "zafra.pagerank",
    at: "§5.6, §15.1",
    says: "ten runs are one and importance stays",
    by: [
      ["services/analytics/analytics.test.ts", "zafra pagerank: stored beside the graph, ten runs are one, and no importance moves"],
      ["services/analytics/analytics.test.ts", "zafra pagerank: a plain cycle says nothing, and nothing is stored"],
    ],
  },
  {
    id: "zafra.communities",
    at: "§5.6, §15.3",
    says: "replaced as a whole, by id",
    by: [["services/analytics/analytics.test.ts", "zafra communities: replaced as a whole, by id and not by name, with the modularity"]],
  },
  {
    id: "zafra.episodes",
    at: "§5.7",
    says: "the worked values; initial 0.8 after 10 days is 0.5657",
    by: [["services/maintenance/fading.test.ts", "decay_episodes: %d after %d days is %d, however often it runs"]],
  },
  {
    id: "zafra.reembed",
    at: "§5.8",
    says: "no model is no error; rows get the running model's label",
    by: [
      ["services/maintenance/maintenance.test.ts", "reembed: without a model it is no error and says what is missing"],
      ["services/maintenance/maintenance.test.ts", "reembed: rows without a vector of the running model get one, the rest next time"],
    ],
  },
  {
    id: "eco.values",
    at: "§6.1",
    says: "the worked values of praise and blame",
    by: [
      ["tools/feedback.test.ts", "0.5 after %d uses becomes %d when it helped and %d when it was wrong"],
      ["domain/strength/reinforcement.test.ts", "feedback on %d after %d accesses: good %d, bad %d"],
    ],
  },
  {
    id: "eco.blame",
    at: "§6.1",
    says: "blame restarts no clock",
    by: [
      ["tools/feedback.test.ts", "praise counts as a use, blame neither counts nor restarts the idle clock, and no clock of sync moves"],
    ],
  },
  {
    id: "eco.kinds",
    at: "§6.4",
    says: "no kind means observation; unknown kinds are refused",
    by: [
      ["tools/feedback.test.ts", "refuses credentials, unknown kinds and feedback about nothing before the database is asked"],
      ["tools/feedback.test.ts", "quarantine ends the fact and hides the row, promote brings both back, and the log says who is believed"],
    ],
  },
  {
    id: "eco.scope",
    at: "§6.4",
    says: "an episode of another project is refused and unchanged",
    by: [["tools/feedback.test.ts", "a row of another project is not found, whatever is asked, and stays as it was"]],
  },
  {
    id: "eco.searchable",
    at: "§6.4",
    says: "promote serves, quarantine withholds",
    by: [
      ["tools/feedback.test.ts", "quarantine ends the fact and hides the row, promote brings both back, and the log says who is believed"],
    ],
  },
  {
    id: "eco.history",
    at: "§6.4",
    says: "25 corrections leave 20 versions; one correction is one version",
    by: [
      ["tools/feedback.test.ts", "25 corrections leave 20 previous versions, the oldest first"],
      [
        "tools/feedback.test.ts",
        "a correction is one version: the old text is history, its fact has ended, its slices and vector are gone",
      ],
    ],
  },
  {
    id: "vigia.values",
    at: "§7.1, §7.2",
    says: "entropy and the survival function",
    by: [
      ["domain/drift.test.ts", "with %d degrees of freedom is %d"],
      ["domain/drift.test.ts", "counts %p have %d bits and evenness %d"],
    ],
  },
  {
    id: "vigia.scoped",
    at: "§7",
    says: "communities are computed for the scope and stored nowhere",
    by: [["services/analytics/analytics.test.ts", "communities: computed for the scope alone, stored nowhere"]],
  },
  {
    id: "vigia.drift",
    at: "§7.2",
    says: "a new type counts, and so does one that is gone",
    by: [
      ["domain/drift.test.ts", "a type that is new counts, and so does one that is gone"],
      ["services/analytics/analytics.test.ts", "drift: a new kind of error in scope is found, another project's is not"],
    ],
  },
  {
    id: "forget.plan",
    at: "§8",
    says: "without confirm nothing changes",
    by: [
      [
        "services/forgetting.test.ts",
        "every table of the catalogue holds her in a known way, and after forgetting none does but for what is listed",
      ],
    ],
  },
  {
    id: "forget.tombstones",
    at: "§8",
    says: "tombstones are the rows that went, and hold no text",
    by: [["services/forgetting.test.ts", "each row that went leaves a tombstone, and no tombstone a text"]],
  },
  {
    id: "forget.projects",
    at: "§8",
    says: "the same name in another project survives, with its errors",
    by: [["services/forgetting.test.ts", "the same name in another project survives with its errors, sessions and notes"]],
  },
  {
    id: "forget.gate",
    at: "§8",
    says: "confirm as text is refused",
    by: [["services/forgetting.test.ts", "needs a name, and opens on the boolean alone"]],
  },
  {
    id: "forget.traces",
    at: "§8",
    says: "no table holds name, text or ids afterwards",
    by: [
      [
        "services/forgetting.test.ts",
        "every table of the catalogue holds her in a known way, and after forgetting none does but for what is listed",
      ],
    ],
  },
  {
    id: "forget.expect",
    at: "§8",
    says: "counts that no longer hold are refused",
    by: [["services/forgetting.test.ts", "a plan shows samples; counts that no longer hold are refused with the new ones"]],
  },
  {
    id: "archivo.three",
    at: "§9",
    says: "three appends verify",
    by: [["tools/audit.test.ts", "an empty log verifies with nothing in it; three appends verify with their head"]],
  },
  {
    id: "archivo.edited",
    at: "§9",
    says: "an edit breaks at its row, and is refused without the override",
    by: [
      ["services/audit.test.ts", "a change of %s shows"],
      ["store/queries/audit.test.ts", "is never changed by cuba_app, nor by a superuser without the override"],
    ],
  },
  {
    id: "archivo.sealed",
    at: "§9",
    says: "rows before the key are unprotected, one after it is broken",
    by: [["tools/audit.test.ts", "rows before the key are counted as unprotected; a well linked row without it afterwards is a downgrade"]],
  },
  {
    id: "archivo.attacks",
    at: "§9",
    says: "removed rows, swapped pairs and a tail chained anew show",
    by: [
      ["services/audit.test.ts", "a removed row shows at the one behind it, a removed beginning at the first that is left"],
      ["services/audit.test.ts", "a swapped pair shows, its links exchanged or not"],
      ["services/audit.test.ts", "a tail that was chained anew without the key shows, called %s"],
    ],
  },
  {
    id: "archivo.concurrent",
    at: "§9",
    says: "20 appends at once are 20 linked rows; eight writers while it is verified",
    by: [
      ["tools/audit.test.ts", "twenty appends at once make twenty linked rows"],
      ["services/audit.test.ts", "eight writers at once make one line, and every look at it meanwhile holds"],
    ],
  },
  {
    id: "archivo.key",
    at: "§9",
    says: "blank is no key, a file's last line end is none of it",
    by: [["app/audit-key.test.ts", "the variable beats the files; the secrets folder beats the caches, ours before the older one"]],
  },
];
