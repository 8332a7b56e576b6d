/** How one host of a desk differs from a state. */
import * as v from "valibot";
import { type Difference, STATE_COMPARISON } from "../../../wire/state/messages";

export const HOST_COMPARED = v.object({
  label: v.string(),
  /** `refused`: it answered that it does not compare; `unreachable`: it did not answer. */
  state: v.picklist(["same", "drift", "refused", "unreachable"]),
  /** Why there is no answer. */
  why: v.nullable(v.string()),
  differences: STATE_COMPARISON.entries.differences,
  applied: STATE_COMPARISON.entries.applied,
  /** How many of all its differences applying makes right, or is refused for. */
  to_apply: v.number(),
  /** How many of them are not listed: an answer about so many hosts, or that of the host, has no room for them. */
  left_out: v.number(),
});

export type HostCompared = v.InferOutput<typeof HOST_COMPARED>;

/** Whether applying makes it right, or is refused for it. */
export const isToApply = ({ drift, by, state }: Difference): boolean =>
  drift && (by === "apply" || by === "prune" || state === "taken");

/**
 * `answer` with as many differences as there is room for, in characters of JSON: those that applying is about go before other drift, and that
 * before all else. Its version is always there, whatever the room: a host without it would count as one that has the version.
 */
export function withinRoom(answer: HostCompared, room: number): HostCompared {
  const version = answer.differences.find(({ kind }) => kind === "version");
  let left = room;
  const isTaken = (one: Difference) => {
    if (one === version) return true;
    const size = JSON.stringify(one).length + 1;
    if (size > left) return false;
    left -= size;
    return true;
  };
  const weightOf = (one: Difference) => (isToApply(one) ? 2 : Number(one.drift));
  const taken = new Set(answer.differences.toSorted((a, b) => weightOf(b) - weightOf(a)).filter(isTaken));
  const differences = answer.differences.filter((one) => taken.has(one));
  return {
    ...answer,
    differences,
    left_out: answer.left_out + answer.differences.length - differences.length,
  };
}
