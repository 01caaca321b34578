/**
 * Loaded before every test file (bunfig.toml): property tests draw the same cases in every run (`FC_SEED=7 bun test …` draws others), and temporary
 * directories go when the tests are done.
 */
import { afterAll } from "bun:test";
import fc from "fast-check";
import { removeTemporary } from "./support/temporary.ts";

const SEED = 20_260_101;

fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? SEED) });

afterAll(removeTemporary);
