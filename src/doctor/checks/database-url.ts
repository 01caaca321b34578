import { ok, ownerCheck } from "../check.ts";

export default ownerCheck("database_url", async ({ place }) => ok(place));
