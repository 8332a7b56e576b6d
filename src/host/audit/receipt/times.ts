/**
 * What the clocks of witnesses say about the times that a host has written.
 *
 * The promise: a yes that a passkey has signed counts for what came while it could be given, by clocks that are not those of the host. Who
 * has taken a host over could else put a yes of months ago, with the time of then, into a new row.
 */
import { rejected } from "../../../lib/errors";
import { isLate } from "../../../trust/passkeys/yes";
import type { ProvenRow } from "../../../wire/receipt/statement";
import type { Sight } from "./result";

/** How far the clock of a host may be off, in milliseconds: one that takes the local time for UTC is less. */
const CLOCK_MS = 86_400_000;

type Window = Pick<Sight, "window">;

/** A yes that a passkey has signed. */
interface Yes {
  /** What it was for, for messages. */
  readonly id: string;
  readonly text: string;
}

/** @throws a `rejected` failure where a row has a time that is far from when the witnesses know that it came. */
export function requireTimes(rows: ReadonlyArray<Pick<ProvenRow, "index" | "ts">>, { window }: Window): void {
  if (!window) return;
  const [from, to] = [Date.parse(window.after) - CLOCK_MS, Date.parse(window.before) + CLOCK_MS];
  for (const { index, ts } of rows) {
    const at = Date.parse(ts);
    if (!(at >= from && at <= to))
      throw rejected(
        `the row of leaf ${index} says ${ts}, but by the witnesses it came between ${window.after} and ${window.before}`,
      );
  }
}

/**
 * @param host the id of the host whose log has it.
 * @throws a `rejected` failure where the yes was given to another host, or was over before the row of it can have come.
 */
export function requireYes({ id, text }: Yes, host: string, { window }: Window): void {
  const said = statementOf(text);
  if (said.host !== `urn:svc:host:${host}`) throw rejected(`the yes to ${id} was given to another host`);
  if (window && isLate(said, window.after))
    throw rejected(`the yes to ${id} was over before its row came, by the clocks of the witnesses`);
}

/** Whether the witnesses know that each yes came in its time: null where there is none, false where that is the word of the host. */
export function inTime(yeses: readonly Yes[], { window }: Window): boolean | null {
  if (yeses.length === 0) return null;
  return window !== null && yeses.every(({ text }) => !isLate(statementOf(text), window.before));
}

/** What was signed, which has its form already. */
function statementOf(text: string): { readonly host: unknown; readonly expires: string } {
  const { host, expires } = Object(JSON.parse(text));
  return { host, expires: `${expires}` };
}
