import { usage } from "../../kernel/errors.ts";
import { oneOf, path, text } from "../../kernel/kinds.ts";
import { flag, option, positional } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";
import { createProgress } from "../progress.ts";

export default command({
  name: "models",
  summary: "download models, or show what is installed",
  needs: "nothing",
  writes: "files",
  network: "the model hub, or MEMORY_INDUSTRY_MODELS_URL",
  args: {
    what: positional(oneOf(["embed", "reranker", "nli", "all", "runtime", "status"]), "embed, reranker, nli, all, runtime or status"),
    model: option(text, "with embed, reranker, nli: another model of the catalogue", { hint: "NAME" }),
    gpu: flag("with reranker: the file for a card; with runtime: the libraries that use one; with all: both"),
    from: option(path, "with runtime --gpu: take the libraries from this folder", { hint: "FOLDER" }),
    allowUnverified: flag("take a file that nobody vouches for"),
    json: flag("with status: print it as JSON"),
  },
  details: [
    "embed     the embedding model, 135 MB: search by meaning, in any language\n" +
      "reranker  reads the best hits again beside the question, 588 MB: better order, slower\n" +
      "nli       the entailment model, 1.1 GB: checks claims against memories\n" +
      "all       these three\n" +
      "runtime   nothing to fetch: shows the ONNX runtime inside the program; with --gpu the libraries beside it that use an NVIDIA card\n" +
      "status    what is installed, with digests compared",
    "A download is resumed where it broke off, verified by SHA-256, and put in place only when it is whole.",
  ],
  run: async ({ what, model, gpu, from, allowUnverified, json }, context) => {
    if (model !== undefined && !isSlot(what)) throw usage("--model goes with 'models embed', 'models reranker' and 'models nli'.");
    if (gpu && what !== "reranker" && what !== "runtime" && what !== "all")
      throw usage("--gpu goes with 'models reranker', 'models runtime' and 'models all'.");
    if (from !== undefined && !(what === "runtime" && gpu)) throw usage("--from goes with 'models runtime --gpu'.");
    switch (what) {
      case "status":
        return await status(json, context);
      case "runtime":
        if (gpu) await providers(from, allowUnverified, context);
        else context.out.line(`ONNX Runtime ${context.host.installation().runtimeVersion}, inside the program. There is nothing to fetch.`);
        return 0;
      case "all":
        for (const slot of slots) await download(slot, { gpu: gpu && slot === "reranker" }, allowUnverified, context);
        if (gpu) await providers(undefined, allowUnverified, context);
        return 0;
      default:
        await download(what, { name: model, gpu }, allowUnverified, context);
        return 0;
    }
  },
});

/** The libraries that let the reranker run on a card, beside the runtime inside the program. */
async function providers(from: string | undefined, allowUnverified: boolean, { host, out }: CommandContext): Promise<void> {
  const { installProviders, providerBuild } = await import("../../inference/models/provider-libraries.ts");
  const { runtimeVersion, runtimeDirectory, modelsUrl, platform, architecture } = host.installation();
  const progress = createProgress(host.stderr, host.isInteractive, () => performance.now());
  try {
    const { kind, unverified } = await installProviders({
      build: providerBuild,
      runtimeVersion,
      platform: `${platform}-${architecture}`,
      directory: runtimeDirectory(),
      mirrorUrl: modelsUrl,
      from,
      allowUnverified,
      signal: host.signal,
      onProgress: (file, received, total, index, count) => progress.show(`runtime ${index}/${count} ${file}`, received, total),
    });
    progress.end();
    out.line(
      `The libraries of ONNX Runtime ${runtimeVersion} for an NVIDIA card ${kind === "already" ? "are installed already" : "are installed"}.`,
    );
    for (const file of unverified) out.note(`Nobody vouches for ${file}; it was taken as it came.`);
    out.tell(
      `${unverified.length > 0 ? "CUDA and cuDNN of the versions they were built for" : providerBuild.needs} must be found by the loader (ldconfig, or LD_LIBRARY_PATH of the daemon). ` +
        "Then 'memory-industry models reranker --gpu', and start the daemon again: 'memory-industry doctor' says under gpu what runs where.",
    );
  } finally {
    progress.end();
  }
}

const slots = ["embed", "reranker", "nli"] as const;
const isSlot = (what: string) => slots.some((slot) => slot === what);

/** What makes a model that is not the slot's usual one the one in use. */
const choose = {
  embed: ({ name }: Chosen) => `CUBA_EMBED_MODEL=${name}, then memory-industry reembed`,
  reranker: ({ directory }: Chosen) => `CUBA_RERANKER_PATH=${directory}`,
  nli: ({ directory }: Chosen) => `CUBA_NLI_PATH=${directory}`,
} as const;

interface Chosen {
  readonly name: string;
  readonly directory: string;
}

async function download(
  slot: (typeof slots)[number],
  choice: { readonly name?: string | undefined; readonly gpu?: boolean },
  allowUnverified: boolean,
  { host, out }: CommandContext,
): Promise<void> {
  const [{ catalogue, chosenModel, HUB_URL }, { downloadModel }] = await Promise.all([
    import("../../inference/models/catalogue.ts"),
    import("../../inference/models/download.ts"),
  ]);
  const model = chosenModel(slot, choice);
  if (model === undefined)
    throw usage(
      `Unknown model '${choice.name}'. The catalogue has ${catalogue.flatMap((entry) => (entry.slot === slot ? [entry.name] : [])).join(", ")}.`,
    );
  const { cacheRoot, modelsUrl } = host.installation();
  const progress = createProgress(host.stderr, host.isInteractive, () => performance.now());
  try {
    const result = await downloadModel({
      model,
      cacheRoot: cacheRoot(),
      hubUrl: modelsUrl ?? HUB_URL,
      allowUnverified,
      signal: host.signal,
      onProgress: ({ file, receivedBytes, totalBytes, index, count }) =>
        progress.show(`${model.name} ${index}/${count} ${file}`, receivedBytes, totalBytes),
    });
    progress.end();
    out.line(`${model.name} ${result.kind === "already" ? "is installed already" : "is installed"}: ${result.directory}`);
    for (const { name: file, voucher } of result.files)
      if (voucher === "nobody") out.note(`Nobody vouches for ${file}; it was taken as it came.`);
    if (model !== chosenModel(slot, {})) out.tell(`To use it: ${choose[slot]({ name: model.name, directory: result.directory })}.`);
  } finally {
    progress.end();
  }
}

const MB = 1_000_000;

async function status(json: boolean, { host, out }: CommandContext): Promise<number> {
  const { modelStatus } = await import("../../inference/models/status.ts");
  const { cacheRoot, legacyCacheRoot, modelPlaces } = host.installation();
  const rows = await modelStatus({ cacheRoot: cacheRoot(), legacyCacheRoot, digests: true });
  const damaged = rows.some(({ state }) => state === "damaged");
  for (const { slot, variable, path } of modelPlaces)
    out.note(`${slot}: ${variable} names ${path}; that model is used, whatever stands here.`);
  if (json) out.json({ models: rows });
  else
    for (const { slot, name, isDefault, state, directory, files, note } of rows) {
      out.line(`${slot.padEnd(9)} ${name.padEnd(32)} ${state}${isDefault ? " (default)" : ""}`);
      if (directory !== undefined) out.line(`          ${directory}`);
      for (const { name: file, size, sha256 } of files)
        out.line(
          `          ${file.padEnd(20)} ${size === undefined ? "missing" : `${(size / MB).toFixed(1)} MB`}  ${sha256 ?? ""}`.trimEnd(),
        );
      if (note !== undefined) out.tell(`          → ${note}`);
    }
  return damaged ? 1 : 0;
}
