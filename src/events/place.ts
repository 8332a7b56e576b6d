/**
 * Places in the events of a process, as clients keep them: `<boot>-<number>`.
 */
import type { Bus } from "./bus";

/** Why a client has to read the state again: events are gone, or are those of another process. */
export type ResetReason = "gap" | "boot" | "lagging";

export const idOf = ({ boot }: Bus, seq: number): string => `${boot}-${seq}`;

/** What `after` may be. */
export const PLACE = /^(?:oldest|[A-Za-z0-9]{1,64}-\d{1,15})$/;

/**
 * The number after which a client goes on.
 *
 * @param after an id; `oldest`: before all that there is; undefined: the newest.
 * @returns with `reset` where it cannot go on from there: then it is the newest.
 */
export function placeOf(bus: Bus, after: string | undefined): { seq: number; reset?: ResetReason } {
  const { boot, newest, oldest } = bus;
  if (after === undefined) return { seq: newest };
  if (after === "oldest") return { seq: oldest - 1 };
  const [, ofBoot, number] = /^(\w+)-(\d+)$/.exec(after) ?? [];
  if (ofBoot !== boot) return { seq: newest, reset: "boot" };
  const seq = Number(number);
  return seq < oldest - 1 || seq > newest ? { seq: newest, reset: "gap" } : { seq };
}
