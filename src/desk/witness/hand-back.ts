/**
 * Handing cosignatures back to the host whose checkpoint was cosigned.
 *
 * The promise: it leaves rows in the log of the host, so it is done when the log has grown by more than these rows, else every 45 s.
 */
import type { Carrier, Response } from "../../client/carrier";
import type { SigningKey } from "../../lib/signing-key";
import type { Submission } from "../../wire/witness/add-checkpoint";
import { handedText } from "../../wire/witness/cosignatures";
import type { Membership } from "../../wire/witness/messages";
import { limits } from "./look";

/** How often cosignatures are handed back to a host whose log does not grow by itself, in milliseconds. */
const EVERY_MS = 45_000;

/** How much longer the pause between handing back is for each host of the desk, in milliseconds: a large desk has more to ask. */
export const PACE_MS = 60;

/** How many rows this desk itself leaves in the log of a host: when it hands back, and perhaps when it looks. */
const OWN_ROWS = 2;

/** When cosignatures were handed back last, how large the log was, and how many looks there were since. */
export interface HandedBack {
  at: number;
  size: number;
  looks: number;
}

/** @param hosts how many the desk watches. */
export function isDue(handed: HandedBack | undefined, size: number, hosts: number): boolean {
  if (!handed) return true;
  const pause = performance.now() - handed.at;
  const grown = size - handed.size - OWN_ROWS - handed.looks;
  return pause >= EVERY_MS || (grown > 0 && pause >= PACE_MS * hosts);
}

/** A witness's lines of signatures, and the key that verifies them. */
export interface Cosignature {
  readonly cosignatures: string;
  readonly vkey: string;
}

/** Whatever the host answers. @throws a {@link RemoteError} when it does not. */
export function handBack(
  carrier: Carrier,
  { deskKey, member }: { readonly deskKey: SigningKey; readonly member: Membership },
  { note }: Submission,
  cosigned: readonly Cosignature[],
): Promise<Response> {
  const body = handedText(deskKey, member, {
    note: note + cosigned.map(({ cosignatures }) => cosignatures).join(""),
    witnesses: cosigned.map(({ vkey }) => vkey),
  });
  return carrier.ask({ method: "POST", path: "/audit/cosignatures", body }, limits());
}
