/**
 * Finding one thing in several ways: by what names it, else by its text, else by a picture of it.
 *
 * Promise: the first way that is given has half of the time for itself, so that what comes late is not taken for what is missing; and
 * whoever asks learns which way found it.
 */
import * as v from "valibot";
import { type Caller, requesterOf } from "../../../core/caller";
import { field } from "../../../core/fields";
import { sleep } from "../../../lib/deadline";
import { type Failure, failureOf, notFound, timedOut, unavailable } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import type { Desktop } from "../desktop";
import { PNG } from "../images/fields";
import { nameOf, waitForImage } from "../images/wait";
import { waitForText } from "../operations/text";
import type { RelativeTo } from "../relative";
import { ELEMENT, type Element } from "./calls";
import {
  type Elements,
  gone,
  isReachable,
  type WaitLimit,
  waitForOne,
  waitForUsable,
  waitForVisible,
} from "./elements";
import { type Fields, locatorOf, namesElement, one } from "./fields";
import { type Locator, printLocator } from "./locator";

/** The fields of the ways beside a locator. */
export const WAYS = {
  text: field(
    v.optional(v.pipe(v.string(), v.regex(/\S/, "a text to look for"), v.maxLength(1_000))),
    "The text on the screen that is looked for where no element is found",
  ),
  image: field(
    v.optional(PNG),
    "The picture that is looked for where nothing else is found, as in AC_locate_and_click",
  ),
};

/** How something was found. */
export const HOW_FOUND = {
  /** Which of the ways found it. */
  found_by: v.picklist(["element", "text", "image"]),
  /** Whether the first of the ways that were given did not. */
  healed: v.boolean(),
  /** From 0 to 1: how alike the picture is, or how surely the text was read; 1 for an element. */
  score: v.number(),
};

/** An element, or what a text or a picture found: that has the role `text` or `image`, a place, and no id. */
export const FOUND = v.object({ ...ELEMENT.entries, ...HOW_FOUND });
export type FoundElement = v.InferOutput<typeof FOUND>;

/** The fields of an operation that finds one thing in several ways. @param timeout the default, in seconds. */
export const oneInWays = (timeout: number) => one(WAYS, timeout);

/** What names one thing, and how its text and picture are looked for. */
export interface Ways extends Fields {
  readonly text?: string | undefined;
  readonly image?: string | undefined;
  readonly region?: Bounds | undefined;
  readonly relative_to?: RelativeTo;
  readonly detect_threshold?: number;
  readonly scales?: readonly number[];
}

type Bounds = [number, number, number, number];

/** What is wrong where nothing is named. */
export function noWay(ways: Ways) {
  if (namesElement(ways) || ways.text !== undefined || ways.image !== undefined) return undefined;
  return { field: "element", message: "expected element, role, name, text or image" };
}

/** Whether anything but an element is named. */
export const hasOtherWays = ({ text, image }: Readonly<Record<string, unknown>>): boolean =>
  text !== undefined || image !== undefined;

/** How an element is awaited. */
const WAITS = { there: waitForOne, visible: waitForVisible, usable: waitForUsable } as const;

/** How long to wait between two looks in every way, in milliseconds: reading the screen takes most of a second by itself. */
const POLL_MS = 250;
/** How sure the reading of a text must be, of 100, as `AC_locate_text` has it. */
const CONFIDENCE = 80;

interface Way {
  readonly found_by: FoundElement["found_by"];
  /** Looks once. @throws a failure where it finds nothing. */
  look(): Promise<Element & { readonly score: number }>;
}

/**
 * What the ways name: the first that finds something counts.
 *
 * @param has what an element has to be: `usable` is visible, enabled and still.
 * @throws `rejected` where several elements match; `timeout` (`not_found` without time to wait) that says what each way found.
 */
export async function findInWays(
  desktop: Desktop,
  given: Ways,
  { timeout, signal, whole = timeout }: WaitLimit,
  caller: Caller,
  has: keyof typeof WAITS,
): Promise<FoundElement> {
  const { elements } = desktop.turnsOf(requesterOf(caller));
  const end = performance.now() + timeout * 1_000;
  const left = () => Math.max(0, end - performance.now()) / 1_000;
  const locator = namesElement(given) ? locatorOf(given) : undefined;
  const wait = WAITS[has];
  /** A part of the time; failures name all of it. */
  const part = (seconds: number): WaitLimit => ({ timeout: seconds, signal, whole });
  const others = otherWays(desktop, given, caller);
  const [only] = others;
  const asElement = (found: Element): FoundElement => ({
    ...found,
    found_by: "element",
    healed: false,
    score: 1,
  });
  if (locator && !only) return asElement(await wait(elements, locator, part(timeout)));
  const missed: string[] = [];
  let mend: Failure["more"] = {};
  if (locator) {
    const found = await firstWay(elements, locator, part(timeout / 2), left, has);
    if ("native_id" in found) return asElement(found);
    missed.push(found.message);
    mend = found.more;
  }
  for (;;) {
    const isLast = left() <= 0;
    const said = [...missed];
    for (const { found_by, look } of others) {
      const found = await look().catch(missingOf);
      if ("native_id" in found) {
        const healed = locator !== undefined || found_by !== only?.found_by;
        if (healed) tell(caller, given, locator, found_by);
        return { ...found, found_by, healed };
      }
      said.push(found.message);
    }
    if (isLast) throw (timeout > 0 ? timedOut : notFound)(said.join("; "), mend);
    await sleep(Math.min(POLL_MS, left() * 1_000), signal, gone);
    if (!locator || !(await isThere(elements, locator, has))) continue;
    const found = await firstWay(elements, locator, part(left()), left, has);
    if ("native_id" in found) return asElement(found);
  }
}

/** The element; one that is there and cannot be used yet has all of the time. @returns why there is none. */
async function firstWay(
  elements: Elements,
  locator: Locator,
  waiting: WaitLimit,
  left: () => number,
  has: keyof typeof WAITS,
): Promise<Element | Failure> {
  const wait = WAITS[has];
  try {
    return await wait(elements, locator, waiting);
  } catch (error) {
    const failure = missingOf(error);
    if (left() <= 0 || !(await isThere(elements, locator, has))) return failure;
    // What is not enabled yet is not to be clicked by its text.
    return wait(elements, locator, { ...waiting, timeout: left() });
  }
}

/** Also one that cannot be used yet, but none that a program keeps and hides; false where nothing can be known by name. */
const isThere = async (elements: Elements, locator: Locator, has: keyof typeof WAITS): Promise<boolean> => {
  const { elements: found } = await elements.find(locator, 1).catch(() => ({ elements: [] }));
  return found.some((one) => has === "there" || isReachable(one));
};

/** The failure of a way that found nothing, or cannot look here. @throws any other. */
function missingOf(error: unknown): Failure {
  const failure = failureOf(error);
  if (!failure || !MISSES.has(failure.code)) throw error;
  return failure;
}

const MISSES: ReadonlySet<string> = new Set(["not_found", "timeout", "unavailable"]);

function otherWays(desktop: Desktop, given: Ways, caller: Caller): Way[] {
  const { text, image, region, relative_to, detect_threshold = 0.9, scales = [1] } = given;
  const where = { ...(region && { region }), ...(relative_to !== undefined && { relative_to }) };
  const once = { timeout: 0, poll: 0 };
  const byText = async () => {
    const wanted = { text: text ?? "", language: "eng", min_confidence: CONFIDENCE, case_sensitive: false };
    const query = { ...wanted, match: "word" as const, nth: 1, ...where };
    const { x, y, width, height, confidence } = await waitForText(desktop, query, once, caller);
    return { ...placed("text", text ?? "", [x, y, width, height]), score: confidence / 100 };
  };
  const byImage = async () => {
    const query = { image: image ?? "", detect_threshold, scales, ...where };
    const { x, y, width, height, score } = await waitForImage(desktop, query, once, caller);
    return { ...placed("image", nameOf(query), [x, y, width, height]), score };
  };
  return [
    ...(text === undefined ? [] : [{ found_by: "text" as const, look: byText }]),
    ...(image === undefined ? [] : [{ found_by: "image" as const, look: byImage }]),
  ];
}

/** A place on the screen in the form of an element. */
function placed(role: string, name: string, bounds: Bounds): Element {
  const [x, y, width, height] = bounds;
  const states = { checked: false, focused: false, selected: false, expanded: false, secret: false };
  return {
    role,
    native_role: role,
    name,
    app_name: "",
    window_title: "",
    process_id: null,
    native_id: "",
    bounds,
    center: [x + Math.floor(width / 2), y + Math.floor(height / 2)],
    enabled: true,
    visible: true,
    showing: true,
    ...states,
  };
}

/** The record of a run has a line of each that healed. */
function tell(
  caller: Caller,
  { text }: Ways,
  locator: Locator | undefined,
  by: FoundElement["found_by"],
): void {
  const sought = locator ? printLocator(locator) : `the text ${jsonLine(text ?? "")}`;
  caller.run?.log(`healed: ${sought} was not found, its ${by} was`);
}

/** Where something is, as what finds pictures says it. @throws `unavailable` where its program does not say. */
export function hitOf({ bounds, center, score, found_by, healed }: FoundElement) {
  if (!bounds || !center) throw unavailable("its program does not say where it is");
  const [x, y, width, height] = bounds;
  const [center_x, center_y] = center;
  return { x, y, width, height, score, center_x, center_y, found_by, healed };
}
