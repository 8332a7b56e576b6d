/**
 * Finding a window by a part of its title, its process or its hwnd: now, when it appears, or until it has gone.
 */
import { sleep } from "../../lib/deadline";
import { cancelled, notFound, timedOut, unavailable } from "../../lib/errors";
import { groupOf } from "../../lib/process-group";
import { jsonLine } from "../../lib/sanitize";
import type { Requester } from "../../lib/slots";
import type { DesktopWindow } from "./backend";
import type { Desktop } from "./desktop";
import type { Patience } from "./images/wait";

export const CANNOT_LIST = "this platform cannot list windows";

/** Which window: all that is given must match. */
interface WindowQuery {
  readonly title_substring?: string | undefined;
  readonly case_sensitive: boolean;
  /** The name of its program, in any case and with or without `.exe`; or its process id, or that of the process that began its group. */
  readonly process?: string | number | undefined;
  readonly hwnd?: number | undefined;
}

/** Whether `window` is one that `query` asks for. */
export function matches(window: DesktopWindow, query: WindowQuery): boolean {
  const { title_substring, case_sensitive, process, hwnd } = query;
  const folded = (text: string) => (case_sensitive ? text : text.toLowerCase());
  return (
    (hwnd === undefined || window.hwnd === hwnd) &&
    (process === undefined || isProcess(window, `${process}`)) &&
    (title_substring === undefined || folded(window.title).includes(folded(title_substring)))
  );
}

/** A shell or a wrapper that was started has no window: the program has one that it starts, in the group of the first (setpgid(2)). */
const isProcess = ({ pid, process }: DesktopWindow, wanted: string) =>
  wanted === `${pid}` ||
  (process !== null && programName(process) === programName(wanted)) ||
  (pid !== null && /^\d+$/.test(wanted) && groupOf(pid) === Number(wanted));

const programName = (name: string) => name.toLowerCase().replace(/\.exe$/, "");

/** The windows. @throws an `unavailable` failure where the platform cannot list them. */
export async function listed(desktop: Pick<Desktop, "windows">, requester: Requester) {
  const windows = await desktop.windows(requester);
  if (!windows) throw unavailable(CANNOT_LIST);
  return windows;
}

/** The first window that matches. @throws a `not_found` failure when there is none. */
export async function findWindow(
  desktop: Pick<Desktop, "windows">,
  query: WindowQuery,
  requester: Requester,
) {
  const found = await first(desktop, query, requester);
  if (found) return found;
  throw notFound(`there is no window ${described(query)}`);
}

/** Focuses the first window that matches. @returns its hwnd. @throws as {@link findWindow}; `unavailable`. */
export async function focusByTitle(desktop: Desktop, query: WindowQuery, requester: Requester) {
  const { hwnd } = await findWindow(desktop, query, requester);
  await desktop.focus(hwnd, requester);
  return hwnd;
}

/**
 * Waits until there is a window that matches.
 *
 * @returns its hwnd.
 * @throws a `timeout` failure when none appears in time; `cancelled`.
 */
export async function waitForTitle(
  desktop: Desktop,
  query: WindowQuery & Patience,
  requester: Requester,
): Promise<number> {
  const late = () => timedOut(`no window ${described(query)} within ${query.timeout} s`);
  const look = async () => (await first(desktop, query, requester))?.hwnd;
  return waitFor(look, query, late, requester);
}

/**
 * Waits until no window matches.
 *
 * @throws a `timeout` failure when there is still one; `cancelled`.
 */
export async function waitUntilGone(
  desktop: Desktop,
  query: WindowQuery & Patience,
  requester: Requester,
): Promise<null> {
  const late = () => timedOut(`there is still a window ${described(query)} after ${query.timeout} s`);
  const look = async () => ((await first(desktop, query, requester)) ? undefined : null);
  return waitFor(look, query, late, requester);
}

/** What `look` found, as soon as that is not undefined. */
async function waitFor<T>(
  look: () => Promise<T | undefined>,
  { timeout, poll }: Patience,
  late: () => Error,
  requester: Requester,
): Promise<T> {
  const end = performance.now() + timeout * 1_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    const left = end - performance.now();
    if (left <= 0) throw late();
    await sleep(Math.min(poll * 1_000, left), requester.signal, () =>
      cancelled("cancelled while waiting for a window"),
    );
  }
}

async function first(desktop: Pick<Desktop, "windows">, query: WindowQuery, requester: Requester) {
  return (await listed(desktop, requester)).find((window) => matches(window, query));
}

/** The whole title: in a part of it, a secret could not be recognized and redacted. */
function described({ title_substring, process, hwnd }: WindowQuery): string {
  const words = [
    title_substring === undefined ? [] : `with ${jsonLine(title_substring)} in its title`,
    process === undefined ? [] : `of process ${jsonLine(`${process}`)}`,
    hwnd === undefined ? [] : `${hwnd}`,
  ];
  return words.flat().join(" ");
}
