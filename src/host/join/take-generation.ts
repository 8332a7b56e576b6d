/**
 * What this host knows of take-overs of its desk.
 *
 * The promise: it takes only what the desk signed for this host, with the key that the host got when it joined; a generation never goes
 * back. What the desk signed is kept, and is the proof for a desk that was taken over and has not heard.
 */
import type { Caller } from "../../core/caller";
import { conflict } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import { readMembership, writeMembership } from "../../wire/join/membership";
import { type Office, officeMessage } from "../../wire/join/office";
import { requireSigned } from "../../wire/join/signed-by-desk";
import type { HostUses } from "./enter";

/** The most desks of which a host keeps it that were taken over. */
const MAX_LINES = 16;

type SignedOffice = Office & { readonly signature: string };

/**
 * Keeps the generation of the desk that asks, where it is the newest.
 *
 * @returns the newest of that desk, and what the desk has signed of it.
 * @throws `conflict` when this host has joined no desk, or knows too many; `forbidden` when its desk has not signed it.
 */
export async function takeGeneration(
  { configDir, inJoinTurn }: Pick<HostUses, "configDir" | "inJoinTurn">,
  { line, generation, signature }: SignedOffice,
  caller: Caller,
): Promise<{ readonly changed: boolean; readonly generation: number; readonly signature: string }> {
  const { desk } = configFiles(configDir);
  return inJoinTurn(async () => {
    const membership = requireSigned(readMembership(desk), signature, ({ host_id }) =>
      officeMessage(host_id, { line, generation }),
    );
    const { desk_offices: known = [] } = membership;
    const before = known.find((one) => one.line === line);
    const own = { changed: false, generation, signature };
    if (before && before.generation > generation)
      return { ...own, generation: before.generation, signature: before.signature };
    if (generation === (before?.generation ?? 0)) return own;
    if (!before && known.length >= MAX_LINES)
      throw conflict(`this host knows of take-overs of ${MAX_LINES} desks already`);
    await caller.announce(`desk.generation generation=${generation}${line === "" ? "" : ` line=${line}`}`);
    const others = known.filter((one) => one.line !== line);
    writeMembership(desk, { ...membership, desk_offices: [...others, { line, generation, signature }] });
    return { ...own, changed: true };
  });
}
