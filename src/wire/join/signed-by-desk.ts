/** What the desk of a host has signed for it. */
import { conflict, forbidden } from "../../lib/errors";
import { isSignedBy } from "../../lib/signing-key";

/**
 * The membership, once it is known that its desk has signed this.
 *
 * @param membership undefined where this host has joined no desk.
 * @param messageFor what the signature is of.
 * @throws `conflict` when this host has joined no desk; `forbidden` when its desk has not signed it.
 */
export function requireSigned<M extends { readonly desk_key: string }>(
  membership: M | undefined,
  signature: string,
  messageFor: (membership: M) => string,
): M {
  if (!membership) throw conflict("this host has joined no desk");
  if (!isSignedBy(membership.desk_key, messageFor(membership), signature))
    throw forbidden("the signature is not that of the desk which this host has joined");
  return membership;
}
