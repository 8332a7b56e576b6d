/**
 * Differences of hosts as a person reads them.
 */
import type * as v from "valibot";
import { printable } from "../../../../lib/sanitize";
import { timeText } from "../../../../lib/time-text";
import type { Difference } from "../../../../wire/state/messages";
import type { diffFleet } from "./fleet";
import type { listFleet } from "./states";
import { isLater } from "./upgrade-first";

type Diff = v.InferOutput<typeof diffFleet.output>;
type StateSummary = v.InferOutput<typeof listFleet.output>["states"][number];

/** The most hosts that are shown, and lines of each. */
const MAX_HOSTS = 50;
const MAX_LINES = 100;

/** What decides about the black box. */
const SERVE_FLAG = "`svc serve` there is started with --black-box, or without it";

/** What ends a pause that no file has made. */
const PAUSED_BY_PERSON = "a person paused it: `svc black-box resume` there";

/** How many characters of a digest are shown. */
const SHORT = 12;

const WORDS: Readonly<Record<Difference["kind"], string>> = {
  script: "script",
  job: "job",
  setting: "setting",
  secret: "secret",
  black_box: "black box",
  version: "version",
  state: "state",
};

/** One difference as a line: `+` is missing, `~` differs, `-` is to go, `!` is for a person, a space is no drift. */
export function differenceText(one: Difference, label: string): string {
  const { kind, name, state, by, drift } = one;
  const signs = { missing: "+", differs: "~", besides: "-", taken: "!", unknown: "?" };
  const sign = !drift ? " " : by === "hand" ? "!" : signs[state];
  const isNamed = kind !== "black_box" && kind !== "version";
  const what = isNamed ? `${WORDS[kind]} ${printable(name, 100)}` : WORDS[kind];
  const note = noteOf(one, label);
  return `${sign} ${what}${note === "" ? "" : `: ${note}`}`;
}

/** What a host says that it has, or should have: on one line, whatever it is. */
const said = (text: string | null) => printable(text ?? "nothing", 200);

/** What a difference is, or what to do about it. */
function noteOf({ kind, name, state, by, ...values }: Difference, label: string): string {
  const shown = printable(name, 64);
  const [found, wanted] = [said(values.found), said(values.wanted)];
  if (state === "taken" && kind === "black_box")
    return `the state ${found} wants it ${values.wanted === "on" ? "off" : "on"}: take black_box out of one of the two files, and apply that one first`;
  if (state === "taken") return `the state ${found} manages it`;
  if (state === "besides")
    return by === "prune"
      ? "no longer in the file"
      : values.found === null
        ? "not managed"
        : `of the state ${found}`;
  if (kind === "script") {
    const digest = (sha256: string) => sha256.slice(0, SHORT);
    return state === "missing" ? digest(wanted) : `${digest(found)} -> ${digest(wanted)}`;
  }
  if (kind === "job") return state === "missing" ? "" : found;
  if (kind === "setting") return `${found} -> ${wanted}`;
  if (kind === "secret") {
    return state === "unknown"
      ? `the token of this desk may not know: \`svc desk set --allow desk,secret:${shown}\` there lets it`
      : `has no value: \`svc secret set ${shown}\` there sets it`;
  }
  // What applying makes right, of the two that a person may have to.
  if (by === "apply" && (kind === "black_box" || kind === "version")) return `${found} -> ${wanted}`;
  if (kind === "black_box") {
    const isPaused = values.found === "paused" && values.wanted === "on";
    return `${found}, expected ${wanted}: ${isPaused ? PAUSED_BY_PERSON : SERVE_FLAG}`;
  }
  if (kind === "version" && isLater(values.found, values.wanted))
    return `${found}, expected ${wanted}: a desk takes no host back to an earlier version`;
  if (kind === "version")
    return `${found}, expected ${wanted}: \`svc admin upgrade FILES --on ${printable(label, 130)}\``;
  return state === "missing" ? "was never applied" : "another one was applied last";
}

/** How hosts differ. @param all whether what a host has besides, and hosts that are as they should be, are shown too. */
export function diffText({ hosts }: Pick<Diff, "hosts">, all: boolean): string {
  const differing = hosts.filter(
    ({ state, differences }) => state !== "same" || all || differences.some(isTold),
  );
  const lines = differing.slice(0, MAX_HOSTS).flatMap(({ label, state, why, differences, left_out }) => {
    const head = printable(label, 130);
    if (state === "refused" || state === "unreachable")
      return [`${head}: ${state}: ${printable(why ?? "", 300)}`];
    const shown = differences.filter(
      (one) => all || one.state !== "besides" || one.drift || one.by === "prune",
    );
    const besides = differences.length - shown.length;
    const cut = shown.length - MAX_LINES;
    return [
      `${head}:${shown.length === 0 ? " as it should be" : ""}`,
      ...shown.slice(0, MAX_LINES).map((one) => `  ${differenceText(one, label)}`),
      ...(cut > 0 ? [`    and ${cut} more: --json lists all`] : []),
      ...(besides > 0 ? [`    and ${besides} that no line of the file is about (--all shows them)`] : []),
      ...(left_out > 0
        ? [`    and ${left_out} for which an answer about so many hosts has no room: --on ${head} lists them`]
        : []),
    ];
  });
  const rest = differing.length - MAX_HOSTS;
  return [
    ...lines,
    ...(rest > 0 ? [`and ${rest} more hosts: --json lists all`] : []),
    ...(lines.length > 0 ? [""] : []),
    summaryText(hosts),
  ].join("\n");
}

/** Whether a host that is as it should be has something to say all the same. */
const isTold = ({ state, by }: Difference) => state === "unknown" || by === "prune";

/** `3 hosts: 1 same, 2 drift`. */
function summaryText(hosts: Diff["hosts"]): string {
  const states = ["same", "drift", "refused", "unreachable"] as const;
  const counts = states.flatMap((state) => {
    const count = hosts.filter((host) => host.state === state).length;
    return count > 0 ? [`${count} ${state}`] : [];
  });
  return `${hosts.length} ${hosts.length === 1 ? "host" : "hosts"}: ${counts.join(", ")}`;
}

/** 0 for no drift, 1 for some, 2 where a host gave no answer: as of `diff` (POSIX). */
export function diffCode({ hosts }: Pick<Diff, "hosts">): number {
  if (hosts.some(({ state }) => state === "refused" || state === "unreachable")) return 2;
  return hosts.some(({ state }) => state === "drift") ? 1 : 0;
}

/** Whether applying the state would change nothing, at any host, and each has noted it. */
export const isApplied = ({ hosts, sha256 }: Pick<Diff, "hosts" | "sha256">): boolean =>
  hosts.every(
    ({ state, applied, to_apply }) =>
      (state === "same" || state === "drift") && applied?.sha256 === sha256 && to_apply === 0,
  );

/** A state in a list. */
export const stateRow = ({
  name,
  on,
  at,
  looked,
  same,
  drift,
  unknown,
  planned,
  sha256,
  earlier,
}: StateSummary): string[] => [
  name,
  printable([on, ...earlier.map((one) => one.on)].join(" + "), 40),
  timeText(at),
  sha256?.slice(0, SHORT) ?? "not yet",
  looked === null ? "not yet" : timeText(looked),
  `${same}`,
  `${drift}`,
  `${unknown}`,
  planned === null ? "" : planned.slice(0, 8),
];
