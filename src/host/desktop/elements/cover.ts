/**
 * An element that the window of another program covers: a click there would go to that window, so that of the element comes to the front
 * first.
 */
import type { RunContext } from "../../../core/run";
import { sleep } from "../../../lib/deadline";
import { cancelled, unavailable } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import type { Requester } from "../../../lib/slots";
import type { DesktopWindow, PointedWindow } from "../backend";
import type { Desktop } from "../desktop";
import type { Point } from "../geometry";
import type { Element } from "./calls";
import { normalized } from "./said";

/** How long a window that has the focus may take to be in front, in milliseconds. */
const RAISE_MS = 2_000;
const POLL_MS = 20;

type Owner = Pick<Element, "process_id" | "window_title">;

/**
 * Moves the pointer to a place of an element. Where the window of another program is in front there, that of the element gets the focus, and
 * the run says so. Where the platform does not say whose window is in front, none is raised.
 *
 * @throws `unavailable` where the other window stays in front; what moving the pointer and focusing a window throw.
 */
export async function pointAt(
  desktop: Pick<Desktop, "move" | "pointed" | "windows" | "focus">,
  { process_id, window_title }: Owner,
  place: Point,
  requester: Requester,
  run: RunContext | undefined,
): Promise<void> {
  await desktop.move(place, requester);
  if (process_id === null) return;
  const cover = async () => {
    const over = await desktop.pointed(requester);
    return isOfAnother(over, process_id) ? over : undefined;
  };
  const first = await cover();
  if (!first) return;
  const own = ((await desktop.windows(requester)) ?? []).filter(({ pid }) => pid === process_id);
  const window = windowAt(own, window_title, place);
  if (!window) return;
  await desktop.focus(window.hwnd, requester);
  const end = performance.now() + RAISE_MS;
  for (let over = await cover(); over; over = await cover()) {
    if (performance.now() > end)
      throw unavailable(`the window ${jsonLine(over.title)} covers it, and stays in front of its own`);
    await sleep(POLL_MS, requester.signal, () => cancelled("cancelled while a window comes to the front"));
  }
  run?.log(`${jsonLine(first.title)} covered the place; ${jsonLine(window.title)} is in front of it now`);
}

const isOfAnother = (over: PointedWindow | undefined, pid: number) =>
  over !== undefined && over.pid !== null && over.pid !== pid;

/** The window of that title, of those that are at the place; else the one that came last. */
function windowAt(own: readonly DesktopWindow[], title: string, { x, y }: Point): DesktopWindow | undefined {
  const isWithin = (at: number, from: number | null, size: number | null) =>
    from !== null && size !== null && at >= from && at < from + size;
  const there = own.filter((one) => isWithin(x, one.x, one.width) && isWithin(y, one.y, one.height));
  return there.findLast((one) => normalized(one.title) === title) ?? there.at(-1);
}
