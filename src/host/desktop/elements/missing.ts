/**
 * Why there is no such element: what is there instead, for who reads the failure and for who mends the script.
 */
import { boundedMend, type Mend } from "../../../core/mend";
import { type Failure, notFound, timedOut } from "../../../lib/errors";
import { byDistance, nearest } from "../../../lib/nearest";
import { jsonLine } from "../../../lib/sanitize";
import type { Element, Findings } from "./calls";
import type { Elements } from "./elements";
import { type Locator, printLocator } from "./locator";

/** How many of those that match, or nearly, a failure names. */
export const MAX_NAMED = 5;
/** How many elements a failure compares names with. */
const MAX_COMPARED = 500;
/** How many windows are named, where nothing is near. */
const MAX_WINDOWS = 50;

/** Role, name and window of an element, in words. */
export const named = ({ role, name, window_title }: Element) =>
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

/** Why there is none: what is nearest to it. @param timeout how long it was waited for, in seconds. @param last what was found last. */
export async function missing(
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
    ["window", "dialog"].map((role) => elements.find({ role }, MAX_WINDOWS).catch(() => ({ elements: [] }))),
  );
  return found.flatMap(({ elements: all }) => all.flatMap((one) => (one.visible ? [one.name] : [])));
}
