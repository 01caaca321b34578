import { join } from "node:path";
import { usage } from "../../kernel/errors.ts";
import { oneOf, text, webUrl } from "../../kernel/kinds.ts";
import { maybePositional, option } from "../arguments.ts";
import type { ChatState, CommandContext } from "../command.ts";
import { command } from "../define.ts";

const rungs = ["auto", "openai_compat", "claude_cli", "gemini_cli", "anthropic_api"] as const;

/** Who pays, said before anything is asked. */
const payers: Readonly<Record<(typeof rungs)[number], string>> = {
  auto: "the whole ladder: an endpoint that is set, the claude program with its login, the Anthropic API with its key. Their accounts pay.",
  openai_compat: "the chat endpoint that is set. A rented one is paid by its key's account; a local one costs nothing.",
  claude_cli: "the claude program on this machine. The account that it is logged in with pays.",
  gemini_cli: "the gemini program on this machine. The account that it is logged in with pays.",
  anthropic_api: "the Anthropic API. The account of ANTHROPIC_API_KEY pays.",
};

const names = {
  judge: "MEMORY_INDUSTRY_JUDGE",
  provider: "MEMORY_INDUSTRY_LLM_PROVIDER",
  url: "MEMORY_INDUSTRY_LLM_BASE_URL",
  model: "MEMORY_INDUSTRY_LLM_MODEL",
  key: "MEMORY_INDUSTRY_LLM_API_KEY",
} as const;

export default command({
  name: "llm",
  summary: "choose the language model that may be asked, or show what is chosen",
  needs: "nothing",
  writes: "files",
  network: "a look at the chosen endpoint, with status alone",
  args: {
    what: maybePositional(oneOf(["status", "list", "set", "use", "clear"]), "status (default), list, set, use or clear"),
    name: maybePositional(text, "with set: a provider of the list, or custom; with use: a rung, or none"),
    key: option(text, "with set: the key; - reads it from standard input, which no other process sees", { hint: "KEY", short: "k" }),
    model: option(text, "with set: the model", { hint: "NAME", short: "m" }),
    url: option(webUrl, "with set: the address up to the version", { hint: "URL", short: "u" }),
  },
  details: [
    "set    writes a chat service to llm.env (mode 0600); setting one is choosing it\n" +
      `use    ${rungs.join(", ")} lets the judge use what costs money; none takes that back\n` +
      "clear  deletes llm.env",
    "Without a choice nothing that costs money is ever asked, whatever program or key lies on this machine.",
  ],
  run: async ({ what = "status", name, key, model, url }, context) => {
    if (what !== "set" && (key ?? model ?? url) !== undefined) throw usage("--key, --model and --url go with set.");
    switch (what) {
      case "status":
        return await status(context);
      case "list":
        return await list(context);
      case "set":
        if (name === undefined) throw usage("<name> is missing: a provider of 'memory-industry llm list', or custom with --url.");
        return await set(name.toLowerCase(), { key, model, url }, context);
      case "use":
        return await use(name, context);
      case "clear":
        return await clear(context);
    }
  },
});

const fileOf = ({ host }: CommandContext): string => join(host.installation().configDir(), "llm.env");

/** What runs already has read its settings. */
const LATER = "A daemon that runs already keeps what it started with; it ends by itself when nobody is connected.";

async function list({ out }: CommandContext): Promise<undefined> {
  const { providers } = await import("../../llm/providers.ts");
  for (const { id, baseUrl, model, keys } of providers)
    out.line(`${id.padEnd(12)} ${model.padEnd(46)} ${baseUrl}${keys.length === 0 ? "" : `  (key: ${keys.join(" or ")})`}`);
  out.line(`${"custom".padEnd(12)} any OpenAI-compatible service, with --url`);
  return undefined;
}

interface Given {
  readonly key: string | undefined;
  readonly model: string | undefined;
  readonly url: string | undefined;
}

async function set(name: string, { key, model, url }: Given, context: CommandContext): Promise<undefined> {
  const { out, host } = context;
  const { providers } = await import("../../llm/providers.ts");
  const { changeValues } = await import("../llm-file.ts");
  const known = providers.find(({ id }) => id === name);
  if (known === undefined && url === undefined)
    throw usage(
      `'${name}' is no provider that is known, and no --url was given. 'memory-industry llm list' shows them. Nothing was written.`,
    );
  const typed = key === "-" ? (await host.stdin()).trim() : key?.trim();
  if (typed !== undefined && (typed === "" || /[\s\p{Cc}]/u.test(typed)))
    throw usage("The key is empty or holds a blank or a line break. Nothing was written.");
  const file = fileOf(context);
  await changeValues(file, {
    [names.provider]: name === "custom" ? undefined : name,
    [names.url]: url?.replace(/\/+$/, ""),
    [names.model]: model,
    [names.key]: typed,
  });
  out.line(`Chosen: ${name}, ${url ?? known?.baseUrl ?? ""}, model ${model ?? known?.model ?? "the service's own"}. Written to ${file}.`);
  const needsKey = known !== undefined && known.keys.length > 0 && typed === undefined;
  if (needsKey)
    out.tell(`No key was given: ${known.keys.join(" or ")} is read from the environment, or 'memory-industry llm set ${name} --key -'.`);
  out.line(`The account of that service pays for what it is asked. ${LATER}`);
  return undefined;
}

async function use(name: string | undefined, context: CommandContext): Promise<undefined> {
  const { out, host } = context;
  const { changeValues, readValues } = await import("../llm-file.ts");
  const rung = rungs.find((each) => each === name?.toLowerCase());
  const isNone = name?.toLowerCase() === "none";
  if (rung === undefined && !isNone) throw usage(`use takes one of ${rungs.join(", ")} or none; got '${name ?? ""}'. Nothing was written.`);
  const file = fileOf(context);
  await changeValues(file, { [names.judge]: rung });
  if (rung === undefined) {
    out.line("Taken back: what costs money is not asked any more.");
    const left = await readValues(file);
    if (left[names.provider] !== undefined || left[names.url] !== undefined)
      out.tell("A chat service is still set, which is a choice too; 'memory-industry llm clear' takes it away.");
  } else {
    out.line(`Chosen: ${payers[rung]}`);
    out.line(`Written to ${file}.`);
  }
  const { overriding } = host.chatState();
  if (overriding !== undefined) out.note(`${overriding} is set in the environment and wins over the file.`);
  out.line(LATER);
  return undefined;
}

async function clear(context: CommandContext): Promise<undefined> {
  const { rm } = await import("node:fs/promises");
  const { exists } = await import("../setup/files.ts");
  const file = fileOf(context);
  const wasThere = await exists(file);
  await rm(file, { force: true });
  context.out.line(wasThere ? `Deleted ${file}. ${LATER}` : `${file} is not there; nothing to delete.`);
  return undefined;
}

async function status(context: CommandContext): Promise<undefined> {
  const { out, host } = context;
  const { exists } = await import("../setup/files.ts");
  const file = fileOf(context);
  const state = host.chatState();
  out.line(`file      ${file}${(await exists(file)) ? "" : " (not there)"}`);
  out.line(`provider  ${state.provider ?? "none"}`);
  out.line(`url       ${state.url ?? "none"}`);
  out.line(`model     ${state.model ?? "the backend's own"}`);
  out.line(`key       ${state.hasKey ? "set" : "missing"}`);
  out.line(
    `judge     ${state.choice ?? "nothing chosen"}${state.overriding === undefined ? "" : ` (${state.overriding} in the environment)`}`,
  );
  out.line(`asked     ${state.chosen.length === 0 ? "nobody: only the local model and a client's own" : state.chosen.join(", ")}`);
  if (state.problem !== undefined) out.tell(`problem   ${state.problem}`);
  if (state.lying.length > 0) out.line(`unused    ${state.lying.join(", ")}: there, and nobody's choice`);
  const probe = await probeLine(state, context);
  if (probe !== undefined) out.line(`probe     ${probe}`);
  return undefined;
}

/** Only what was chosen is looked at, and only an endpoint: a program would be started, and an answer might cost. */
async function probeLine({ hasEndpoint }: ChatState, { host }: CommandContext): Promise<string | undefined> {
  if (!hasEndpoint) return undefined;
  const { reached, detail } = await host.probeChat();
  return reached ? `the endpoint answers (${detail})` : `the endpoint does not answer: ${detail}`;
}
