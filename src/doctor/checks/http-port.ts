import { ok, outsideCheck, warn } from "../check.ts";

export default outsideCheck("http_port", async ({ httpAddress, probePort }) => {
  switch (await probePort()) {
    case "free":
      return ok(`${httpAddress} is free`);
    case "ours":
      return ok(`${httpAddress} is served by MemoryIndustry`);
    case "taken":
      return warn(
        `${httpAddress} is in use by another program`,
        "serve would need another address: CUBA_HTTP_ADDR. Clients on stdio need no port.",
      );
  }
});
