/**
 * What programs show, by name: found strictly, awaited, and used, by a child process that ends when nobody has asked for a while.
 */
import { boundedMend, type Mend } from "../../../core/mend";
import { type Remote, remote } from "../../../lib/child";
import { deadline, sleep } from "../../../lib/deadline";
import { cancelled, type Failure, notFound, rejected, timedOut } from "../../../lib/errors";
import { createIdleChild } from "../../../lib/idle-child";
import { byDistance, nearest } from "../../../lib/nearest";
import { jsonLine } from "../../../lib/sanitize";
import { selfCommand } from "../../../lib/self-command";
import { createSlots, type Requester } from "../../../lib/slots";
import type { WorkerOptions } from "../worker";
import { type Element, type ElementCalls, type Findings, PROTOCOL } from "./calls";
import { type Locator, printLocator } from "./locator";
import { mostVisible } from "./names";

const DEADLINE_MS = 15_000;
const IDLE_MS = 60_000;
/** How many calls of the owner may go on beside the one of a token: pages and runs ask for several things at once. */
const OWNERS = 16;
/** How many calls of tokens may wait. */
const MAX_WAITING = 256;
/** How long an element must have stayed where it is before it is used. */
const STILL_MS = 100;
/** How many of those that match, or nearly, a failure names. */
const MAX_NAMED = 5;
/** How many of those that match are looked at. */
const MAX_FOUND = 50;
/** How many elements a failure compares names with. */
const MAX_COMPARED = 500;

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
    ...{ most: 1, ownersOwn: OWNERS, what: "calls of elements", mostWaiting: MAX_WAITING },
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

/** @throws `cancelled`, where whoever looks for an element has gone. */
export const gone = (): never => {
  throw cancelled("cancelled while looking for an element");
};

/**
 * The one element that the locator names, once it is there.
 *
 * @throws `rejected` where it names several; `timeout` (`not_found` without time to wait) with the nearest where it names none.
 */
export async function waitForOne(elements: Elements, locator: Locator, waiting: WaitLimit): Promise<Element> {
  let last: Findings | undefined;
  return until(
    waiting,
    async () => {
      last = await elements.find(locator, MAX_FOUND);
      return only(last, locator);
    },
    async () => missing(elements, locator, waiting.timeout, last),
  );
}

/** Qt hides the items of a menu that is closed, and does what they say all the same. */
const isReachable = ({ visible, role }: Element) => visible || role.startsWith("menuitem");

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
export const whyUnusable = ({ enabled, visible }: Element): string =>
  enabled ? (visible ? "moves" : "is not visible") : "is not enabled";

/** As {@link waitForOne}, once it can be used: {@link untilUsable}. */
export async function waitForUsable(
  elements: Elements,
  locator: Locator,
  waiting: WaitLimit,
): Promise<Element> {
  let last: Findings | undefined;
  return untilUsable(
    waiting,
    async () => {
      last = await elements.find(locator, MAX_FOUND);
      return only(last, locator);
    },
    async () => {
      const [element] = last?.elements ?? [];
      if (!element) return missing(elements, locator, waiting.timeout, last);
      return timedOut(`${printLocator(locator)} ${whyUnusable(element)} after ${waiting.timeout} s`, {
        mend: mendOf(locator, "unusable", [element]),
      });
    },
  );
}

/** Waits until nothing matches. @throws `timeout`. */
export async function waitUntilGone(elements: Elements, locator: Locator, waiting: WaitLimit): Promise<null> {
  return until(
    waiting,
    async () => ((await elements.find(locator, 1)).elements.length === 0 ? null : undefined),
    async () =>
      timedOut(`${printLocator(locator)} is still there after ${waiting.timeout} s`, {
        mend: mendOf(locator, "differs", (await elements.find(locator, MAX_NAMED)).elements),
      }),
  );
}

/** @throws `rejected` with what tells them apart where there are several. */
function only({ elements, more }: Findings, locator: Locator): Element | undefined {
  const [element, ...others] = mostVisible(elements, ({ visible }) => visible);
  if (others.length === 0) return element;
  const all = [element, ...others].filter((one) => one !== undefined);
  const count = more ? `more than ${all.length}` : `${all.length}`;
  throw rejected(
    `${printLocator(locator)} names ${count} elements: ${all.slice(0, MAX_NAMED).map(toldApart).join("; ")}`,
    { mend: mendOf(locator, "several", all) },
  );
}

const toldApart = (element: Element, at: number) => {
  const { bounds, app_name } = element;
  const place = bounds ? ` at ${bounds[0]}, ${bounds[1]}` : "";
  return `nth ${at + 1} is ${named(element)} of ${jsonLine(app_name)}${place}`;
};

const named = ({ role, name, window_title }: Element) =>
  `${role} ${jsonLine(name)}${window_title === "" ? "" : ` in window ${jsonLine(window_title)}`}`;

/** What a step expected, and what is there. @param there the nearest first. */
export const mendOf = (
  locator: Locator,
  problem: Mend["problem"],
  there: readonly Element[],
  windows: readonly string[] = [],
): Mend =>
  boundedMend({
    expected: printLocator(locator),
    problem,
    there: there.map(asLocator),
    windows: [...windows],
  });

/** A locator of an element: it may name others as well. */
const asLocator = ({ role, name, window_title }: Element) =>
  printLocator({ role, ...(name !== "" && { name }), ...(window_title !== "" && { window: window_title }) });

/** Why there is none: what is nearest to it. */
async function missing(
  elements: Elements,
  locator: Locator,
  timeout: number,
  last: Findings | undefined,
): Promise<Failure> {
  const what = `there is no ${printLocator(locator)}`;
  const { words, there, windows } = await nearestTo(elements, locator).catch(() => NOTHING_NEAR);
  const deaf =
    last && last.deaf.length > 0
      ? `; ${last.deaf.map((name) => jsonLine(name)).join(", ")} did not answer`
      : "";
  const message = `${what}${timeout > 0 ? ` after ${timeout} s` : ""}${words}${deaf}`;
  const mend = mendOf(locator, "missing", there, windows);
  return timeout > 0 ? timedOut(message, { mend }) : notFound(message, { mend });
}

interface Near {
  /** The nearest, in words that follow the message. */
  readonly words: string;
  readonly there: readonly Element[];
  /** The titles of windows, where nothing of its role is in the one that is wanted. */
  readonly windows: readonly string[];
}

const NOTHING_NEAR: Near = { words: "", there: [], windows: [] };

async function nearestTo(elements: Elements, locator: Locator): Promise<Near> {
  const { role, name, window, app } = locator;
  const sameRole =
    role === undefined ? [] : (await elements.find({ role, window, app }, MAX_COMPARED)).elements;
  const sameName =
    name === undefined ? [] : (await elements.find({ name, exact: false }, MAX_NAMED)).elements;
  const folded = name?.toLowerCase();
  const close = name === undefined ? undefined : nearest(name, new Set(sameRole.map((one) => one.name)));
  const found =
    folded === undefined
      ? undefined
      : (sameRole.find((one) => one.name === close) ??
        sameRole.find((one) => one.name.toLowerCase().includes(folded)) ??
        sameName.find(({ visible }) => visible));
  const visible = sameRole.filter((one) => one.visible && one.name !== "");
  const ranked = name === undefined ? visible : byDistance(name, visible, (one) => one.name);
  const there = [...(found ? [found] : []), ...sameName.filter((one) => one.visible), ...ranked];
  return {
    words: found ? `; there is ${named(found)}` : "",
    there,
    windows: sameRole.length > 0 ? [] : await titlesOf(elements),
  };
}

async function titlesOf(elements: Elements): Promise<string[]> {
  const found = await Promise.all(
    ["window", "dialog"].map((role) => elements.find({ role }, MAX_FOUND).catch(() => ({ elements: [] }))),
  );
  return found.flatMap(({ elements: all }) => all.flatMap((one) => (one.visible ? [one.name] : [])));
}
