/** The file that says what hosts should have: scripts beside it, and what is wrong in it, with its place. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withinRoom } from "../../../../src/desk/plans/state/compared";
import { readStateFile } from "../../../../src/desk/plans/state/operations/file";
import { diffCode, differenceText, diffText } from "../../../../src/desk/plans/state/operations/text";
import type { Difference } from "../../../../src/wire/state/messages";
import { temporaryFolder, testService } from "../../../support";

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder();
  mkdirSync(join(folder.path, "scripts"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  return { at: (name: string) => join(folder.path, name), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const LAB = `name: lab
scripts:
  refresh: scripts/refresh.json
  greet:
    file: scripts/greet.yaml
    variables: {site: Bonn}
  inline:
    actions: [[AC_sleep, {seconds: 0}]]
    timeout_s: 5m
jobs:
  refresh:
    script: refresh
    interval_seconds: 15m
`;

const FILES = {
  "lab.yaml": LAB,
  "scripts/refresh.json": '[["AC_sleep", {"seconds": 0}]]',
  "scripts/greet.yaml": "timeout: 1m\nneeds: [site]\nactions:\n  - [AC_log, {message: 'hello ${site}'}]\n",
};

test("scripts are read from beside the file, with what they say of their run", async () => {
  using folder = folderWith(FILES);
  const { wanted, release } = await readStateFile(folder.at("lab.yaml"));
  expect(release).toEqual([]);
  expect(wanted).toEqual({
    name: "lab",
    prune: false,
    scripts: {
      refresh: { actions: [["AC_sleep", { seconds: 0 }]] },
      greet: {
        ...{ stop_on_error: true, timeout_s: 60, parameters: ["site"], variables: { site: "Bonn" } },
        actions: [["AC_log", { message: "hello ${site}" }]],
      },
      inline: { actions: [["AC_sleep", { seconds: 0 }]], timeout_s: 300 },
    },
    jobs: { refresh: { script: "refresh", interval_seconds: 900 } },
    settings: {},
    secrets: [],
  });
});

test("YAML, JSON and JSON5 say the same", async () => {
  const json = JSON.stringify({ name: "lab", secrets: ["a"] });
  using folder = folderWith({
    "a.yaml": "name: lab\nsecrets: [a]\n",
    "b.json": json,
    "c.json5": "{name: 'lab', secrets: ['a'],}",
  });
  const read = await Promise.all(
    ["a.yaml", "b.json", "c.json5"].map((name) => readStateFile(folder.at(name))),
  );
  expect(new Set(read.map((one) => JSON.stringify(one))).size).toBe(1);
});

test("the release of the version is beside the file, in one path or several, and is not sent to hosts", async () => {
  using folder = folderWith({
    "one.yaml": "name: lab\nversion: 0.3.0\nrelease: svc-0.3.0\n",
    "two.yaml": "name: lab\nversion: 0.3.0\nrelease: [svc-linux-x64, /mnt/svc-linux-arm64]\n",
  });
  const one = await readStateFile(folder.at("one.yaml"));
  expect(one.release).toEqual([folder.at("svc-0.3.0")]);
  expect(one.wanted).toMatchObject({ name: "lab", version: "0.3.0" });
  expect(one.wanted).not.toHaveProperty("release");
  const two = await readStateFile(folder.at("two.yaml"));
  expect(two.release).toEqual([folder.at("svc-linux-x64"), "/mnt/svc-linux-arm64"]);
});

describe("what is wrong is named with its place:", () => {
  const faulty: ReadonlyArray<readonly [what: string, text: string, message: RegExp]> = [
    ["an unknown field", "name: lab\nscript: {}\n", /bad\.yaml:2:\d+: script: unknown field/],
    [
      "a time with an unknown unit",
      "name: lab\njobs:\n  x: {script: own, interval_seconds: 15q}\n",
      /bad\.yaml:3:\d+: jobs\.x\.interval_seconds: expected a number of seconds, or a time such as 15m, but found "15q"$/,
    ],
    [
      "a time that is too long",
      "name: lab\njobs:\n  x: {script: own, interval_seconds: 999d}\n",
      /bad\.yaml:3:\d+: jobs\.x\.interval_seconds: expected at most \d/,
    ],
    ["no name", "secrets: [a]\n", /bad\.yaml:1:1: name: missing/],
    ["a bad name of a secret", "name: lab\nsecrets:\n  - ok\n  - a b\n", /bad\.yaml:4:5: secrets\[1\]: /],
    [
      "a job without a time",
      "name: lab\njobs:\n  x:\n    script: y\n",
      /bad\.yaml:4:5: jobs\.x: expected one of interval_seconds and cron_expression/,
    ],
    [
      "a job of nothing",
      "name: lab\njobs:\n  x: {interval_seconds: 60}\n",
      /bad\.yaml:3:6: jobs\.x: expected one of script .* and script_path/,
    ],
    [
      "a file that is not there",
      "name: lab\nscripts:\n  x: scripts/none.json\n",
      /bad\.yaml:3:6: scripts\.x\.file: no such file/,
    ],
    [
      "a file that has no list",
      "name: lab\nscripts:\n  x: other.json\n",
      /bad\.yaml:3:6: scripts\.x\.file: expected the file to have a list of actions/,
    ],
    ["a plain list", "- 1\n", /bad\.yaml: expected what hosts should have/],
    [
      "a release without its version",
      "name: lab\nrelease: svc-0.3.0\n",
      /bad\.yaml:2:10: release: expected version beside it/,
    ],
    [
      "a release that is no path",
      "name: lab\nversion: 0.3.0\nrelease: [svc, 3]\n",
      /bad\.yaml:3:10: release: expected the path of a release/,
    ],
  ];
  for (const [what, text, message] of faulty)
    test(what, async () => {
      using folder = folderWith({ "bad.yaml": text, "other.json": '{"a": 1}' });
      await expect(readStateFile(folder.at("bad.yaml"))).rejects.toThrow(message);
    });

  test("an action in the file, and one beside it", async () => {
    using folder = folderWith({
      "bad.yaml": "name: lab\nscripts:\n  x:\n    actions:\n      - [AC_slep, {seconds: 0}]\n",
      "beside.yaml": "name: lab\nscripts:\n  x: scripts/x.json\n",
      "scripts/x.json": '[\n  ["AC_sleep", {"seconds": -1}]\n]',
    });
    await using made = testService();
    const executor = await made.service.executor();
    const read = (name: string) => readStateFile(folder.at(name), (actions) => executor.check(actions));
    await expect(read("bad.yaml")).rejects.toThrow(/bad\.yaml:5:\d+: .*AC_slep/);
    await expect(read("beside.yaml")).rejects.toThrow(/x\.json:2:\d+: .*seconds/);
  });
});

const difference = (more: Partial<Difference>): Difference => ({
  ...{ kind: "script", name: "x", state: "missing", by: "apply", drift: true, found: null, wanted: null },
  ...more,
});

const answer = (state: "same" | "drift" | "refused" | "unreachable", differences: Difference[] = []) => ({
  ...{ label: "a", state, why: state === "refused" ? "no" : null, differences, applied: null },
  ...{ to_apply: 0, left_out: 0 },
});

test("the exit code says what was found, as that of diff does", () => {
  const code = (...hosts: Array<ReturnType<typeof answer>>) => diffCode({ hosts });
  expect([code(answer("same")), code(answer("same"), answer("drift"))]).toEqual([0, 1]);
  expect([code(answer("drift"), answer("unreachable")), code(answer("refused"))]).toEqual([2, 2]);
});

test("a person reads what is missing, what differs, and what to do by hand", () => {
  const lines = [
    difference({ wanted: "ab".repeat(32) }),
    difference({ kind: "job", state: "differs", found: "variables" }),
    difference({ kind: "secret", name: "crm", by: "hand" }),
    difference({
      kind: "version",
      name: "version",
      state: "differs",
      by: "hand",
      found: "0.2.0",
      wanted: "0.3.0",
    }),
    difference({
      ...{ kind: "version", name: "version", state: "differs", by: "hand" },
      ...{ found: "0.4.0", wanted: "0.3.0" },
    }),
    difference({
      ...{ kind: "black_box", name: "black_box", state: "differs", by: "apply" },
      ...{ found: "paused", wanted: "on" },
    }),
    difference({
      ...{ kind: "black_box", name: "black_box", state: "differs", by: "hand" },
      ...{ found: "paused", wanted: "on" },
    }),
    difference({
      ...{ kind: "black_box", name: "black_box", state: "taken", by: "hand" },
      ...{ found: "kiosks", wanted: "on" },
    }),
    difference({ kind: "job", name: "old", state: "besides", by: "prune" }),
  ].map((one) => differenceText(one, "kiosk-1"));
  expect(lines).toEqual([
    "+ script x: abababababab",
    "~ job x: variables",
    "! secret crm: has no value: `svc secret set crm` there sets it",
    "! version: 0.2.0, expected 0.3.0: `svc admin upgrade FILES --on kiosk-1`",
    "! version: 0.4.0, expected 0.3.0: a desk takes no host back to an earlier version",
    "~ black box: paused -> on",
    "! black box: paused, expected on: a person paused it: `svc black-box resume` there",
    "! black box: the state kiosks wants it off: take black_box out of one of the two files, and apply that one first",
    "- job old: no longer in the file",
  ]);
});

test("what a host has besides is counted, and named where it is asked for", () => {
  const besides = difference({ name: "own", state: "besides", by: "nothing", drift: false });
  const diff = { hosts: [answer("drift", [difference({}), besides])] };
  expect(diffText(diff, false)).toContain("and 1 that no line of the file is about (--all shows them)");
  expect(diffText(diff, true)).toContain("  script own: not managed");
  expect(diffText(diff, true)).toEndWith("1 host: 1 drift");
});

test("what a host says stays on its line, and is short, whatever it is", () => {
  const forged = `1\n\n3 hosts: 3 same\n\u001b[2J${"x".repeat(10_000)}`;
  const kinds = ["script", "job", "setting", "secret", "black_box", "version", "state"] as const;
  const states = ["missing", "differs", "besides", "taken", "unknown"] as const;
  for (const kind of kinds)
    for (const state of states)
      for (const by of ["apply", "prune", "hand", "nothing"] as const) {
        const text = differenceText(
          difference({ kind, state, by, name: forged, found: forged, wanted: forged }),
          "a",
        );
        expect(text).not.toMatch(/[\u0000-\u001f]/);
        expect(text.length).toBeLessThan(1_000);
      }
});

test("of more differences than there is room for, those are listed that applying is about, and the rest is counted", () => {
  const besides = Array.from({ length: 400 }, (_, nth) =>
    difference({ name: `own-${nth}`, state: "besides", by: "nothing", drift: false }),
  );
  const big = difference({ kind: "setting", name: "big", by: "hand", found: "x".repeat(5_000) });
  const missing = difference({ name: "last" });
  const shortened = withinRoom(answer("drift", [...besides, big, missing]), 1_000);
  expect(shortened.differences.at(-1)).toEqual(missing);
  expect(JSON.stringify(shortened.differences).length).toBeLessThanOrEqual(1_000);
  expect(shortened.differences.length + shortened.left_out).toBe(402);
  expect(diffText({ hosts: [shortened] }, false)).toContain(
    `and ${shortened.left_out} for which an answer about so many hosts has no room: --on a lists them`,
  );
});
