/**
 * How many hosts are at work at once, at each server (`lib/per-server.ts`). As in `lib/pool.ts`, a host that takes long gives its slot to
 * another and goes on without one, so that dead hosts delay no other. Where it is this process that has more to do than it can, a host
 * keeps its slot for longer: another one would wait as well, and take memory meanwhile.
 */
const SLOTS = 512;

/** How many go on without a slot at most, and after how many milliseconds a host gives up its own. */
export const MAX_SLOW = 4_000;
export const PATIENCE_MS = 250;

/** A timer that is later than this says that this process has more to do than it can, in milliseconds; and how often that counts. */
const LATE_MS = 3;
const MOST_LATE = 8;

export interface HostSlots {
  isFree(): boolean;
  /** @returns a function that frees the slot; a second call does nothing. */
  take(): () => void;
}

/** @param freed is called when there is a slot again. */
export function createHostSlots(freed: () => void, now = () => performance.now()): HostSlots {
  let busy = 0;
  let slow = 0;
  return {
    isFree: (): boolean => busy < SLOTS && slow < MAX_SLOW,
    take(): () => void {
      busy++;
      let held: "busy" | "slow" | undefined = "busy";
      let late = 0;
      let timer: Timer;
      const wait = () => {
        const due = now() + PATIENCE_MS;
        timer = setTimeout(() => {
          if (now() - due > LATE_MS && late++ < MOST_LATE) wait();
          else giveUp();
        }, PATIENCE_MS);
      };
      const giveUp = () => {
        if (held !== "busy") return;
        held = "slow";
        busy--;
        slow++;
        freed();
      };
      wait();
      return () => {
        clearTimeout(timer);
        if (held === "busy") busy--;
        if (held === "slow") slow--;
        held = undefined;
      };
    },
  };
}
