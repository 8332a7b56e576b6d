/**
 * How this host follows its desk to another TLS key.
 *
 * The promise: it takes only pins that the desk signed for this membership, with the key that the host got when it joined.
 */
import type { Caller } from "../../core/caller";
import { conflict } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import { readMembership, writeMembership } from "../../wire/join/membership";
import { type DeskPins, deskPinsMessage } from "../../wire/join/messages";
import { requireSigned } from "../../wire/join/signed-by-desk";
import type { HostUses } from "./enter";
import { isOlder, keptTime } from "./signed-time";

/**
 * Keeps the pins that the desk of this host has now.
 *
 * @returns whether they are others than before.
 * @throws `conflict` when this host has joined no desk, or knows newer ones; `forbidden` when its desk has not signed them.
 */
export async function takeDeskPins(
  { configDir, inJoinTurn }: Pick<HostUses, "configDir" | "inJoinTurn">,
  { pin, next_pin, signed, signature }: DeskPins & { readonly signature: string },
  caller: Caller,
): Promise<boolean> {
  const files = configFiles(configDir);
  return inJoinTurn(async () => {
    const membership = requireSigned(readMembership(files.desk), signature, ({ host_id, nonce }) =>
      deskPinsMessage(host_id, nonce, { pin, next_pin, signed }),
    );
    const { desk_pin, desk_next_pin, desk_pins_signed = "" } = membership;
    if (isOlder(signed, desk_pins_signed)) throw conflict("this host knows newer pins of its desk");
    if (pin === desk_pin && next_pin === desk_next_pin) return false;
    await caller.announce(`desk.pins pin=${pin}${next_pin === undefined ? "" : ` next_pin=${next_pin}`}`);
    const changed = { desk_pin: pin, desk_next_pin: next_pin, desk_pins_signed: keptTime(signed) };
    writeMembership(files.desk, { ...membership, ...changed });
    return true;
  });
}
