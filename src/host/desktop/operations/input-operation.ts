/**
 * What the operations of the desktop share: places, buttons, and how one of them gets pointer and keyboard for itself.
 */
import * as v from "valibot";
import { type Caller, requesterOf } from "../../../core/caller";
import { column, region, row, whole } from "../../../core/fields";
import { type InputSchema, type Operation, type OutputSchema, operation } from "../../../core/operation";
import { busy, cancelled } from "../../../lib/errors";
import type { Requester } from "../../../lib/slots";
import type { Desktop } from "../desktop";
import type { Point } from "../geometry";

/** What an operation of the desktop uses of the service. */
export interface Uses {
  /** @param name of one on demand (default: that of the host, or of the run). */
  desktop(name?: string): Promise<Desktop>;
}

/** Why an action has no route of its own. */
export const NO_ROUTE = { http: "POST /execute runs it as an action" };

/** A column or row: far beyond any desktop (X11 has 16 bits for one). */
export const COORDINATE = whole(-32_768, 32_767);
export const COLUMN = column(COORDINATE);
export const ROW = row(COORDINATE);
/** Two numbers, as scripts get them. */
export const PAIR = v.strictTuple([v.number(), v.number()]);

export const pair = ({ x, y }: Point): [number, number] => [x, y];

/** An operation of pointer, keyboard or focus, which is an action of scripts. */
export function inputOperation<const I extends InputSchema, O extends OutputSchema>(
  verb: string,
  {
    perform,
    ...definition
  }: Pick<Operation<I, O>, "summary" | "example" | "input" | "output" | "aims"> &
    Partial<Pick<Operation, "leftOut">> & {
      perform(
        desktop: Desktop,
        input: v.InferOutput<I>,
        requester: Requester,
        caller: Caller,
      ): Promise<v.InferInput<O>>;
    },
) {
  return operation<I, O, Uses>({
    name: `desktop.${verb}`,
    scope: "operate",
    changes: true,
    uses: "input",
    command: `AC_${verb}`,
    answeredBy: "display",
    // Who has given up wants no click later.
    attended: true,
    leftOut: NO_ROUTE,
    ...definition,
    async run(service, input, caller) {
      const desktop = await service.desktop();
      const work = async () => {
        if (!caller.acted) return perform(desktop, input, requesterOf(caller), caller);
        const { targetOf } = await import("../elements/remember");
        const target = await targetOf(desktop.turnsOf(requesterOf(caller)), verb, input, requesterOf(caller));
        const answer = await perform(desktop, input, requesterOf(caller), caller);
        if (target) caller.acted({ place: caller.run?.place, targets: [target] });
        return answer;
      };
      return withInput(desktop, caller, `desktop.${verb}`, work);
    },
  });
}

/** Does `work`, which uses pointer and keyboard, in its turn. @param name of the operation, for those that wait. */
export async function withInput<T>(
  { inputLock }: Pick<Desktop, "inputLock">,
  caller: Caller,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  // A run holds the lock while it goes on.
  if (caller.run) return work();
  return whileHeld(await inputLock.take(requesterOf(caller), name), work);
}

/** A turn that turns out to be needed. */
interface LateTurn {
  /** Of the operation, for those that wait. */
  readonly name: string;
  /** Why it is needed, for a failure. */
  readonly why: string;
  /** How long it may take to come, in seconds; in the words of a failure, `whole`. */
  readonly timeout: number;
  readonly whole: number;
}

/**
 * Does `work`, of which nobody knew before that it uses pointer and keyboard, in a turn at them: in that of the run, where it has one. Others
 * may have used them meanwhile. The turn ends with the caller, however long the work goes on: none of its calls is sent then.
 *
 * @throws `timeout` that says who uses them, with nothing done; `cancelled`.
 */
export async function withLateInput<T>(
  { inputLock }: Pick<Desktop, "inputLock">,
  caller: Caller,
  turn: LateTurn,
  work: () => Promise<T>,
): Promise<T> {
  if (caller.run?.turn.isTaken()) return work();
  const { signal } = caller;
  const hold = await takeLate(inputLock, caller, turn);
  const leave = () => void hold.end("broken");
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await whileHeld(hold, async () => {
      if (signal.aborted) throw cancelled("cancelled while waiting for pointer and keyboard");
      return work();
    });
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

async function takeLate(
  inputLock: Desktop["inputLock"],
  caller: Caller,
  { name, why, timeout, whole }: LateTurn,
) {
  const { signal } = caller;
  const run = caller.run?.turn;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeout * 1_000);
  let hasWaited = false;
  const waiting = () => {
    hasWaited = true;
    run?.waits(() => inputLock.holder());
  };
  try {
    const requester = requesterOf(caller, AbortSignal.any([signal, late.signal]));
    return await inputLock.take(requester, run?.who ?? name, waiting);
  } catch (error) {
    if (!late.signal.aborted || signal.aborted) throw error;
    throw busy(
      `${why}; pointer and keyboard are not free after ${whole} s: ${inputLock.holder()} uses them`,
      "timeout",
    );
  } finally {
    clearTimeout(timer);
    if (hasWaited) run?.goesOn();
  }
}

/** Does `work`, and gives pointer and keyboard back. */
async function whileHeld<T>(
  hold: Awaited<ReturnType<Desktop["inputLock"]["take"]>>,
  work: () => Promise<T>,
): Promise<T> {
  let how: "finished" | "broken" = "broken";
  try {
    const answer = await work();
    how = "finished";
    return answer;
  } finally {
    await hold.end(how);
  }
}

/** The corners of a part of the desktop; the second is outside it. */
export const REGION = region(
  v.pipe(
    v.strictTuple([COORDINATE, COORDINATE, COORDINATE, COORDINATE]),
    v.check(([x1, y1, x2, y2]) => x2 > x1 && y2 > y1, "[x1, y1, x2, y2] with x2 above x1 and y2 above y1"),
  ),
);

/** The buttons of the mouse, as scripts name them. */
export const BUTTON = v.picklist(["mouse_left", "mouse_middle", "mouse_right"]);
/** The names that backends have for them. */
export const BUTTONS = { mouse_left: "left", mouse_middle: "middle", mouse_right: "right" } as const;
