/** Who may look at a screen live, and how many at once. */
import type { Caller } from "../../../core/caller";
import { allows, beyond, type Grant, shareOf } from "../../../core/rights";
import { shortage } from "../../../lib/quota";
import { type CarrierKind, CLOSE, type Ending } from "../../../wire/screen/viewer";
import type { Door } from "./calls";
import { refused, type Viewer } from "./viewer";

/** How many viewers there are at once; a named token alone gets three quarters. */
const VIEWERS = { what: "viewers", most: 16, times: 3 };

/** Who wants to look, and how the stream gets there. */
export interface Admission {
  /** With `request.untilTokenEnds` where nothing else ends the carrier with the token. */
  readonly caller: Pick<Caller, "grant" | "client" | "request">;
  /** Whether it shall control as soon as pointer and keyboard are free. */
  readonly control: boolean;
  readonly carrier: CarrierKind;
  /** Ends the viewer, also while it waits. */
  readonly signal: AbortSignal;
  readonly id?: string | undefined;
}

/** A viewer that was let in: where its stream is, and how it ends. */
export interface AdmittedViewer extends Door {
  readonly id: string;
  readonly closed: Promise<Ending>;
}

/** @throws `forbidden` where this host does not show its screen live. */
export function requireOn({ isOn }: { readonly isOn: boolean }): void {
  if (isOn) return;
  throw refused("forbidden", CLOSE.denied, "the live screen is off here (svc serve --no-screen)");
}

/** @throws for who may not look, or not control; while there are too many. */
export function requireRoom(viewers: Iterable<Viewer>, grant: Grant, wantsControl: boolean): void {
  for (const need of wantsControl ? (["screen", "operate"] as const) : (["screen"] as const)) {
    if (!allows(grant, need)) throw refused("forbidden", CLOSE.denied, beyond(grant, `this needs ${need}`));
  }
  const shares = Array.from(viewers, (one) => shareOf(one.grant));
  const full = shortage(VIEWERS, shares, shareOf(grant));
  if (full !== undefined) throw refused("unavailable", CLOSE.full, full);
}
