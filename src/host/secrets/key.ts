/**
 * The key to which the secrets of this host are encrypted: an age identity (X25519) in `{config_dir}/secrets_key`, which never leaves
 * the folder but in a bundle of `svc desk export`.
 */
import { AGE_IDENTITY, makeKey } from "../../lib/key-file";
import { readTrustFile, unusable } from "../../lib/trust-files";

/** The identity in `file`, before which comments may stand; undefined where there is none and never was. @throws `unavailable` where it cannot be used. */
export function readSecretsKey(file: string): string | undefined {
  const text = readTrustFile(file)?.toString();
  if (text === undefined) return undefined;
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const [identity = ""] = lines;
  if (lines.length === 1 && AGE_IDENTITY.test(identity.trim())) return identity.trim();
  throw unusable(file, "is not an age identity");
}

/** The identity in `file`, which is made (0600) where there is none and never was. @throws as {@link readSecretsKey}. */
export async function openSecretsKey(file: string): Promise<string> {
  const known = readSecretsKey(file);
  if (known !== undefined) return known;
  const { generateX25519Identity } = await import("age-encryption");
  return makeKey(file, `${await generateX25519Identity()}\n`, readSecretsKey);
}
