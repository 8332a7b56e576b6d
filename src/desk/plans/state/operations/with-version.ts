/**
 * Which hosts have the version of a state when its plan is made.
 *
 * The promise: a host that does not say now that it has that version, or a newer one, is not in the plan. One that came into the selection a
 * moment ago is asked as well.
 */
import type { Caller } from "../../../../core/caller";
import { shareOf } from "../../../../core/rights";
import { badInput, cancelled } from "../../../../lib/errors";
import { COMPARE } from "../../../../wire/state/messages";
import { type WantedState, wantedIn, writeWanted } from "../../../../wire/state/wanted";
import type { AddressBook } from "../../../fleet/address-book";
import type { Host } from "../../../fleet/host";
import type { HostCompared } from "../compared";
import { type HeldBack, heldBack } from "./upgrade-first";

/** The largest answer of a host, in bytes. */
const MAX_BYTES = 2 * 1_048_576;

/**
 * Asks each host for its version alone.
 *
 * @param timeoutS for each host, in seconds.
 * @returns those that have not said that they have the version, each with the reason.
 * @throws `bad_input` for a state without a version; `cancelled` with the signal.
 */
export async function behindNow(
  book: Pick<AddressBook, "reach">,
  hosts: readonly Host[],
  { name, version }: WantedState,
  timeoutS: number,
  { signal, grant, progress }: Caller,
): Promise<HeldBack[]> {
  if (version === undefined) throw badInput("with_version: expected a state with a version");
  const { state } = writeWanted(wantedIn({ name, version }));
  // Loaded on first use: the modules for dialling are large.
  const { compareHosts } = await import("../ask");
  let done = 0;
  const keep = (answer: HostCompared) => {
    void progress?.({ what: "versions compared", done: ++done, total: hosts.length });
    return heldBack([answer]);
  };
  const limits = { timeoutMs: timeoutS * 1_000, maxBytes: MAX_BYTES, client: shareOf(grant) };
  const asked = hosts.map((host) => ({ label: host.label, server: book.reach(host), input: { state } }));
  const behind = await compareHosts(asked, COMPARE, { ...limits, signal, keep });
  // Those that were not asked any more may have it.
  if (signal.aborted) throw cancelled("no plan was made: asking the hosts for their version was ended");
  return behind.flat();
}
