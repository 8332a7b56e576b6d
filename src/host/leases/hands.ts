/**
 * A desktop as an agent with a lease has it: each act passes a gate, what only looks does not.
 *
 * The promise: after the end of the lease no act begins, whatever code is still under way. The list of acts is complete: what a desktop
 * gets besides is one of them, or only looks (`tests/host/leases/hands.test.ts`).
 */
import { invoke } from "../../lib/child";
import type { Requester } from "../../lib/slots";
import type { Target } from "../desktop/backend";
import type { Desktop } from "../desktop/desktop";
import type { Elements } from "../desktop/elements/elements";
import type { Point } from "../desktop/geometry";
import type { Limits } from "./limits";
import type { Effect } from "./person-watch";

/** What each act passes. */
export interface Gate {
  readonly limits: Limits;
  /** Whether the lease has pointer and keyboard. @throws `cancelled` where it has ended. */
  requireLive(): void;
  /**
   * Does one act.
   *
   * @param refusal what about it is not allowed. @param effect what it does to pointer and keyboard.
   * @throws `forbidden` for what the lease does not allow, which ends it; `cancelled` where it has ended.
   */
  act<T>(refusal: () => Promise<string | undefined>, effect: Effect, act: () => Promise<T>): Promise<T>;
  /** A turn at pointer and keyboard among the calls of the lease itself. @returns what ends it. */
  turn(requester: Requester): Promise<() => void>;
}

type Check = (limits: Limits, args: readonly unknown[]) => Promise<string | undefined>;

const atTarget: Check = (limits, [target]) => limits.at(Object(target) as Target);
const inFocus: Check = (limits) => limits.keys();
const ofWindow: Check = (limits, [hwnd]) => limits.window(Number(hwnd));
const ofElement: Check = (limits, [id]) => limits.element(`${id}`);
const anywhere: Check = async () => undefined;

/** What acts on a desktop, and what is checked for each. */
export const DESKTOP_ACTS: Readonly<Partial<Record<keyof Desktop, Check>>> = {
  move: atTarget,
  click: atTarget,
  scroll: atTarget,
  strike: inFocus,
  type: inFocus,
  liftAll: anywhere,
  focus: ofWindow,
  place: ofWindow,
  request: ofWindow,
  setClipboard: anywhere,
};

/** What acts on elements. */
export const ELEMENT_ACTS: Readonly<Partial<Record<keyof Elements, Check>>> = {
  press: ofElement,
  focus: ofElement,
  setText: ofElement,
  select: ofElement,
  expand: ofElement,
  scrollTo: ofElement,
};

const placeIn = (target: unknown): Partial<Point> => {
  const { x, y } = Object(target) as Target;
  return { ...(x !== undefined && { x }), ...(y !== undefined && { y }) };
};

const MOVES: ReadonlySet<PropertyKey> = new Set(["move", "click", "scroll"] satisfies Array<keyof Desktop>);

/** What an agent never gets: it is svc's own, or of viewers. */
export const WITHHELD: ReadonlySet<PropertyKey> = new Set([
  ...(["stop", "keepPressed", "signature", "record", "stopRecording"] as const),
  ...(["keepBlackBox", "stopBlackBox", "blackBoxState", "videoEncoder"] as const),
  ...(["openViewer", "controlViewer", "closeViewer", "nameScreen"] as const),
  ...(["permit", "allow"] as const),
] satisfies Array<keyof Desktop>);

/** `desktop`, whose acts pass the gate. */
export function handsOn(desktop: Desktop, gate: Gate): Desktop {
  // The lease holds the lock for all of its time.
  const inputLock: Desktop["inputLock"] = {
    taken: () => true,
    holder: () => desktop.inputLock.holder(),
    user: () => desktop.inputLock.user(),
    async take(requester) {
      gate.requireLive();
      const end = await gate.turn(requester);
      return { end: async () => end() };
    },
  };
  const own: Partial<Desktop> = {
    inputLock,
    elements: elementsIn(desktop.elements, gate),
    turnsOf: (requester) => handsOn(desktop.turnsOf(requester), gate),
  };
  return guarded(desktop, own, DESKTOP_ACTS, gate);
}

const elementsIn = (elements: Elements, gate: Gate): Elements =>
  guarded(elements, { of: (requester) => elementsIn(elements.of(requester), gate) }, ELEMENT_ACTS, gate);

function guarded<T extends object>(
  whole: T,
  own: Partial<T>,
  acts: Readonly<Partial<Record<keyof T, Check>>>,
  gate: Gate,
): T {
  return new Proxy(whole, {
    get(_whole, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      if (WITHHELD.has(name)) return undefined;
      const check = Object.hasOwn(acts, name) ? acts[name as keyof T] : undefined;
      if (!check) return Reflect.get(whole, name);
      return (...args: readonly unknown[]) => {
        gate.requireLive();
        return gate.act(
          () => check(gate.limits, args),
          {
            target: MOVES.has(name) ? placeIn(args[0]) : undefined,
            holds: name === "strike" && args[1] !== "tap",
          },
          async () => invoke(whole, String(name), args),
        );
      };
    },
  });
}
