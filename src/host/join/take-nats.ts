/**
 * The credentials for a NATS server that the desk of this host sends, for a host that joined before its desk had one.
 *
 * The promise: it takes only what its desk has signed for this membership, nothing older than what it has, and only for its own key.
 */
import type { Caller } from "../../core/caller";
import { badInput, conflict } from "../../lib/errors";
import { jsonOr } from "../../lib/json-in";
import { configFiles } from "../../lib/paths";
import { readMembership, writeMembership } from "../../wire/join/membership";
import { type NatsGrant, natsGrantMessage, natsKeyMessage } from "../../wire/join/messages";
import { provedBy } from "../../wire/join/nats-key";
import { requireSigned } from "../../wire/join/signed-by-desk";
import type { HostUses } from "./enter";
import { isOlder, keptTime } from "./signed-time";

/**
 * Keeps what the desk of this host sends for its NATS server.
 *
 * @returns who this host is to the server, with what proves it to the desk, and whether anything changed.
 * @throws `conflict` when this host has joined no desk, or knows something newer; `forbidden` when its desk has not signed it.
 */
export async function takeNatsGrant(
  service: Pick<HostUses, "configDir" | "natsKey" | "inJoinTurn">,
  { carrier, signed, signature }: NatsGrant & { readonly signature: string },
  caller: Caller,
) {
  const files = configFiles(service.configDir);
  return service.inJoinTurn(async () => {
    const membership = requireSigned(readMembership(files.desk), signature, ({ host_id, nonce }) =>
      natsGrantMessage(host_id, nonce, { carrier, signed }),
    );
    const { host_id, nonce, desk_key, carriers, nats_signed = "" } = membership;
    if (isOlder(signed, nats_signed)) throw conflict("this host knows a newer NATS server of its desk");
    const key = await service.natsKey();
    const { id } = key;
    const proof = provedBy(key, natsKeyMessage(desk_key, host_id, nonce));
    if (carrier === undefined) return { id, proof, changed: false };
    const taken = Object(jsonOr(carrier, () => badInput("carrier: expected JSON")));
    if (taken.kind !== "nats" || taken.id !== id)
      throw badInput("carrier: expected that of this host to NATS");
    const others = carriers.filter(({ kind }) => kind !== "nats");
    await caller.announce(`desk.nats id=${id}`);
    const changed = { carriers: [taken, ...others], nats_signed: keptTime(signed) };
    writeMembership(files.desk, { ...membership, ...changed });
    return { id, proof, changed: true };
  });
}
