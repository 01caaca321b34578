import { GOLDEN_MIN_COSINE } from "../../inference/models/golden.ts";
import { fail, ok, ownerCheck, warn } from "../check.ts";

const INSTALL = "memory-industry models embed";

export default ownerCheck("onnx_model", async ({ embedder, goldenCosine, deep, signal }) => {
  const state = embedder.status();
  switch (state.state) {
    case "missing":
      return state.isDisabledByPlan === true
        ? warn(state.reason, "only a restart with more memory, or an explicit ONNX_MODEL_PATH, changes it")
        : warn(`search runs on words alone: ${state.reason}`, state.remedy ?? INSTALL);
    case "failed":
      return fail(`${state.model} does not load: ${state.reason}`, state.remedy ?? INSTALL);
    default: {
      const detail = `${state.model}, ${embedder.dimensions} dimensions, ${state.state === "ready" ? "loaded" : "on disk, not loaded yet"}`;
      // Comparing loads the model: only when it is loaded anyway, or when asked to.
      if (goldenCosine === undefined || (!deep && state.state !== "ready")) return ok(detail);
      const cosine = await goldenCosine(signal);
      return cosine >= GOLDEN_MIN_COSINE
        ? ok(`${detail}, golden vector matches`)
        : fail(`${detail}, but its golden vector is off (cosine ${cosine.toFixed(4)})`, state.remedy ?? INSTALL);
    }
  }
});
