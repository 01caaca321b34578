import { ok, outsideCheck, warn } from "../check.ts";

export default outsideCheck("secret_files", async ({ exposedFiles }) => {
  const exposed = await exposedFiles();
  return exposed.length === 0
    ? ok("readable by their owner only")
    : warn(`readable by others: ${exposed.join(", ")}`, `chmod 600 ${exposed.join(" ")}`);
});
