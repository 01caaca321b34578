import { ok, ownerCheck } from "../check.ts";

export default ownerCheck("mode", async ({ mode }) => ok(`${mode.name}: ${mode.description}`));
