/**
 * Finding a window by a part of its title, now or when it appears.
 */
import { sleep } from "../lib/deadline";
import { cancelled, notFound, timedOut, unavailable } from "../lib/errors";
import { jsonLine } from "../lib/sanitize";
import type { Desktop } from "./desktop";

export const CANNOT_LIST = "this platform cannot list windows";

/** Which window. */
export interface TitleQuery {
  readonly title_substring: string;
  readonly case_sensitive: boolean;
}

/**
 * Focuses the first window whose title matches.
 *
 * @returns its hwnd.
 * @throws a `not_found` failure when there is none; `unavailable` when it does not get the focus.
 */
export async function focusByTitle(desktop: Desktop, query: TitleQuery, signal: AbortSignal) {
  const window = await find(desktop, query, signal);
  if (!window) throw notFound(`there is no window with ${quoted(query)} in its title`);
  await desktop.focus(window.hwnd, signal);
  return window.hwnd;
}

/**
 * Waits until there is a window whose title matches.
 *
 * @param query with `timeout`, how long to wait, and `poll`, how often to look, both in seconds.
 * @returns its hwnd.
 * @throws a `timeout` failure when none appears in time; `cancelled`.
 */
export async function waitForTitle(
  desktop: Desktop,
  query: TitleQuery & { readonly timeout: number; readonly poll: number },
  signal: AbortSignal,
): Promise<number> {
  const { timeout, poll } = query;
  const end = performance.now() + timeout * 1_000;
  for (;;) {
    const window = await find(desktop, query, signal);
    if (window) return window.hwnd;
    const left = end - performance.now();
    if (left <= 0) throw timedOut(`no window with ${quoted(query)} in its title within ${timeout} s`);
    await sleep(Math.min(poll * 1_000, left), signal, () => {
      throw cancelled("cancelled while waiting for a window");
    });
  }
}

async function find(desktop: Desktop, { title_substring, case_sensitive }: TitleQuery, signal: AbortSignal) {
  const windows = await desktop.windows(signal);
  if (!windows) throw unavailable(CANNOT_LIST);
  const folded = (text: string) => (case_sensitive ? text : text.toLowerCase());
  return windows.find(({ title }) => folded(title).includes(folded(title_substring)));
}

/** The whole title: in a part of it, a secret could not be recognized and redacted. */
const quoted = ({ title_substring }: TitleQuery) => jsonLine(title_substring);
