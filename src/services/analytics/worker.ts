/** A thread for one measure of a graph: it gets the columns, answers with columns, and ends. In the compiled program this file is an entry point of the build. */
import type { IndexedGraph } from "../../domain/graph/indexed.ts";
import { type Measure, measures } from "./measures.ts";

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<{ readonly measure: Measure; readonly graph: IndexedGraph }>) => {
  self.postMessage(measures[data.measure](data.graph));
};
