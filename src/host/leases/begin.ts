/** How a lease begins: its desktop is opened, pointer and keyboard are taken, and each act passes a gate from then on. */
import { shareOf } from "../../core/rights";
import { messageOf } from "../../lib/errors";
import { createSlots, Requester } from "../../lib/slots";
import type { Desktop } from "../desktop/desktop";
import { endLease, endWithDesktop, refuse, usedUp } from "./end";
import { leaseBegan } from "./events";
import { type Gate, handsOn } from "./hands";
import { termsText } from "./lease";
import { createLimits } from "./limits";
import { aboutText, type Entry, type LeasesParts, viewOf } from "./parts";
import { type PersonWatch, watchPerson } from "./person-watch";

/** How long a lease that was allowed may take to begin, in milliseconds: another may use pointer and keyboard. */
export const START_MS = 60_000;

const MINUTE_MS = 60_000;

const minuteOf = ({ minuteMs = MINUTE_MS }: LeasesParts): number => minuteMs;

/** Opens the desktop, takes pointer and keyboard, and lets the time run. */
export async function beginLease(parts: LeasesParts, entry: Entry): Promise<void> {
  const { id, asker, control, terms } = entry;
  const { grant } = asker.caller;
  if (entry.state !== "waiting") return;
  entry.state = "starting";
  const { signal } = control;
  const late = AbortSignal.timeout(START_MS);
  try {
    const soon = AbortSignal.any([signal, late]);
    const place = await parts.open(terms.desktop, id, grant, soon);
    // What has ended meanwhile gives back what comes now.
    await keep(entry, () => place.end());
    entry.place = place;
    endWithDesktop(parts, entry, place);
    if (terms.record) {
      const cut = await parts.film(id, place.name, START_MS + terms.minutes * minuteOf(parts));
      await keep(entry, cut);
    }
    // Taken after what takes long to end: keys and buttons are released before that.
    const who = `lease ${id} (${asker.agent})`;
    const hold = await place.desktop.inputLock.take(new Requester(shareOf(grant), soon), who);
    await keep(entry, () => hold.end("broken"));
    for (const command of terms.start) {
      // What has ended starts nothing more.
      signal.throwIfAborted();
      await place.launch(command);
    }
    await parts.record(`lease.began ${aboutText(entry)} ${termsText(terms)}`);
    signal.throwIfAborted();
    letAct(parts, entry, place.desktop);
  } catch (error) {
    const why = late.aborted ? "pointer and keyboard were in use for a minute" : messageOf(error);
    await endLease(parts, entry, `it could not begin: ${why}`);
  }
}

/** @throws the reason of the end, where it has ended: `end` is done then. */
async function keep({ control: { signal }, ends }: Entry, end: () => unknown): Promise<void> {
  if (signal.aborted) await end();
  signal.throwIfAborted();
  ends.push(end);
}

/** From now on it acts, and its time runs. */
function letAct(parts: LeasesParts, entry: Entry, desktop: Desktop): void {
  const { ends, terms } = entry;
  const ms = terms.minutes * minuteOf(parts);
  entry.until = performance.now() + ms;
  const timer = setTimeout(() => void endLease(parts, entry, "its time is up"), ms);
  ends.push(() => clearTimeout(timer));
  const watch = watchPerson(
    { pointer: () => desktop.pointer(), keysDown: () => desktop.keysDown() },
    (what) => void endLease(parts, entry, what),
  );
  ends.push(() => watch.stop());
  entry.hands = handsOn(desktop, gateOf(parts, entry, desktop, watch));
  entry.state = "active";
  entry.beganAt = new Date().toISOString();
  parts.publish(leaseBegan, viewOf(entry));
  entry.settled.resolve();
}

/** What each of its acts passes. */
function gateOf(parts: LeasesParts, entry: Entry, desktop: Desktop, watch: PersonWatch): Gate {
  const slots = createSlots({ most: 1, what: "calls of the lease" });
  const requireLive = () => {
    if (entry.until !== undefined && performance.now() >= entry.until)
      void endLease(parts, entry, "its time is up");
    entry.control.signal.throwIfAborted();
  };
  return {
    limits: createLimits(entry.terms, desktop),
    requireLive,
    turn: (requester) => slots.take(requester),
    act: async (refusal, effect, act) => {
      await watch.look();
      const refused = await refusal();
      requireLive();
      if (refused !== undefined) throw refuse(parts, entry, refused);
      if (entry.used >= entry.terms.actions) {
        void endLease(parts, entry, usedUp(entry));
        requireLive();
      }
      entry.used++;
      return watch.during(act, effect);
    },
  };
}
