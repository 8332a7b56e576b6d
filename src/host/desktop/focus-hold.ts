/**
 * The window to which the keys of a run go, where a script holds it: another program that takes the focus meanwhile, such as a message
 * that nobody expects, gets none of them.
 */
import type { RunContext } from "../../core/run";
import { sleep } from "../../lib/deadline";
import { cancelled, notFound } from "../../lib/errors";
import { jsonLine } from "../../lib/sanitize";
import type { Requester } from "../../lib/slots";
import type { DesktopWindow } from "./backend";
import type { Desktop } from "./desktop";
import { listed } from "./windows";

/** The windows that runs hold on one desktop, by the id of the run; a run that ends holds nothing. */
export type HeldWindows = Map<string, HeldWindow>;

interface HeldWindow {
  readonly title: string;
  readonly pid: number | null;
  /** The window of its program that had the focus last: a dialog, while one is open. */
  last: number;
  /** The windows of its program that were there at the last look: another one has come since. */
  known: ReadonlySet<number>;
}

type Windows = Pick<Desktop, "windows" | "focus" | "heldWindows">;

/**
 * From now on, keys of `run` go to the window `hwnd` and to others of its program; to any window where `hwnd` is undefined.
 *
 * @throws a `not_found` failure where there is no such window any more: keys would go to whatever has the focus. What listing windows throws.
 */
export async function holdFocus(
  desktop: Windows,
  hwnd: number | undefined,
  requester: Requester,
  run: RunContext,
): Promise<void> {
  const { heldWindows: held } = desktop;
  if (hwnd === undefined) {
    held.delete(run.id);
    return;
  }
  const windows = await listed(desktop, requester);
  const window = windows.find((one) => one.hwnd === hwnd);
  if (!window) throw notFound(`the window ${hwnd}, which keys are to go to, is not there any more`);
  if (!held.has(run.id)) run.atEnd(async () => void held.delete(run.id));
  const { title, pid } = window;
  held.set(run.id, { title, pid, last: window.hwnd, known: new Set(idsOf(windows, window)) });
}

/** Whether `run` holds a window. */
export const isHolding = (
  { heldWindows }: Pick<Desktop, "heldWindows">,
  run: RunContext | undefined,
): boolean => run !== undefined && heldWindows.has(run.id);

/**
 * Gives the focus back to the window that `run` holds, where a window of another program has it. Callers must do so before keys, and before they
 * act on elements: such an act names what it is for, so that the held window may have gone meanwhile.
 *
 * @param next what is done then.
 * @throws for keys, a `not_found` failure where its program has no window any more; what listing and focusing windows throw.
 */
export async function giveFocusBack(
  desktop: Windows,
  requester: Requester,
  run: RunContext | undefined,
  next: "keys" | "element" = "keys",
): Promise<void> {
  const window = run && desktop.heldWindows.get(run.id);
  if (!window) return;
  const { own, focused } = await settled(desktop, window, requester);
  // Of two that have come, the later one is listed last.
  const come = own.findLast(({ hwnd }) => !window.known.has(hwnd));
  window.known = new Set(own.map(({ hwnd }) => hwnd));
  if (focused && isOf(focused, window)) {
    window.last = focused.hwnd;
    return;
  }
  const back = come ?? own.find(({ hwnd }) => hwnd === window.last) ?? own.at(0);
  if (!back && next === "element") return;
  if (!back) throw notFound(`the window ${jsonLine(window.title)}, which keys go to, is not there any more`);
  let holder = back;
  try {
    await desktop.focus(back.hwnd, requester);
  } catch (error) {
    // A dialog that blocks its program keeps the focus from it: keys are for that dialog.
    const now = await look(desktop, window, requester);
    if (!now.focused || !isOf(now.focused, window)) throw error;
    holder = now.focused;
  }
  window.last = holder.hwnd;
  if (focused)
    run?.log(`${jsonLine(focused.title)} had taken the focus; ${jsonLine(holder.title)} has it again`);
}

async function look(desktop: Windows, window: HeldWindow, requester: Requester) {
  const windows = await listed(desktop, requester);
  return { own: windows.filter((one) => isOf(one, window)), focused: windows.find((one) => one.focused) };
}

/** While a window opens, none has the focus for a moment: its window manager gives it the focus then. In milliseconds. */
const [OPENS_MS, LOOK_MS] = [500, 25];

/** What shows once a window has the focus, or after half a second. */
async function settled(desktop: Windows, window: HeldWindow, requester: Requester) {
  const end = performance.now() + OPENS_MS;
  for (;;) {
    const seen = await look(desktop, window, requester);
    if (seen.focused || seen.own.length === 0 || performance.now() > end) return seen;
    await sleep(LOOK_MS, requester.signal, gone);
  }
}

const gone = () => cancelled("cancelled while a window opens");

/** Whether it is the held window, or another of its program. */
const isOf = ({ hwnd, pid }: DesktopWindow, held: Pick<HeldWindow, "pid" | "last">) =>
  held.pid === null ? hwnd === held.last : pid === held.pid;

const idsOf = (windows: readonly DesktopWindow[], { hwnd: last, pid }: DesktopWindow) =>
  windows.filter((one) => isOf(one, { pid, last })).map(({ hwnd }) => hwnd);
