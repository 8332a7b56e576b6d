/**
 * The version of a file that says where its release is: which hosts are upgraded to it, and which of them get the rest.
 *
 * The promise: a host gets the rest once it has said that it has that version, or a newer one.
 */
import * as v from "valibot";
import { printable } from "../../../../lib/sanitize";
import { compareVersions, versionField } from "../../../../wire/release/released-binary";
import type { HostCompared } from "../compared";

/** A host, and why it gets nothing but the upgrade. */
export interface HeldBack {
  readonly label: string;
  readonly why: string;
}

/** Which of two versions is newer: below 0 for the one that is wanted, 0 where they are equal; undefined where one of them is none. */
function orderOf(found: string | null, wanted: string | null): number | undefined {
  return v.is(versionField, found) && v.is(versionField, wanted) ? compareVersions(found, wanted) : undefined;
}

/** Whether a host has a version before the one that is wanted, to which an upgrade leads. */
const isEarlier = (found: string | null, wanted: string | null): boolean => (orderOf(found, wanted) ?? 0) < 0;

/** Whether it has one after that, from which no desk takes it back. */
export const isLater = (found: string | null, wanted: string | null): boolean =>
  (orderOf(found, wanted) ?? 0) > 0;

/** The answer of a host, where the release is there: applying makes an earlier version right. */
export function withRelease(answer: HostCompared): HostCompared {
  const isUpgraded = ({ kind, found, wanted }: HostCompared["differences"][number]) =>
    kind === "version" && isEarlier(found, wanted);
  const differences = answer.differences.map((one) =>
    isUpgraded(one) ? { ...one, by: "apply" as const } : one,
  );
  return { ...answer, differences, to_apply: answer.to_apply + differences.filter(isUpgraded).length };
}

/** The hosts that get nothing else yet: those with an earlier version, and those that have not said which they have. */
export const heldBack = (hosts: readonly HostCompared[]): HeldBack[] =>
  hosts.flatMap(({ label, state, why, differences }) => {
    if (state === "refused" || state === "unreachable")
      return [{ label, why: `${state}: ${why ?? "no answer"}` }];
    const other = differences.find(({ kind }) => kind === "version");
    if (!other || isLater(other.found, other.wanted)) return [];
    return [{ label, why: `it has ${other.found ?? "no version"}, not ${other.wanted}` }];
  });

/** What the upgrade has found: its version, and the hosts that it leaves out. */
interface UpgradeFound {
  readonly version: string;
  readonly left_out: ReadonlyArray<HeldBack & { readonly version: string | null }>;
}

/** Whether a host is left out as it has the version, or a newer one. */
const isCurrent = (found: string | null, wanted: string): boolean => (orderOf(found, wanted) ?? -1) >= 0;

/** Those of `hosts` of which the upgrade has not found that they have its version by now. */
export function stillBehind(hosts: readonly HeldBack[], { version, left_out }: UpgradeFound): HeldBack[] {
  const reached = left_out.filter((one) => isCurrent(one.version, version));
  const current = new Set(reached.map(({ label }) => label));
  return hosts.filter(({ label }) => !current.has(label));
}

/** The same hosts with the reasons for which the upgrade leaves them out, where there are some. That one has the version is none. */
export function withReasons(hosts: readonly HeldBack[], upgrade: UpgradeFound | undefined): HeldBack[] {
  const { version = "", left_out = [] } = upgrade ?? {};
  const others = left_out.filter((one) => !isCurrent(one.version, version));
  const reasons = new Map(others.map(({ label, why }) => [label, why]));
  return hosts.map(({ label, why }) => ({ label, why: reasons.get(label) ?? why }));
}

/** The most hosts that are named. */
const MAX_NAMED = 10;

/** A line for each host that gets nothing else, for a person. */
export function heldBackLines(hosts: readonly HeldBack[]): string[] {
  const more = hosts.length - MAX_NAMED;
  return [
    ...hosts
      .slice(0, MAX_NAMED)
      .map(({ label, why }) => `${printable(label, 130)} gets nothing else: ${printable(why, 300)}`),
    ...(more > 0 ? [`and ${more} more hosts get nothing else`] : []),
  ];
}
