/**
 * The servers of a desk that uses several: each but the first has the name of a region, which stands in the addresses of its hosts:
 * `nats:KEY` is at the first, `nats:REGION/KEY` at that of the region.
 */
import * as v from "valibot";

/** What stands for the first server, which has no name, where servers are kept by name. */
export const FIRST = "";

/** The name of a region: a part of addresses, of labels of metrics and of messages. */
export const REGION = v.pipe(
  v.string(),
  v.regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    "1 to 32 of the characters a-z 0-9 -, beginning with a letter or digit",
  ),
);

const ADDRESS = /^nats:(?:([a-z0-9][a-z0-9-]{0,31})\/)?(U[A-Z2-7]{55})$/;

/** The address of the host with this key. @param region {@link FIRST} for the first server. */
export const natsAddress = (key: string, region: string = FIRST): string =>
  region === FIRST ? `nats:${key}` : `nats:${region}/${key}`;

/** Where the host of an address is; undefined for one that is not reached over NATS. */
export function natsPlaceOf(address: string): { readonly region: string; readonly key: string } | undefined {
  const match = ADDRESS.exec(address);
  return match ? { region: match[1] ?? FIRST, key: match[2] ?? "" } : undefined;
}

/** A server as messages name it: `the NATS server`, or that of a region. */
export const serverNamed = (region: string): string =>
  region === FIRST ? "the NATS server" : `the NATS server of ${region}`;
