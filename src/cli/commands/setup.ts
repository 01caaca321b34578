import { unavailable, usage } from "../../kernel/errors.ts";
import { oneOf } from "../../kernel/kinds.ts";
import { flag, maybePositional } from "../arguments.ts";
import type { CommandContext, Installation } from "../command.ts";
import { command } from "../define.ts";
import { commandLine, showPlan } from "../output.ts";

const clientWords = ["claude", "cursor", "codex", "mcp", "warp"] as const;
const actions = ["check", "print", "remove", "hook", ...clientWords] as const;

export default command({
  name: "setup",
  summary: "connect Claude Code, Cursor, Codex and other clients, check them, or take it all away again",
  needs: "nothing",
  writes: "plan",
  args: {
    action: maybePositional(
      oneOf(actions),
      "check (default), print, remove, a client (claude, cursor, codex, mcp for ~/.mcp.json, warp), or hook",
    ),
    target: maybePositional(oneOf(["hook", ...clientWords]), "with remove: which client, or hook; all of them when left out"),
    apply: flag("write the files"),
    http: flag("connect to the running daemon over HTTP, in place of starting a process"),
    withDatabaseUrl: flag("copy DATABASE_URL into the file although it holds a password"),
    json: flag("with check: print the report as JSON"),
  },
  details: [
    "hook: Claude Code begins each session with what 'recall' prints about the folder it is in.",
    "Other entries, comments, line endings, mode and symlinks of a file stay as they are; a file that is not valid is left alone.\n" +
      "What was there is copied to <file>.bak-<time> first. 'setup remove' puts everything back.",
  ],
  run: async ({ action = "check", target, apply, http, withDatabaseUrl, json }, context) => {
    const installation = context.host.installation();
    const { home } = installation;
    if (home === undefined)
      throw unavailable(
        "No home directory: HOME and USERPROFILE are both unset, so it is unknown where the clients keep their files; nothing was written.",
      );
    if (target !== undefined && action !== "remove") throw usage(`Unexpected argument '${target}'.`);
    const options = { program: context.host.program, overHttp: http, withDatabaseUrl };
    switch (action) {
      case "check":
        return await check(home, installation.platform, json, context);
      case "print":
        return await print(home, installation, options, context);
      case "remove":
        return await remove(home, target, apply, installation, context);
      default:
        return await install(action, home, apply, installation, options, context);
    }
  },
});

type Options = import("../setup/block.ts").BlockOptions;

async function check(home: string, platform: string, json: boolean, { host, out }: CommandContext): Promise<number> {
  const { checkClients } = await import("../setup/check.ts");
  const report = await checkClients(home, host.program, platform);
  if (json) out.json(report);
  else {
    for (const { client, file, state, problems } of report.clients) {
      out.line(`${client.padEnd(14)} ${state.padEnd(15)} ${client === file ? "" : file}`.trimEnd());
      for (const problem of problems) out.line(`  → ${problem}`);
    }
    for (const { variable, serious, values } of report.divergences) {
      out.line(`${variable} differs${serious ? " (serious: the search of some of them is lexical only, without a sign)" : ""}:`);
      for (const [client, value] of Object.entries(values)) out.line(`  ${client}: ${value}`);
    }
    if (report.clients.every(({ state }) => state !== "configured"))
      out.line(`\nNo client is connected yet. To connect one: ${commandLine(host.typed, ["setup", "claude", "--apply"])}`);
  }
  return report.healthy ? 0 : 1;
}

async function print(home: string, installation: Installation, options: Options, { out }: CommandContext): Promise<number> {
  const [{ clients, fileOf }, { buildBlock }] = await Promise.all([import("../setup/clients.ts"), import("../setup/block.ts")]);
  for (const client of clients) {
    const { block } = buildBlock(client, installation, options);
    out.line(`${client.title}: ${fileOf(client, home)}`);
    out.line(client.format.put("", fileOf(client, home), block));
  }
  return 0;
}

/** The place and the entry behind a word. */
async function place(word: string, home: string, installation: Installation, options: Options, context: CommandContext) {
  if (word === "hook") {
    const { hookBlock, hookFile, sessionHook } = await import("../setup/hook.ts");
    const block = hookBlock(context.host.program, installation.platform);
    return {
      target: { id: "hook", title: "Claude Code's session-start hook", file: hookFile(home), format: sessionHook(block) },
      built: { block, remarks: [] },
    };
  }
  const [{ clients, fileOf }, { buildBlock }] = await Promise.all([import("../setup/clients.ts"), import("../setup/block.ts")]);
  const client = clients.find(({ id }) => id === word);
  if (client === undefined) throw usage(`Unknown client '${word}'. Known: ${clients.map(({ id }) => id).join(", ")}.`);
  return {
    target: { id: client.id, title: client.title, file: fileOf(client, home), format: client.format },
    built: buildBlock(client, installation, options),
  };
}

async function install(
  word: string,
  home: string,
  apply: boolean,
  installation: Installation,
  options: Options,
  context: CommandContext,
): Promise<number> {
  const { out } = context;
  if (word === "hook" && !context.commands.some(({ name }) => name === "recall"))
    throw usage("This version has no command 'recall', which the session hook would run; nothing was written.");
  const { target, built } = await place(word, home, installation, options, context);
  const { applyInstall, planInstall } = await import("../setup/install.ts");
  const plan = await planInstall(target, built.block);
  for (const remark of built.remarks) out.note(remark);
  if (!plan.changes) {
    out.line(`${target.title} is connected already: ${target.file}`);
    return 0;
  }
  if (!apply) {
    const words = [
      "setup",
      word,
      ...(options.overHttp ? ["--http"] : []),
      ...(options.withDatabaseUrl ? ["--with-database-url"] : []),
      "--apply",
    ];
    showPlan(out, context.host.typed, {
      steps: [
        `${plan.before === undefined ? "Create" : "Change"} ${target.file} for ${target.title}:`,
        // As it will stand in the file: Codex has no JSON.
        target.format.put("", target.file, plan.block).trimEnd(),
      ],
      apply: words,
    });
    return 0;
  }
  const backup = await applyInstall(plan, installation.configDir(), new Date());
  out.line(`${target.title} is connected: ${target.file}`);
  if (backup !== undefined) out.line(`What was there before: ${backup}`);
  out.line("Restart the client; it reads the file when it starts.");
  return 0;
}

async function remove(
  home: string,
  only: string | undefined,
  apply: boolean,
  installation: Installation,
  context: CommandContext,
): Promise<number> {
  const { out } = context;
  const { applyRemoval, planRemoval } = await import("../setup/uninstall.ts");
  const configDir = installation.configDir();
  const options = { program: context.host.program, withDatabaseUrl: true };
  const plans = [];
  for (const word of only === undefined ? [...clientWords, "hook"] : [only]) {
    const [process, http] = await Promise.all(
      [false, true].map((overHttp) => place(word, home, installation, { ...options, overHttp }, context)),
    );
    if (process === undefined || http === undefined) continue;
    plans.push(await planRemoval(process.target, configDir, [process.built.block, http.built.block]));
  }
  const kept = plans.filter(({ removal }) => removal.kind === "kept");
  const due = plans.filter(
    ({ removal, receipt }) =>
      removal.kind === "delete" || removal.kind === "write" || (removal.kind === "nothing" && receipt !== undefined),
  );
  for (const { target, removal } of kept) if (removal.kind === "kept") out.note(`Kept: ${target.file} (${removal.reason}).`);
  if (due.length === 0) {
    out.line("There is nothing of ours to take away.");
    return 0;
  }
  const steps = due.map(({ target, removal }) =>
    removal.kind === "delete"
      ? `Delete ${target.file}, which setup created.`
      : removal.kind === "write"
        ? `${removal.exact ? "Put back" : "Take our entry out of"} ${target.file}.`
        : `Delete our backups of ${target.file}.`,
  );
  if (!apply) {
    showPlan(out, context.host.typed, { steps, apply: ["setup", "remove", ...(only === undefined ? [] : [only]), "--apply"] });
    return 0;
  }
  for (const plan of due) await applyRemoval(plan, configDir);
  for (const step of steps)
    out.line(
      step
        .replace(/^Delete/, "Deleted")
        .replace(/^Put back/, "Put back")
        .replace(/^Take our entry out of/, "Took our entry out of"),
    );
  return 0;
}
