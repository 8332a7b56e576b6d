/**
 * Finding a window by a part of its title, now or when it appears.
 */
import { sleep } from "../lib/deadline";
import { cancelled, notFound, timedOut, unavailable } from "../lib/errors";
import { jsonLine } from "../lib/sanitize";
import type { DesktopWindow } from "./backend";
import type { Desktop } from "./desktop";

/** What is said where the windows cannot be listed. */
export const NOT_TOLD = "this platform does not tell which windows there are";

/** Which window. */
export interface TitleQuery {
  readonly titleSubstring: string;
  readonly caseSensitive: boolean;
}

/** How long to wait and how often to look, in seconds. */
export interface Patience {
  readonly timeout: number;
  readonly poll: number;
}

/**
 * Focuses the first window whose title matches.
 *
 * @returns its hwnd.
 * @throws a `not_found` failure when there is none; `unavailable` when it does not get the focus.
 */
export async function focusByTitle(
  desktop: Desktop,
  query: TitleQuery,
  signal: AbortSignal,
): Promise<number> {
  const window = await find(desktop, query, signal);
  if (!window) throw notFound(`there is no window with ${described(query)} in its title`);
  await desktop.focus(window.hwnd, signal);
  return window.hwnd;
}

/**
 * Waits until there is a window whose title matches.
 *
 * @returns its hwnd.
 * @throws a `timeout` failure when none appears in time; `cancelled`.
 */
export async function waitForTitle(
  desktop: Desktop,
  query: TitleQuery,
  { timeout, poll }: Patience,
  signal: AbortSignal,
): Promise<number> {
  const deadline = performance.now() + timeout * 1_000;
  for (;;) {
    const window = await find(desktop, query, signal);
    if (window) return window.hwnd;
    const left = deadline - performance.now();
    if (left <= 0) throw timedOut(`no window with ${described(query)} in its title within ${timeout} s`);
    await sleep(Math.min(poll * 1_000, left), signal, () => {
      throw cancelled("cancelled while waiting for a window");
    });
  }
}

async function find(
  desktop: Desktop,
  { titleSubstring, caseSensitive }: TitleQuery,
  signal: AbortSignal,
): Promise<DesktopWindow | undefined> {
  const windows = await desktop.windows(signal);
  if (!windows) throw unavailable(NOT_TOLD);
  const folded = (text: string) => (caseSensitive ? text : text.toLowerCase());
  return windows.find(({ title }) => folded(title).includes(folded(titleSubstring)));
}

/** Whole: in a part of it, nobody would know a secret again. */
const described = ({ titleSubstring }: TitleQuery) => jsonLine(titleSubstring);
