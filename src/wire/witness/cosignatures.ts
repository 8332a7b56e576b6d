/**
 * What a desk sends to the host whose log it has cosigned, signed with the desk's key.
 */
import type { SigningKey } from "../../lib/signing-key";
import { handedMessage, type Membership } from "./messages";

interface CosignedNote {
  /** A checkpoint with its cosignatures. */
  readonly note: string;
  readonly witnesses: readonly string[];
}

/** What the desk sends to a host, as JSON. */
export const handedText = (
  deskKey: SigningKey,
  member: Membership,
  { note, witnesses }: CosignedNote,
): string =>
  JSON.stringify({ note, witnesses, signature: deskKey.sign(handedMessage(member, { note, witnesses })) });
