/** Whom `svc nats --revoke` names, where a desk has several servers: a host is locked out at the one that it is at. */
import { conflict } from "../../lib/errors";
import { FIRST, natsPlaceOf, serverNamed } from "../../wire/nats/region";

/**
 * The names and public keys in `users`, without regions. One with its region (`eu/U…`, as in the address of the host) is taken at its
 * word; where a key stands alone, the address book says where its host is.
 *
 * @param region of the server that is to refuse them.
 * @param addressOf the address of the host with a key; undefined where no host has it.
 * @throws `conflict` for a host at another server: this one would refuse it, and it would go on there.
 */
export function revokedUsers(
  users: readonly string[],
  region: string,
  addressOf: (key: string) => string | undefined,
): string[] {
  return users.map((user) => {
    const named = natsPlaceOf(`nats:${user}`);
    // The name of a desk, or what is neither.
    if (!named) return user;
    const place = named.region === FIRST ? natsPlaceOf(addressOf(named.key) ?? "") : named;
    if (place && place.region !== region) {
      const how = place.region === FIRST ? "leave out --region" : `give --region ${place.region}`;
      throw conflict(`revoke: ${user} is a host at ${serverNamed(place.region)}: ${how}, and its settings`);
    }
    return named.key;
  });
}
