/**
 * A plan: one action list for many hosts, decided first and run later. Its digest stands for all that it does: what each host
 * runs, which hosts, in which order and within which limits.
 *
 * The promise: each host of a plan is in exactly one state, and goes from one to the next only as {@link STEPS} says.
 */
import { sha256 } from "../../lib/checksum";
import { badInput } from "../../lib/errors";
import type { PlanContents } from "../../wire/job/plan-digest";

/**
 * `planned`: its turn has not come. `waiting`: it was unreachable, or has jobs of earlier plans, and its job is queued. `sent`: it
 * may have the job. `running`: it has confirmed that the job runs.
 */
export const OPEN_STATES = ["planned", "waiting", "sent", "running"] as const;

/**
 * How it can end at a host. `unreachable`, `refused` and `expired`: nothing ran. `cancelled`: nor did anything, but where it has a time at
 * which it was sent: there it had begun. `unknown`: it may have run, and the host cannot say; or it was cut off in the middle.
 */
export const END_STATES = [
  "ok",
  "failed",
  "timeout",
  "unreachable",
  "refused",
  "cancelled",
  "expired",
  "unknown",
] as const;

export const TARGET_STATES = [...OPEN_STATES, ...END_STATES] as const;

export type TargetState = (typeof TARGET_STATES)[number];

/** What counts against `max_failures`. */
export const FAILURES = ["failed", "timeout", "unreachable", "refused", "unknown"] as const;

/** What `svc plan retry` may do again: what is ok is done. */
export const RETRIABLE = END_STATES.filter((state) => state !== "ok");

/** What it does again where nobody says otherwise: what has failed, and what had not begun (`cancelled`: only there). */
export const RETRIED = ["failed", "unreachable", "refused", "cancelled", "expired"] as const;

/** Why a host that dials its desk is not reached. */
export const NOT_LINKED = "not linked";

/**
 * What can happen at a host of a plan: from which states, and to which. No step but `retry` leaves an end state, and no step from
 * `running` says that nothing ran.
 */
export const STEPS = {
  /** The host is unreachable, and its job is queued; or it is so for another reason now. */
  wait: { from: ["planned", "waiting", "sent"], to: "waiting" },
  /** Also after it was sent as a job, and refused: then by `/execute`. */
  send: { from: ["planned", "waiting", "sent"], to: "sent" },
  /** It was not sent after all: its plan does not run any more. */
  unsend: { from: ["sent"], to: "planned" },
  run: { from: ["sent"], to: "running" },
  ok: { from: ["sent", "running"], to: "ok" },
  /** Also before it is sent: the host lacks a command. */
  failed: { from: ["planned", "waiting", "sent", "running"], to: "failed" },
  timeout: { from: ["sent", "running"], to: "timeout" },
  unreachable: { from: ["planned", "waiting", "sent"], to: "unreachable" },
  refused: { from: ["planned", "waiting", "sent"], to: "refused" },
  /** Before it began at the host. */
  cancelled: { from: ["planned", "waiting", "sent"], to: "cancelled" },
  /** The host has ended it, as the desk had asked. */
  stopped: { from: ["sent", "running"], to: "cancelled" },
  expired: { from: ["planned", "waiting", "sent"], to: "expired" },
  unknown: { from: ["sent", "running"], to: "unknown" },
  /** It had begun, and was cut off by something else than the desk. */
  interrupted: { from: ["sent", "running"], to: "unknown" },
  retry: { from: RETRIABLE, to: "planned" },
} as const satisfies Record<string, { readonly from: readonly TargetState[]; readonly to: TargetState }>;

export type StepName = keyof typeof STEPS;

/**
 * What the process that runs the plan does about a host that has not ended; unlike its state, it is not kept. `ready`: it is in the list
 * of those that may begin. `awaited`: its turn has come, and its host is waited for since this process has just started; it takes no
 * slot meanwhile. `asking`: a request to its host is under way, or its end is being written down. `resting`: none of these.
 */
export type Phase = "resting" | "ready" | "awaited" | "asking";

/**
 * `paused`: by hand, or because too many hosts failed. A plan that is `cancelled` or `expired` begins nothing more; it is over once
 * the hosts that had begun have ended.
 */
export const PLAN_STATES = ["new", "running", "paused", "done", "cancelled", "expired"] as const;

export type PlanState = (typeof PLAN_STATES)[number];

/** Why a plan is paused that another desk has taken over; the name of the desk follows. */
export const ADOPTED_BY = "adopted by the desk";

/** What a plan does and within which limits. It never changes. */
export interface Spec {
  /** `broadcast`: it ends with the process that runs it, and too many failures cancel the rest. */
  readonly kind: "plan" | "broadcast";
  /**
   * Set where it is a part of a script of several hosts: what its host says may quote values of that script, so it is not kept. Such
   * broadcasts make room for each other only.
   */
  readonly part?: true;
  /** Which hosts, as it was typed. */
  readonly on: string;
  /** The names of the commands, nested ones included. */
  readonly commands: readonly string[];
  /** How many hosts have begun with each wave, those of earlier ones included; the last is all of them. */
  readonly waves: readonly number[];
  readonly pause_s: number;
  /** How many hosts may fail. */
  readonly max_failures: number;
  /** Set where nobody said how many: none may while the wave is smaller than the hosts after it. */
  readonly strict_waves?: true;
  readonly queue: boolean;
  /** How long after it was applied it expires. */
  readonly expires_s: number;
  /** How many hosts are at work at once; null for as many as this desk can. */
  readonly max_parallel: number | null;
  readonly delivery_timeout_s: number;
  readonly timeout_s: number;
  /** Whether all hosts run the same; absent for a broadcast, and for a plan that an earlier svc has made. */
  readonly contents?: PlanContents;
}

/** The longest time after which a plan expires, in seconds. */
export const MAX_EXPIRES_S = 30 * 86_400;

/** A host of a plan as the address book had it when the plan was made. */
export interface PlannedHost {
  readonly label: string;
  /** Its id where it has joined this desk, else its address: another host under the label is refused. */
  readonly identity: string;
}

/**
 * The id of the job for a host: the same one for the same attempt, so that it is known again after a restart.
 *
 * @returns a UUID of version 8 (RFC 9562, section 5.8).
 */
export function jobId(plan: string, n: number, attempt: number): string {
  const digits = sha256(`${plan}\n${n}\n${attempt}`);
  const variant = ((Number.parseInt(digits.charAt(16), 16) & 3) | 8).toString(16);
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join("-");
}

/** A number of hosts, or a share of them: `1`, `10%`. */
export const SHARE = /^(\d{1,6}|\d{1,2}%|100%)$/;

/** How many hosts may fail in the wave of this number, counted from 0. */
export function limitIn({ waves, max_failures, strict_waves }: Spec, wave: number): number {
  const [before = 0, end = 0, total = 0] = [waves[wave - 1], waves[wave], waves.at(-1)];
  return strict_waves && end - before < total - end ? 0 : max_failures;
}

/** The number of hosts that `share` of `total` is. A share of any is one at least where `atLeastOne`. */
export function countOf(share: string | number, total: number, atLeastOne = false): number {
  if (typeof share === "number" || !share.endsWith("%")) return Math.min(Number(share), total);
  const count = Math.floor((Number.parseInt(share, 10) / 100) * total);
  return atLeastOne ? Math.max(1, count) : count;
}

/**
 * `1,10%,100%` of `total` hosts as {@link Spec.waves}: each wave has some hosts of its own, and the last ends with all.
 *
 * @throws `bad_input` for a wave of no host, and for numbers or shares that do not grow.
 */
export function wavesOf(shares: readonly string[], total: number): number[] {
  for (const [at, share] of shares.entries()) {
    if (Number.parseInt(share, 10) === 0)
      throw badInput(`waves: expected 1 or more hosts in each, not ${share}`);
    const before = shares.slice(0, at).findLast((one) => one.endsWith("%") === share.endsWith("%"));
    if (before !== undefined && Number.parseInt(share, 10) < Number.parseInt(before, 10))
      throw badInput(`waves: expected numbers that grow, as in 1,10%,100%: ${share} follows ${before}`);
  }
  const ends = [...shares.map((share) => countOf(share, total, true)), total];
  return ends.filter((end, at) => end > Math.max(0, ...ends.slice(0, at)));
}

/** What makes sure that the host under a label is the one that was meant. */
export const identityOf = ({
  member,
  base_url,
}: {
  readonly member?: { readonly host_id: string } | undefined;
  readonly base_url: string;
}): string => member?.host_id ?? base_url;
