/** The version of a file with its release: who is upgraded, and who gets the rest. */
import { expect, test } from "bun:test";
import { type HostCompared, withinRoom } from "../../../../src/desk/plans/state/compared";
import { differenceText } from "../../../../src/desk/plans/state/operations/text";
import {
  heldBack,
  heldBackLines,
  stillBehind,
  withReasons,
  withRelease,
} from "../../../../src/desk/plans/state/operations/upgrade-first";
import type { Difference } from "../../../../src/wire/state/messages";

const job: Difference = {
  ...{ kind: "job", name: "x", state: "missing", by: "apply", drift: true },
  ...{ found: null, wanted: "as the file says" },
};

/** A host with that version where 0.3.0 is wanted; null for one that gives no answer. */
function hostWith(version: string | null, label = "a"): HostCompared {
  const other: Difference = {
    ...{ kind: "version", name: "version", state: "differs", by: "hand", drift: true },
    ...{ found: version, wanted: "0.3.0" },
  };
  const about = { label, applied: null, left_out: 0, to_apply: 1 };
  if (version === null) return { ...about, state: "unreachable", why: "refused", differences: [] };
  return { ...about, state: "drift", why: null, differences: version === "0.3.0" ? [job] : [job, other] };
}

test("an earlier version is made right by applying, where the release is there; a later one never", () => {
  const shown = (version: string) => {
    const { differences, to_apply } = withRelease(hostWith(version));
    return [to_apply, ...differences.slice(1).map((one) => differenceText(one, "a"))];
  };
  expect([shown("0.2.0"), shown("0.3.0-rc.1"), shown("0.3.0")]).toEqual([
    [2, "~ version: 0.2.0 -> 0.3.0"],
    [2, "~ version: 0.3.0-rc.1 -> 0.3.0"],
    [1],
  ]);
  expect(shown("0.10.0")).toEqual([
    1,
    "! version: 0.10.0, expected 0.3.0: a desk takes no host back to an earlier version",
  ]);
});

test("the rest is for hosts that have said that they have the version, or a newer one", () => {
  const hosts = [
    ...[hostWith("0.3.0", "same"), hostWith("0.4.0", "newer"), hostWith("0.2.0", "older")],
    ...[hostWith(null, "off"), hostWith("garbage", "odd")],
  ];
  const behind = heldBack(hosts.map(withRelease));
  expect(behind).toEqual([
    { label: "older", why: "it has 0.2.0, not 0.3.0" },
    { label: "off", why: "unreachable: refused" },
    { label: "odd", why: "it has garbage, not 0.3.0" },
  ]);
});

test("why a host was not upgraded is named, and never that it has the version: one that is there again by then is none of them", () => {
  const behind = heldBack([hostWith("0.2.0", "older"), hostWith(null, "off"), hostWith(null, "gone")]);
  const upgrade = {
    version: "0.3.0",
    left_out: [
      { label: "older", version: "0.2.0", why: "it runs as no service" },
      { label: "off", version: "0.3.0", why: "it has 0.3.0" },
      { label: "gone", version: null, why: "timeout" },
    ],
  };
  expect(heldBackLines(withReasons(behind, upgrade))).toEqual([
    "older gets nothing else: it runs as no service",
    "off gets nothing else: unreachable: refused",
    "gone gets nothing else: timeout",
  ]);
  expect(stillBehind(behind, upgrade).map(({ label }) => label)).toEqual(["older", "gone"]);
  expect(withReasons(behind, undefined)).toEqual(behind);
});

test("many hosts that get nothing else are counted", () => {
  const many = Array.from({ length: 25 }, (_, nth) => ({ label: `lab-${nth}`, why: "it is off" }));
  const lines = heldBackLines(many);
  expect([lines.length, lines.at(-1)]).toEqual([11, "and 15 more hosts get nothing else"]);
});

test("the version is listed whatever the room, and takes none of it, as the rest depends on it", () => {
  const { differences, left_out } = withinRoom(hostWith("0.2.0"), 10);
  expect([differences.map(({ kind }) => kind), left_out]).toEqual([["version"], 1]);
  expect(heldBack([withinRoom(hostWith("0.2.0"), 0)])).toHaveLength(1);
  const both = withinRoom(hostWith("0.2.0"), JSON.stringify(job).length + 1);
  expect(both.differences.map(({ kind }) => kind)).toEqual(["job", "version"]);
});
