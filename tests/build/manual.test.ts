/** The manual pages that packages have. */
import { expect, test } from "bun:test";
import { $ } from "bun";
import { manualPages, writeManual } from "../../build/manual";
import { registry } from "../../commands";
import { findNoun } from "../../src/cli/registry";
import { temporaryFolder, testWith } from "../support";

const edition = { version: "1.2.3", date: "2026-11-23" };

test("svc, each noun and each subcommand has a manual page", async () => {
  const expected = ["svc.1"];
  for (const noun of Object.keys(registry.nouns)) {
    const verbs = Object.keys((await findNoun(registry, noun))?.verbs ?? {});
    expected.push(`svc-${noun}.1`, ...verbs.map((verb) => `svc-${noun}-${verb}.1`));
  }
  const pages = await manualPages(edition);
  expect(pages.map(({ name }) => name)).toEqual(expected.sort());
});

testWith("mandoc")(
  "mandoc finds nothing to complain about in any page",
  async () => {
    using folder = temporaryFolder();
    const paths = await writeManual(folder.path, edition);
    expect(await $`mandoc -Tlint ${paths}`.nothrow().text()).toBe("");
  },
  60_000,
);

testWith("mandoc")("a page has the flags, defaults, examples and routes of its subcommand", async () => {
  const page = (await manualPages(edition)).find(({ name }) => name === "svc-audit-list.1");
  const printed = await $`mandoc -Tascii -Owidth=100 < ${new Blob([page?.text ?? ""])}`.text();
  // A character that is struck twice is bold.
  const shown = printed.replaceAll(/.\u0008/g, "");
  expect(shown).toContain("svc-audit-list - list rows of the audit log, newest first\n");
  expect(shown).toMatch(/--limit value\n +The maximum number of rows\. Default: 200\./);
  expect(shown).toMatch(/The same as GET \/audit\/list over HTTP, and as AC_audit_log_list/);
  expect(shown).toMatch(/svc audit list --since 1h\n +The last hour/);
  expect(shown).toMatch(/svc 1\.2\.3 +2026-11-23 +SVC-AUDIT-LIST\(1\)/);
});
