/** Loaded before every test file (bunfig.toml): property tests draw the same cases in every run. `FC_SEED=7 bun test …` draws others. */
import fc from "fast-check";

const SEED = 20_260_101;

fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? SEED) });
