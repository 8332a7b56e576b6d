/**
 * The key that signs the checkpoints of this host's log: `{config_dir}/audit_key`, used for nothing else, and in no bundle.
 */

import { badInput } from "../../../lib/errors";
import { configFiles } from "../../../lib/paths";
import { openSigningKey, readSigningKey, type SigningKey } from "../../../lib/signing-key";
import {
  formatVerifierKey,
  logName,
  noteOf,
  ownerText,
  parseVerifierKey,
  SIGNATURE,
  signNote,
  type VerifierKey,
  verifierKey,
} from "../../../wire/witness/signed-note";

export interface AuditKey {
  /** Its name is that of the log, its origin. */
  readonly verifier: VerifierKey;
  /** {@link verifier} as text. */
  readonly vkey: string;
  /** The line of the signature of a checkpoint. */
  sign(checkpoint: string): string;
  /** The note that says that it is the log of this host. */
  ownedBy(hostId: string): string;
}

/** The key in `file`, which is made where there is none. @throws `unavailable` when it cannot be read or written. */
export const openAuditKey = (file: string): AuditKey => auditKey(openSigningKey(file));

/** The key in `file`; undefined when there is none. @throws as {@link openAuditKey}. */
export function readAuditKey(file: string): AuditKey | undefined {
  const key = readSigningKey(file);
  return key && auditKey(key);
}

/**
 * What a file about a log is verified with.
 *
 * @param key of the log, as text (default: that of this host). @param witnesses keys, as text.
 * @throws `bad_input` for what is no key, and where this host has none.
 */
export function trustedKeys(configDir: string, key: string | undefined, witnesses: readonly string[]) {
  const trusted =
    key === undefined ? readAuditKey(configFiles(configDir).auditKey)?.verifier : parseVerifierKey(key);
  if (!trusted) throw badInput("key: expected the key of the log, as this host has none of its own");
  return { key: trusted, witnesses: witnesses.map((one) => parseVerifierKey(one, "witness")) };
}

function auditKey(key: SigningKey): AuditKey {
  const name = logName(key.publicKey);
  const verifier = verifierKey(name, SIGNATURE, key.publicKey);
  const sign = (text: string) => signNote(text, name, key);
  // Anybody may ask for it as often as they like.
  let owner: { readonly text: string; readonly note: string } | undefined;
  const ownedBy = (hostId: string) => {
    const text = ownerText(hostId);
    if (owner?.text !== text) owner = { text, note: noteOf(text, [sign(text)]) };
    return owner.note;
  };
  return { verifier, vkey: formatVerifierKey(verifier), sign, ownedBy };
}
