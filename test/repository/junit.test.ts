import { expect, test } from "bun:test";
import { readJunit } from "../../scripts/junit.ts";

/** As bun 1.4.5 writes it, shortened. */
const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="5" failures="2" skipped="1">
  <testsuite name="test/a.test.ts" file="test/a.test.ts">
    <testcase name="good &gt; better" classname="outer" time="0.1" file="test/a.test.ts" line="2" assertions="1" />
    <testcase name="bad &lt;x&gt; &amp; y" classname="outer" time="0.2" file="test/a.test.ts" line="2" assertions="1">
      <failure type="AssertionError" message="short">AssertionError: long&#10;  &quot;b&quot;: &#x41;&#10;</failure>
    </testcase>
    <testcase name="later" classname="outer" time="0" file="test/a.test.ts" line="2" assertions="0">
      <skipped />
    </testcase>
    <testcase name="slow" classname="" time="0.1" file="test/a.test.ts" line="3" assertions="0">
      <failure type="TimeoutError" message="test timed out" />
    </testcase>
    <testcase name="last" classname="" time="0.1" file="test/a.test.ts" line="3" assertions="0" />
  </testsuite>
</testsuites>`;

test("passed, skipped and failed tests of a report are told apart, with the text of each failure", () => {
  expect(readJunit(REPORT)).toEqual({
    passed: 2,
    skipped: 1,
    failures: [
      { file: "test/a.test.ts", name: "outer > bad <x> & y", text: 'AssertionError: long\n  "b": A' },
      { file: "test/a.test.ts", name: "slow", text: "test timed out" },
    ],
  });
});

test("an empty report counts nothing", () => {
  expect(readJunit('<testsuites name="bun test" tests="0"></testsuites>')).toEqual({ passed: 0, skipped: 0, failures: [] });
});
