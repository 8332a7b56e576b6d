/**
 * What many hosts share while they are asked: places, turns, slots.
 *
 * The promise: hosts that are reached over NATS share it with those at the same server alone. A server that is off, or takes messages and
 * passes nothing on, holds up none of another.
 */

/** Names the server over which the host at this address is reached: that of its region of NATS; "" for all that are reached otherwise. */
export function serverOver(address: string): string {
  if (!address.startsWith("nats:")) return "";
  const end = address.indexOf("/");
  return end < 0 ? "nats:" : address.slice(0, end);
}

/** The same of a host of the address book. */
export const serverOfHost = ({ base_url }: { readonly base_url: string }): string => serverOver(base_url);

/** One of what `make` makes for each of the servers that {@link serverOver} names; it is made once. */
export function perServer<T>(make: () => T): (server: string) => T {
  const made = new Map<string, T>();
  return (server) => {
    const known = made.get(server);
    if (known !== undefined) return known;
    const one = make();
    made.set(server, one);
    return one;
  };
}
