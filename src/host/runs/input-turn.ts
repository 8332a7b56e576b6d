/** The turn of a run at pointer and keyboard, which one run at a time uses: for all of its time, or for one of its actions. */
import type { Outcome, RunTurn } from "../../core/run";
import type { Requester } from "../../lib/slots";
import { type Action, flatten } from "./actions";
import type { ActiveRun } from "./active-run";
import { type CalledScripts, callsUnknown } from "./called-scripts";
import type { RunPlace } from "./executor-parts";

/** Who waits for pointer and keyboard, in words too. */
interface Turn {
  readonly requester: Requester;
  readonly who: string;
  /** That of the host, or of the desktop that the run asked for. */
  lock(): Promise<RunPlace["inputLock"]>;
  waiting(holder: string): void;
}

/** A run that may use pointer and keyboard. */
interface OwnTurn extends RunTurn {
  /**
   * Does `work`, which waits for its turn at the input devices where it is sure to use them. A run that ends before its turn does nothing.
   * An action that turns out to need them takes a turn by itself.
   */
  during(
    script: { readonly actions: readonly Action[]; readonly called: CalledScripts },
    work: () => Promise<Outcome[]>,
  ): Promise<Outcome[]>;
}

/** The turn of `active`, which it does not have yet. */
export function turnOf(
  active: Pick<ActiveRun, "waits" | "goesOn" | "abort">,
  { requester, who, lock: lockOf, waiting }: Turn,
): OwnTurn {
  let isTaken = false;
  const take = async () => {
    const lock = await lockOf();
    active.waits(lock.holder);
    return lock.take(requester, who, () => waiting(lock.holder()));
  };
  return {
    who,
    isTaken: () => isTaken,
    waits(holder) {
      active.waits(holder);
      waiting(holder());
    },
    goesOn: active.goesOn,
    async during({ actions, called }, work) {
      const all = [actions, ...[...called.values()].map((script) => script.actions)].flat();
      // A script that is read later may use them too.
      if (!flatten(all).some(usesInput) && !callsUnknown(all)) return work();
      const turn = await take().catch((error) => active.abort(error));
      if (!turn) return [];
      isTaken = true;
      active.goesOn();
      let outcomes: Outcome[] = [];
      try {
        outcomes = await work();
        return outcomes;
      } finally {
        isTaken = false;
        const isDone = outcomes.length === actions.length && outcomes.every(({ ok }) => ok);
        await turn.end(isDone ? "finished" : "broken");
      }
    },
  };
}

const usesInput = ({ operation, input }: Action): boolean =>
  operation.uses === "input" || operation.usesInput?.(input) === true;
