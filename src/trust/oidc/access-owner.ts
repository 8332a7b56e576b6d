/** Of whom an access token is that an agent brings, and whether its agent may bring any. */
import { createBuckets, RecentMap } from "../../lib/buckets";
import { Failure, forbidden, tooMany } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { digestToken, hexOf } from "../scopes";
import type { Provider, TokenOwner } from "./provider";

/**
 * Access tokens from an address that are looked at and are none: a good one costs nothing. A look is a check of a signature, some tenths of
 * a millisecond: so many that a stranger of the same address (behind a proxy that is not trusted, everybody) does not keep out new agents.
 */
const ACCESS_RATE = { ratePerMinute: 1_200, burst: 300 };

/** How many tokens that were good are remembered. */
const MAX_GOOD = 10_000;

/** What stands for every client of the provider in the list of agents. */
const EVERY_AGENT = "*";

/**
 * Who access tokens are of; undefined for one that the provider has not made for this resource.
 *
 * @param agents the clients of the provider whose access tokens count.
 */
export function createOwnerOf(
  provider: Pick<Provider, "owner">,
  resource: string | undefined,
  agents: readonly string[],
  maxAgeS: number,
): (token: string, client: string) => Promise<TokenOwner | undefined> {
  const take = createBuckets(ACCESS_RATE);
  // Whoever shares the address of a stranger is not kept out with a token that was good before.
  const good = new RecentMap<true>(MAX_GOOD);
  const look = async (token: string, id: string) => {
    try {
      return await provider.owner(token, id, maxAgeS);
    } catch (error) {
      if (error instanceof Failure && error.code === "forbidden") return undefined;
      throw error;
    }
  };
  /** @throws `forbidden` for an agent that may bring none; `too_many`; `unavailable`. */
  return async (token, client) => {
    if (resource === undefined) return undefined;
    const key = hexOf(digestToken(token));
    const isKnown = good.get(key) === true;
    const wait = isKnown ? 0 : take(client, performance.now());
    if (wait > 0)
      throw tooMany(
        `too many access tokens that do not count came from this address: again in ${Math.ceil(wait / 1_000)} s`,
      );
    const owner = await look(token, resource);
    if (!owner) return undefined;
    if (!isKnown) take(client, performance.now(), -1);
    good.set(key, true);
    if (agents.includes(EVERY_AGENT) || agents.includes(owner.client)) return owner;
    throw forbidden(
      `access tokens of the client ${printable(owner.client, 200)} do not count here: svc was started without --oidc-agents for it`,
    );
  };
}
