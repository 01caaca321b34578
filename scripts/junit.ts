/** Reads what `bun test --reporter=junit` wrote: how many tests there were, and every failure with its text. */

export interface TestFailure {
  readonly file: string;
  readonly name: string;
  readonly text: string;
}

export interface TestReport {
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly TestFailure[];
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

const decoded = (text: string): string =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[name] ?? whole;
  });

const attribute = (tag: string, name: string): string => decoded(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? "");

/** `xml` in Bun's form of JUnit: a `testcase` either closes itself (passed) or holds `failure` or `skipped`. */
export function readJunit(xml: string): TestReport {
  let passed = 0;
  let skipped = 0;
  const failures: TestFailure[] = [];
  for (const [, tag = "", closed, body = ""] of xml.matchAll(/<testcase\b((?:[^>"]|"[^"]*")*?)(?:(\/)>|>([\s\S]*?)<\/testcase>)/g)) {
    const failure = /<failure\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/failure>)/.exec(body);
    if (closed === undefined && failure !== null) {
      const text = decoded(failure[2] ?? "").trim();
      const suite = attribute(tag, "classname");
      failures.push({
        file: attribute(tag, "file"),
        name: [suite, attribute(tag, "name")].filter((part) => part !== "").join(" > "),
        text: text === "" ? attribute(failure[1] ?? "", "message") : text,
      });
    } else if (body.includes("<skipped")) skipped++;
    else passed++;
  }
  return { passed, skipped, failures };
}
