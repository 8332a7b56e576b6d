/**
 * The flags that say by which servers peers are reached.
 */
import * as v from "valibot";
import { field } from "../core/fields";

/** Fields of a subcommand that connects to peers. */
export const ICE_FIELDS = {
  ice_server: field(
    v.optional(v.array(v.string()), []),
    "stun:HOST or turn:HOST, instead of those in ice.json",
  ),
  ice_user: field(v.optional(v.string()), "User of the turn: servers"),
  ice_secret_file: field(v.optional(v.string()), "File that holds that user's secret"),
  relay_only: field(v.optional(v.boolean(), false), "Offer peers relayed addresses only"),
};

export { iceOfFlags as iceOptions } from "../service";
