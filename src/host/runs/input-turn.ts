/** The turn of a run at pointer and keyboard, which one run at a time uses. */
import type { Outcome } from "../../core/run";
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

/** Does `work`, which waits for its turn at the input devices if it uses them. A run that ends before its turn does nothing. */
export async function inTurn(
  active: ActiveRun,
  { actions, called }: { readonly actions: readonly Action[]; readonly called: CalledScripts },
  { requester, who, lock: lockOf, waiting }: Turn,
  work: () => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const all = [actions, ...[...called.values()].map((script) => script.actions)].flat();
  // A script that is read later may use them too.
  const usesInput = ({ operation, input }: Action) =>
    operation.uses === "input" || operation.usesInput?.(input) === true;
  if (!flatten(all).some(usesInput) && !callsUnknown(all)) return work();
  const take = async () => {
    const lock = await lockOf();
    active.waits(lock.holder);
    return lock.take(requester, who, () => waiting(lock.holder()));
  };
  const turn = await take().catch((error) => active.abort(error));
  if (!turn) return [];
  active.goesOn();
  let outcomes: Outcome[] = [];
  try {
    outcomes = await work();
    return outcomes;
  } finally {
    const isDone = outcomes.length === actions.length && outcomes.every(({ ok }) => ok);
    await turn.end(isDone ? "finished" : "broken");
  }
}
