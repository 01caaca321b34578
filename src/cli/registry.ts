/** Every command, in the order of the help. Dispatch, help, docs/commands.md and the tests derive from this array. */
import type { Command } from "./command.ts";

import calibrate from "./commands/calibrate.ts";

import codegraph from "./commands/codegraph.ts";
import dedupe from "./commands/dedupe.ts";

import deleteMemory from "./commands/delete.ts";
import doctor from "./commands/doctor.ts";
import evaluate from "./commands/eval.ts";
import exportVault from "./commands/export.ts";
import link from "./commands/link.ts";
import llm from "./commands/llm.ts";
import migrate from "./commands/migrate.ts";
import models from "./commands/models.ts";
import project from "./commands/project.ts";
import recall from "./commands/recall.ts";
import reembed from "./commands/reembed.ts";
import rem from "./commands/rem.ts";
import save from "./commands/save.ts";
import search from "./commands/search.ts";
import secure from "./commands/secure.ts";
import serve from "./commands/serve.ts";
import setup from "./commands/setup.ts";
import skills from "./commands/skills.ts";
import start from "./commands/start.ts";

export const commands: readonly Command[] = [
  serve,
  search,
  save,
  recall,
  deleteMemory,
  dedupe,
  link,
  codegraph,
  project,
  exportVault,
  skills,
  doctor,
  migrate,
  secure,
  models,
  llm,
  reembed,
  rem,
  calibrate,
  evaluate,
  setup,
  start,
];
