/**
 * What programs show, by name: found strictly, awaited, and used, by a child process that ends when nobody has asked for a while.
 */
import { type Remote, remote } from "../../../lib/child";
import { deadline, sleep } from "../../../lib/deadline";
import { cancelled, type Failure, rejected, timedOut } from "../../../lib/errors";
import { createIdleChild } from "../../../lib/idle-child";
import { jsonLine } from "../../../lib/sanitize";
import { selfCommand } from "../../../lib/self-command";
import { createSlots, type Requester } from "../../../lib/slots";
import type { WorkerOptions } from "../worker";
import { type Element, type ElementCalls, type Findings, PROTOCOL } from "./calls";
import { type Locator, printLocator } from "./locator";
import { MAX_NAMED, mendOf, missing, named } from "./missing";
import { folded, mostVisible } from "./names";

const DEADLINE_MS = 15_000;
const IDLE_MS = 60_000;
/** How many calls of the owner may go on beside the one of a token: pages and runs ask for several things at once. */
const OWNERS = 16;
/** How many calls of tokens may wait. */
const MAX_WAITING = 256;
/** How long an element must have stayed where it is before it is used. */
const STILL_MS = 100;
/** How many of those that match are looked at. */
const MAX_FOUND = 50;

/** The elements of the programs on this desktop. Each call throws `unavailable` where there is no accessibility bus. */
export interface Elements extends Remote<ElementCalls> {
  /** The same, asked in the turn of a requester (`slots.ts`). Calls of these here wait for nobody: they are svc's own. */
  of(requester: Requester): Elements;
  stop(): Promise<void>;
}

export function createElements({
  log,
  env,
  command = selfCommand(["elements-child"]),
  as = (own) => own,
}: WorkerOptions): Elements {
  const child = createIdleChild<ElementCalls>(
    { command: as(command), ...(env && { env }), log, what: "the helper for elements", protocol: PROTOCOL },
    IDLE_MS,
  );
  const call = (method: string, args: readonly unknown[]) => child.call(method, args, DEADLINE_MS);
  // Programs answer one after the other: what waits in the child would have no order, and its deadline would end the calls of all.
  const slots = createSlots({
    most: 1,
    ownersOwn: OWNERS,
    what: "calls of elements",
    mostWaiting: MAX_WAITING,
  });
  const of = (requester: Requester) =>
    remote<Elements>((method, args) => slots.run(requester, () => call(method, args)), {
      of,
      stop: child.stop,
    });
  return remote<Elements>(call, { of, stop: child.stop });
}

/** How long to wait for an element, and what ends the wait. */
export interface WaitLimit {
  /** In seconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** What a failure says, where this is a part of a longer wait. In seconds. */
  readonly whole?: number | undefined;
}

const POLL_MS = 100;

/** What `look` answers, asked again until it answers something. @throws what `late` returns, after the time; `cancelled`. */
export async function until<T>(
  { timeout, signal }: WaitLimit,
  look: () => Promise<T | undefined>,
  late: () => Promise<Failure>,
): Promise<T> {
  const end = performance.now() + timeout * 1_000;
  for (;;) {
    const found = await deadline(look(), { signal, aborted: gone });
    if (found !== undefined) return found;
    const left = end - performance.now();
    if (left <= 0) throw await late();
    await sleep(Math.min(POLL_MS, left), signal, gone);
  }
}

/** What is thrown where whoever looks for an element has gone. */
export const gone = () => cancelled("cancelled while looking for an element");

/** Looks for the one element that a locator names, and says why it was not there, or not as it had to be. */
function lookingFor(elements: Elements, locator: Locator, waiting: WaitLimit) {
  let last: Findings | undefined;
  const look = async () => {
    last = await elements.find(locator, MAX_FOUND);
    return only(last, locator);
  };
  return { look, late: async () => notUsable(elements, locator, waiting, last) };
}

/**
 * The one element that the locator names, once it is there.
 *
 * @throws `rejected` where it names several; `timeout` (`not_found` without time to wait) with the nearest where it names none.
 */
export async function waitForOne(elements: Elements, locator: Locator, waiting: WaitLimit): Promise<Element> {
  const { look, late } = lookingFor(elements, locator, waiting);
  return until(waiting, look, late);
}

/** As {@link waitForOne}, once it can be seen, or is in a menu: what a program keeps and does not show is not there yet. */
export async function waitForVisible(
  elements: Elements,
  locator: Locator,
  waiting: WaitLimit,
): Promise<Element> {
  const { look, late } = lookingFor(elements, locator, waiting);
  const visible = async () => {
    const element = await look();
    return element && isReachable(element) ? element : undefined;
  };
  return until(waiting, visible, late);
}

/** Whether it can be seen, or is in a menu: Qt hides the items of one that is closed, and does what they say all the same. */
export const isReachable = ({ visible, role }: Element) => visible || role.startsWith("menuitem");

/**
 * What `look` answers, once it can be used: it is visible or in a menu, enabled, and has not moved for {@link STILL_MS}.
 *
 * @throws as {@link until}.
 */
export function untilUsable<T extends Element>(
  waiting: WaitLimit,
  look: () => Promise<T | undefined>,
  late: () => Promise<Failure>,
): Promise<T> {
  let before: { readonly place: string; readonly since: number } | undefined;
  return until(
    waiting,
    async () => {
      const element = await look();
      if (!element || !isReachable(element) || !element.enabled) {
        before = undefined;
        return undefined;
      }
      // Not its id: Qt 5 gives a cell of a table another one each time.
      const place = `${element.native_role} ${element.name} ${element.bounds}`;
      if (before?.place !== place) before = { place, since: performance.now() };
      return performance.now() - before.since >= STILL_MS - 5 ? element : undefined;
    },
    late,
  );
}

/** Why an element cannot be used, in words that follow its name. */
export const whyUnusable = (element: Element): string =>
  isReachable(element) ? (element.enabled ? "moves" : "is not enabled") : "is not visible";

/** As {@link waitForOne}, once it can be used: {@link untilUsable}. */
export async function waitForUsable(
  elements: Elements,
  locator: Locator,
  waiting: WaitLimit,
): Promise<Element> {
  const { look, late } = lookingFor(elements, locator, waiting);
  return untilUsable(waiting, look, late);
}

/** Why what was found last is not as it has to be. */
async function notUsable(
  elements: Elements,
  locator: Locator,
  waiting: WaitLimit,
  last: Findings | undefined,
): Promise<Failure> {
  const [element] = mostVisible(last?.elements ?? [], ({ visible }) => visible);
  if (!element) return missing(elements, locator, secondsOf(waiting), last);
  return timedOut(`${printLocator(locator)} ${whyUnusable(element)} after ${secondsOf(waiting)} s`, {
    mend: mendOf(locator, "unusable", [element]),
  });
}

/** The seconds of all of a wait, for failures. */
export const secondsOf = ({ timeout, whole = timeout }: WaitLimit): number => whole;

/** @returns what is left of a wait at each call, `least` seconds at least: steps that wait one after the other share it. */
export function sharing(waiting: WaitLimit, least = 0): () => WaitLimit {
  const { timeout, signal } = waiting;
  const end = performance.now() + timeout * 1_000;
  const left = () => Math.max(least, (end - performance.now()) / 1_000);
  return () => ({ timeout: left(), signal, whole: secondsOf(waiting) });
}

/**
 * Waits until nothing matches that can be seen, or is in a menu; with `hidden`, nothing at all.
 *
 * @throws `timeout`, also where the program that had it does not answer, or may have it: it may be there still.
 */
export async function waitUntilGone(
  elements: Elements,
  locator: Locator,
  waiting: WaitLimit,
  { hidden = false } = {},
): Promise<null> {
  const counts = (one: Element) => hidden || isReachable(one);
  const app = locator.app === undefined ? undefined : folded(locator.app);
  const holders = new Set<string>();
  /** Where no program has shown it, any may have it that is called so, or whose name nobody knows. */
  const mayHave = (name: string) =>
    holders.has(name) || name === app || (holders.size === 0 && (app === undefined || NAMELESS.test(name)));
  let silent: string | undefined;
  return until(
    waiting,
    async () => {
      const { elements: found, more, deaf } = await elements.find(locator, MAX_FOUND);
      for (const one of found) for (const name of programNames(one)) holders.add(name);
      silent = deaf.find((name) => mayHave(folded(name)));
      // Where there are more than are listed, those that can be seen are listed first.
      return (hidden && more) || silent !== undefined || found.some(counts) ? undefined : null;
    },
    async () =>
      timedOut(
        `${printLocator(locator)} ${silent === undefined ? "is" : "may be"} still there after ${secondsOf(waiting)} s` +
          (silent === undefined ? "" : `: ${jsonLine(silent)} did not answer`),
        { mend: mendOf(locator, "differs", (await elements.find(locator, MAX_NAMED)).elements) },
      ),
  );
}

/** What a program is called that has never answered (`search.ts`). */
const NAMELESS = /^(?:process \d+|:[\d.]+)$/;

/** What the program of an element is called where it does not answer (`search.ts`), in lower case. */
export const programNames = ({ app_name, process_id }: Element): string[] => [
  folded(app_name),
  `process ${process_id}`,
];

/** @throws `rejected` with what tells them apart where there are several. */
function only({ elements, more }: Findings, locator: Locator): Element | undefined {
  const [element, ...others] = mostVisible(elements, ({ visible }) => visible);
  if (others.length === 0) return element;
  const all = [element, ...others].filter((one) => one !== undefined);
  const count = more ? `more than ${all.length}` : `${all.length}`;
  // As `nth` counts (`search.ts`): also what is meant to be seen and is at no place.
  const visible = elements.filter((one) => one.visible);
  const counted = visible.length > 0 ? visible : elements;
  const told = all.slice(0, MAX_NAMED).map((one) => toldApart(one, counted.indexOf(one)));
  throw rejected(`${printLocator(locator)} names ${count} elements: ${told.join("; ")}`, {
    mend: mendOf(locator, "several", all),
  });
}

const toldApart = (element: Element, at: number) => {
  const { bounds, app_name } = element;
  const place = bounds ? ` at ${bounds[0]}, ${bounds[1]}` : "";
  return `nth ${at + 1} is ${named(element)} of ${jsonLine(app_name)}${place}`;
};
