/**
 * Replacing the tokens of hosts before they end. svc knows the end of a token that a host made when it joined, and of one
 * that it has replaced since.
 */
import { runPool } from "../../lib/pool";
import type { Host } from "./host";

/** A token is replaced when it has less than this left, in milliseconds: 30 days, of 90 that it has by default. */
const RENEW_BELOW_MS = 30 * 86_400_000;

/** How many hosts are asked at once. None with a token is reached over a NATS server. */
const SLOTS = 16;

/** The hosts whose tokens end soon. One that has ended cannot be replaced: its host joins again. */
export const dueHosts = (hosts: readonly Host[], now = Date.now()): Host[] =>
  hosts.filter(({ token, token_expires }) => {
    if (token === undefined) return false;
    const left = token_expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(token_expires) - now;
    return left > 0 && left < RENEW_BELOW_MS;
  });

/** Lets `renew` replace the tokens that end soon; `failed` gets what it throws. */
export async function renewDue(
  hosts: readonly Host[],
  renew: (label: string) => Promise<unknown>,
  failed: (label: string, error: unknown) => void,
): Promise<void> {
  await runPool(dueHosts(hosts), { slots: SLOTS }, ({ label }) =>
    renew(label).then(
      () => {},
      (error) => failed(label, error),
    ),
  );
}
