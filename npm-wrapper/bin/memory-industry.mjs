#!/usr/bin/env node
import { start } from "../shim.mjs";

await start(process.argv.slice(2));
