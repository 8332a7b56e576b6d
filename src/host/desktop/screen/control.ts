/**
 * Who controls: the viewer that holds the input lock. So no run moves the pointer meanwhile, and one viewer controls at a time.
 *
 * The promise: after control every key and button is up, whoever pressed it.
 */
import { cancelled, conflict, Failure, notFound } from "../../../lib/errors";
import { Requester } from "../../../lib/slots";
import type { InputLock } from "../input-lock";

/** The right to use pointer and keyboard. */
export type ControlLock = Pick<InputLock, "user" | "take">;

interface ControlParts {
  readonly lock: ControlLock;
  /** Whether what a viewer sends counts. */
  controlViewer(id: string, control: boolean): Promise<void>;
  /** Cancels a run of this process. @param id the beginning of its id. @throws `not_found` for one of another process. */
  cancelRun(id: string, why: string): Promise<unknown>;
  /** Ends the lease of an agent. @throws `conflict`, `not_found` for one that has ended. */
  endLease(id: string, why: string): Promise<unknown>;
  /** Called when a viewer has control, or has it no longer. It must not throw. */
  changed(id: string, control: boolean, why: string): Promise<void>;
  /** Called when a viewer begins to wait. */
  waits(id: string): void;
}

interface Holder {
  readonly id: string;
  readonly since: number;
  readonly end: () => Promise<void>;
}

/** Who controls. */
export interface Control {
  /** The viewer that controls; undefined for none. */
  holder(): Pick<Holder, "id" | "since"> | undefined;
  isWaiting(id: string): boolean;
  /**
   * Gives a viewer control; resolves when it has it.
   *
   * @param who the viewer, for those that wait.
   * @param run what becomes of what uses the devices now: `cancel` ends it.
   * @throws `cancelled` when it is released meanwhile; `conflict` for what cannot be cancelled here.
   */
  take(id: string, who: string, run: "wait" | "cancel"): Promise<void>;
  /** Takes control from a viewer, or ends its wait. Never throws. */
  release(id: string, why: string): Promise<void>;
}

export function createControl(parts: ControlParts): Control {
  const { lock, controlViewer, cancelRun, endLease, changed, waits } = parts;
  let holder: Holder | undefined;
  const wanting = new Map<string, { readonly control: AbortController; readonly taken: Promise<void> }>();

  const release = async (id: string, why: string): Promise<void> => {
    wanting.get(id)?.control.abort(cancelled(why));
    if (holder?.id !== id) return;
    const { end } = holder;
    holder = undefined;
    // Its keys are up before anybody else has the lock.
    await controlViewer(id, false).catch(() => {});
    await end();
    await changed(id, false, why);
  };

  /** Ends what uses the devices, on purpose. @throws `conflict` for what this process cannot end. */
  const interrupt = async (who: string): Promise<void> => {
    if (holder) return release(holder.id, `${who} took it`);
    const user = lock.user();
    const run = /^run ([0-9a-f]{8})\b/.exec(user ?? "")?.[1];
    if (user === null) return;
    if (run === undefined || user.includes(" of process "))
      throw conflict(`${user} uses pointer and keyboard, and is not cancelled from here: wait for it`);
    await cancelRun(run, `${who} took pointer and keyboard`).catch(unlessOver);
  };

  /** A person comes before an agent, whether they want to wait or not. */
  const endLeaseFor = (who: string): Promise<unknown> | undefined => {
    const id = /^lease ([0-9a-f]{8})\b/.exec(lock.user() ?? "")?.[1];
    return id === undefined ? undefined : endLease(id, `${who} took pointer and keyboard`).catch(unlessOver);
  };

  const take = async (id: string, who: string, signal: AbortSignal): Promise<void> => {
    const hold = await lock.take(new Requester(null, signal), who, () => waits(id), true);
    try {
      signal.throwIfAborted();
      await controlViewer(id, true);
      signal.throwIfAborted();
    } catch (error) {
      await controlViewer(id, false).catch(() => {});
      await hold.end("broken");
      throw error;
    }
    holder = { id, since: Date.now(), end: () => hold.end("broken") };
    await changed(id, true, "");
  };

  return {
    holder: () => holder,
    isWaiting: (id) => wanting.has(id),
    async take(id, who, run) {
      if (holder?.id === id) return;
      const known = wanting.get(id);
      if (known && run === "cancel") await interrupt(who);
      if (known) return known.taken;
      const control = new AbortController();
      // It is among those that wait from now on: whoever leaves while a run is being cancelled gets nothing.
      const taken = (async () => {
        const ending = endLeaseFor(who);
        if (ending) await ending;
        if (run === "cancel") await interrupt(who);
        await take(id, who, control.signal);
      })().finally(() => wanting.delete(id));
      wanting.set(id, { control, taken });
      return taken;
    },
    release,
  };
}

/** @throws `error`, unless it says that what was to end has ended meanwhile, or so long ago that nobody knows it. */
const unlessOver = (error: unknown): void => {
  if (!(error instanceof Failure && ["conflict", "not_found"].includes(error.code))) throw error;
};

export const noSuchViewer = (id: string) => notFound(`no viewer has the id ${JSON.stringify(id)}`);
