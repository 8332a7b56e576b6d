/** The key to the black box of this host: 64 hexadecimal digits in `{config_dir}/black_box_key`, which leaves the folder with no bundle. */
import { makeKey } from "../../../../lib/key-file";
import { readTrustFile, unusable } from "../../../../lib/trust-files";

/** Undefined where there is none and never was. @throws `unavailable` where it cannot be used. */
export function readBoxKey(file: string): string | undefined {
  const text = readTrustFile(file)?.toString().trim();
  if (text === undefined) return undefined;
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  throw unusable(file, "is not a key of 64 hexadecimal digits");
}

/** The key, which is made (0600) where there is none. @throws as {@link readBoxKey}. */
export function openBoxKey(file: string): string {
  const made = () => crypto.getRandomValues(new Uint8Array(32)).toHex();
  return readBoxKey(file) ?? makeKey(file, `${made()}\n`, readBoxKey);
}
