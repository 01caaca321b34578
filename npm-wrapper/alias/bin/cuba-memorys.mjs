#!/usr/bin/env node
import { start } from "memory-industry/shim";

await start(process.argv.slice(2));
