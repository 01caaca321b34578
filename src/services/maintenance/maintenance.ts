/** Everything that keeps a memory in order, for the tool and for the cycle. */
import type { NodeMetricsService } from "../analytics/node-metrics.ts";
import type { Reembed } from "../embedding/reembed.ts";
import type { PaceOfCall } from "../pace.ts";
import type { Fading } from "./fading.ts";
import type { Overview } from "./overview.ts";
import type { Pairs } from "./pairs.ts";
import type { Pruning } from "./pruning.ts";
import type { Summaries } from "./summaries.ts";

export interface Maintenance {
  readonly fading: Fading;
  readonly overview: Overview;
  readonly pairs: Pairs;
  readonly pruning: Pruning;
  readonly summaries: Summaries;
  readonly reembed: Reembed;
  readonly nodeMetrics: NodeMetricsService;
  /** For what takes long in a call. */
  readonly paceOf: PaceOfCall;
}
