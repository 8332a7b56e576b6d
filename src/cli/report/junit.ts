/**
 * A report as JUnit's XML, as Jenkins, GitLab and others read it: https://github.com/testmoapp/junitxml has what they agree on.
 */
import type { TestCase, TestReport } from "./types";

/** Characters that XML 1.0 does not have (section 2.2), and halves of pairs. */
const NOT_XML = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** The report as one file. An attachment is named in the output of the suite, in the form that Jenkins and GitLab know. */
export function junitOf({ name, cases, output = "", attachments = [] }: TestReport): string {
  const counts = attributes({
    name,
    tests: cases.length,
    failures: cases.filter(({ state }) => state === "failed").length,
    errors: 0,
    skipped: cases.filter(({ state }) => state === "skipped").length,
    time: seconds(cases.reduce((sum, { duration_ms }) => sum + duration_ms, 0)),
  });
  const attached = attachments.map((path) => `[[ATTACHMENT|${path}]]`);
  const printed = [output, ...attached].filter(Boolean).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts}>
<testsuite ${counts}>
${cases.map(testCase).join("")}${printedText(printed)}</testsuite>
</testsuites>
`;
}

function testCase({ name, group, state, message = "", output = "", duration_ms }: TestCase): string {
  const why = attributes({ message: message.split("\n")[0] ?? "" });
  const inner =
    state === "failed"
      ? `<failure ${why}>${escaped(message)}</failure>\n`
      : state === "skipped"
        ? `<skipped ${why}/>\n`
        : "";
  const about = attributes({ name, classname: group, time: seconds(duration_ms) });
  return `<testcase ${about}>\n${inner}${printedText(output)}</testcase>\n`;
}

const printedText = (text: string) => (text === "" ? "" : `<system-out>${escaped(text)}</system-out>\n`);

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escaped(String(value)).replaceAll(/[\t\n\r]/g, " ")}"`)
    .join(" ");
}

const escaped = (text: string) => Bun.escapeHTML(text.replaceAll(NOT_XML, "\ufffd"));

const seconds = (ms: number) => (ms / 1_000).toFixed(3);
