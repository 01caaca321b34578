/** The given/when/then lines of `spec/tools-graph.md` with the tests that show them, or with what is not covered; `test/repository/requirements.test.ts` checks. */
import type { Requirement } from "./requirement.ts";

export const graphRequirements: readonly Requirement[] = [
  {
    id: "alma.create-twice",
    at: "§4.1",
    says: "the second create of another type keeps the type and counts the access",
    by: [["tools/entities.test.ts", "creates once: the second time it says so, keeps the type and counts the access"]],
  },
  {
    id: "alma.name-length",
    at: "§4.1",
    says: "200 code points are a name, 201 are not, blanks are cleaned, blank is refused",
    by: [["tools/entities.test.ts", "takes a name of 200 code points in any script, not one more, and cleans blanks away"]],
  },
  {
    id: "alma.type",
    at: "§4.1",
    says: "an unknown type is an error that names it",
    by: [["tools/entities.test.ts", "takes a name of 200 code points in any script, not one more, and cleans blanks away"]],
  },
  {
    id: "alma.projects",
    at: "§4.1",
    says: "one name in two projects is two entities; without a project it is ambiguous",
    by: [["tools/entities.test.ts", "keeps projects apart, and without one says which it could have meant"]],
  },
  {
    id: "alma.alias",
    at: "§4.1",
    says: "an alias leads to the survivor with requested_name",
    by: [["tools/entities.test.ts", "finds an entity by an alias and by another spelling, and echoes what was asked"]],
  },
  {
    id: "alma.rename",
    at: "§4.1",
    says: "the old name still leads there; a taken name is an error",
    by: [["tools/entities.test.ts", "after a rename the old name still leads there, for reading and for writing"]],
  },
  {
    id: "alma.delete",
    at: "§4.1",
    says: "delete asks for confirm where something is attached, and leaves tombstones",
    by: [
      ["tools/entities.test.ts", "deletes what has something attached only when confirmed, and leaves a tombstone for each row"],
      ["tools/entities.test.ts", "deletes without confirmation what only has an alias"],
    ],
  },
  {
    id: "alma.withheld",
    at: "§4.1",
    says: "get shows neither quarantined nor superseded rows",
    by: [["tools/entities.test.ts", "get shows neither quarantined nor superseded rows, and counts what it withholds"]],
  },
  {
    id: "alma.boost",
    at: "§4.1",
    says: "the boost of a read after ten minutes, and of one right behind it",
    by: [["tools/entities.test.ts", "a read after ten idle minutes adds 0.006321, one right behind it nothing, and no clock moves"]],
  },
  {
    id: "alma.size",
    at: "§4.1",
    says: "400 observations of 9,000 characters stay inside an answer",
    by: [["tools/answer-sizes.test.ts", "about entities with names of 200 characters stay below the limit and say what they leave out"]],
  },
  {
    id: "cronica.gate",
    at: "§4.2",
    says: "credentials are refused before the database and named by field and kind",
    by: [["tools/observations.test.ts", "gets as far as the database with allow_secret for"]],
  },
  {
    id: "cronica.length",
    at: "§4.2",
    says: "10,000 code points are stored, 10,001 and blank are not",
    by: [["tools/observations.test.ts", "takes 10,000 code points of any script, not one more, and no blank text"]],
  },
  {
    id: "cronica.neighbours",
    at: "§4.2",
    says: "texts that differ in a word, a number or their order are stored and flagged",
    by: [["services/observations/gate.test.ts", 'stores "']],
  },
  {
    id: "cronica.duplicate",
    at: "§4.2",
    says: "a text that adds a full stop is a duplicate",
    by: [["services/observations/gate.test.ts", "drops a text that adds nothing, says which row has it, and stores it when told to"]],
  },
  {
    id: "cronica.again",
    at: "§4.2",
    says: "a retired or withheld text is stored again",
    by: [["services/observations/gate.test.ts", "stores again what was retired, and what was only withheld"]],
  },
  {
    id: "cronica.reinforce",
    at: "§4.2",
    says: "the same words reinforce in a busy entity and are stored in a small one",
    by: [
      [
        "services/observations/gate.test.ts",
        "reinforces a text that differs in an article once an entity has five unlike it, and stores it before",
      ],
    ],
  },
  {
    id: "cronica.types",
    at: "§4.2",
    says: "superseded and unknown types are errors",
    by: [["tools/observations.test.ts", "refuses what is no type, no source, no name, and leaves nothing behind"]],
  },
  {
    id: "cronica.tighten",
    at: "§4.2",
    says: "a caller may tighten trust, never loosen it",
    by: [["services/observations/gate.test.ts", "a caller may tighten it and never loosen it"]],
  },
  {
    id: "cronica.overload",
    at: "§4.2",
    says: "the row behind fifty retires faded ones, a lesson survives",
    by: [["services/observations/batch.test.ts", "has its faded rows retired with the write that finds them, hidden and not deleted"]],
  },
  {
    id: "cronica.batch",
    at: "§4.2",
    says: "101 items are an error, repetitions inside a batch count once, a bad item does not harm the rest",
    by: [
      ["services/observations/batch.test.ts", "refuses 101 items and none, naming the count"],
      ["services/observations/batch.test.ts", "sees repetitions inside its own call"],
      ["services/observations/batch.test.ts", "stores what is good, in order, and says what is wrong with the rest"],
    ],
  },
  {
    id: "cronica.no-model",
    at: "§4.2",
    says: "without a model words find the text at once",
    by: [["tools/observations.test.ts", "finds its text by words at once, without a model"]],
  },
  {
    id: "cronica.slow-model",
    at: "§4.2",
    says: "with a slow model the answer comes before the vector",
    by: [["services/embedding/queue.test.ts", "answers a write before its model does, and has the vector when it is drained"]],
  },
  {
    id: "cronica.chunks",
    at: "§4.2",
    says: "a long text has slices numbered from 0, with a model or without",
    by: [["tools/observations.test.ts", "are stored with their slices, with a model or without, numbered from 0 on"]],
  },
  {
    id: "cronica.alias",
    at: "§4.2",
    says: "adding under an old name makes no new entity",
    by: [["tools/observations.test.ts", "lands on the entity behind an alias or another spelling, and makes no new one"]],
  },
  {
    id: "cronica.timeline",
    at: "§4.2",
    says: "the timeline of a busy entity shows the newest, ascending",
    by: [["services/observations/lists.test.ts", "of a busy entity shows the newest, and older ones by offset"]],
  },
  {
    id: "cronica.facts",
    at: "§4.2",
    says: "facts follow their observations; off makes none",
    by: [
      ["services/observations/gate.test.ts", "mirror a trusted observation, stay side by side, and go with it"],
      ["services/observations/gate.test.ts", "are not made when switched off, and their failure never fails the write"],
      [
        "services/observations/gate.test.ts",
        "end when their observation is retired or withheld, and begin anew when it is corrected or promoted",
      ],
    ],
  },
  {
    id: "puente.predict",
    at: "§4.3",
    says: "Adamic-Adar scores 1.3427 and 0.6213, persisted once",
    by: [["services/relations/relations.test.ts", "scores by shared neighbours and keeps what it found once"]],
  },
  {
    id: "puente.assert-guess",
    at: "§4.3",
    says: "create makes a guess an assertion in the same row",
    by: [["services/relations/relations.test.ts", "makes a guess an assertion, in the same row"]],
  },
  {
    id: "puente.twice",
    at: "§4.3",
    says: "create twice is one row, stronger",
    by: [["services/relations/relations.test.ts", "asserts a relation between known entities, and strengthens the one that is there"]],
  },
  {
    id: "puente.cycle",
    at: "§4.3",
    says: "a cyclic graph is walked once a node, infer gives D 0.8 and E 0.4",
    by: [
      [
        "services/relations/relations.test.ts",
        "reaches each node of a cyclic graph once, by its shortest and strongest way, and never its start",
      ],
      ["services/relations/relations.test.ts", "finds what follows through others, once each, by the strongest path"],
    ],
  },
  {
    id: "puente.depth",
    at: "§4.3",
    says: "depth is moved to 1-5; a bidirectional edge is walked backwards",
    by: [
      ["services/relations/relations.test.ts", "moves a depth out of bounds to the nearest one, and refuses what is no number"],
      ["services/relations/relations.test.ts", "walks backwards when asked, and over a bidirectional edge without being asked"],
    ],
  },
  {
    id: "puente.projects",
    at: "§4.3",
    says: "an edge of another project's namesake is not walked",
    by: [["services/relations/relations.test.ts", "stays in its project, whatever the names"]],
  },
  {
    id: "ingesta.gate",
    at: "§4.4",
    says: "a credential in an item is refused by its place, also with a dead pool",
    by: [
      ["services/ingest/ingest.test.ts", "a credential in %j is refused by the name of its field"],
      ["services/ingest/ingest.test.ts", "allow_secret reaches the database"],
    ],
  },
  {
    id: "ingesta.count",
    at: "§4.4",
    says: "200 items go in; none and 201 are errors",
    by: [
      ["services/ingest/ingest.test.ts", "stores two hundred at once, says so once, and a second time stores none"],
      ["services/ingest/ingest.test.ts", "%# is refused with a sentence"],
    ],
  },
  {
    id: "ingesta.skipped",
    at: "§4.4",
    says: "items without entity or content are skipped and counted",
    by: [["services/ingest/ingest.test.ts", "names what it left out by the place in the caller's list"]],
  },
  {
    id: "ingesta.parse",
    at: "§4.4",
    says: "paragraphs become a decision and a lesson, whatever the line ends",
    by: [["services/ingest/ingest.test.ts", "stores a memory a paragraph with its kind, cut at %j"]],
  },
  {
    id: "ingesta.reply",
    at: "§4.4",
    says: "a reply in a code fence, a bare array, unknown relation types, loops",
    by: [
      ["domain/extraction.test.ts", "is found in a code fence with prose around it, and in a program's envelope"],
      ["domain/extraction.test.ts", "may be a bare array of facts, or have no relations"],
      ["domain/extraction.test.ts", "keeps a relation of unknown type as related_to, and drops loops and blank ends"],
    ],
  },
  {
    id: "ingesta.untrusted-relations",
    at: "§4.4",
    says: "an untrusted text writes no relation and no end of one",
    by: [
      ["services/ingest/extraction.test.ts", "of an untrusted text facts wait for review, relations and their ends do not come into being"],
    ],
  },
  {
    id: "ingesta.untrusted-supersede",
    at: "§4.4",
    says: "an untrusted text retires nothing",
    by: [
      [
        "services/ingest/extraction.test.ts",
        "an untrusted text, a withheld row, a repetition and another subject ask nobody and retire nothing",
      ],
    ],
  },
  {
    id: "ingesta.degraded",
    at: "§4.4",
    says: "no model, a slow one and a failing one are told apart",
    by: [
      ["services/ingest/extraction.test.ts", "no model is no error and starts nothing"],
      ["services/ingest/extraction.test.ts", "a slow model, a failing one and one behind a failing one are told apart"],
    ],
  },
  {
    id: "ingesta.same-relation",
    at: "§4.4",
    says: "the same relation twice is one edge, stronger",
    by: [["services/ingest/extraction.test.ts", "the same relation again is one edge, stronger"]],
  },
  {
    id: "ingesta.cycle-project",
    at: "§4.4",
    says: "what is extracted belongs to its project",
    by: [["services/ingest/extraction.test.ts", "everything is written into the caller's project"]],
  },
  {
    id: "alarma.pattern",
    at: "§4.5",
    says: "the fourth report is a pattern, the three gain weight",
    by: [["services/errors.test.ts", "the fourth report of one trouble is a pattern: the three on file gain weight, the new one does not"]],
  },
  {
    id: "alarma.similar",
    at: "§4.5",
    says: "two ports of one refused connection are similar",
    by: [["services/errors.test.ts", "the fourth report of one trouble is a pattern: the three on file gain weight, the new one does not"]],
  },
  {
    id: "alarma.gate",
    at: "§4.5",
    says: "a token in the context is refused",
    by: [["services/errors.test.ts", "a credential is refused before the database, by field and kind, and is not repeated"]],
  },
  {
    id: "alarma.cut",
    at: "§4.5",
    says: "a message is cut at 5,000 characters and says so",
    by: [["services/errors.test.ts", "keeps the first 5000 characters of a message and says so; an emoji at the cut stays whole"]],
  },
  {
    id: "alarma.solution",
    at: "§4.5",
    says: "a similar error that was solved brings its solution",
    by: [["services/errors.test.ts", "a similar error that was solved brings its solution"]],
  },
  {
    id: "remedio.resolve",
    at: "§4.6",
    says: "a solution resolves, is found by its own word, and lists what is similar and open",
    by: [["services/errors.test.ts", "a solution resolves, lists what is like it and still open, and is found by a word of its own"]],
  },
  {
    id: "remedio.gate",
    at: "§4.6",
    says: "a token in the solution is refused, prose about passwords is not; a malformed id is named after the gate",
    by: [["services/errors.test.ts", "a credential is refused before the database, by field and kind, and is not repeated"]],
  },
  {
    id: "remedio.project",
    at: "§4.6",
    says: "an error of another project is not found",
    by: [["services/errors.test.ts", "an error of another project is not found by any of the three tools"]],
  },
  {
    id: "expediente.resolved",
    at: "§4.7",
    says: "resolved_only, withheld rows and promotion",
    by: [["services/errors.test.ts", "resolved_only, withheld rows and promotion"]],
  },
  {
    id: "expediente.refusals",
    at: "§4.7",
    says: "an empty question is an error, a label filters",
    by: [
      ["services/errors.test.ts", "a credential is refused before the database, by field and kind, and is not repeated"],
      ["services/errors.test.ts", "finds by one word of many, by a misspelt message, and nothing for a question without words"],
    ],
  },
  {
    id: "expediente.project",
    at: "§4.7",
    says: "errors of other projects and of none are absent while a project is active",
    by: [["services/errors.test.ts", "an error of another project is not found by any of the three tools"]],
  },
  {
    id: "expediente.rows",
    at: "§4.7",
    says: "twenty rows of more, and how to read on",
    by: [["services/errors.test.ts", "shows twenty rows of more and how to read on; the pages make up the whole"]],
  },
  {
    id: "expediente.guard",
    at: "§4.7",
    says: "a plan that is nearly a message warns; once solved it shows the solution",
    by: [
      [
        "services/errors.test.ts",
        "a plan that is nearly a message on file warns; once solved it shows the solution in place of the warning",
      ],
    ],
  },
];
