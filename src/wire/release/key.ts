/**
 * The public key that verifies releases: the one that was compiled in, or the one that a person names instead.
 */
import { readFileSync } from "node:fs";
import { badInput, systemCode } from "../../lib/errors";
import { releaseKey } from "../../version";
import { type PublicKey, parsePublicKey } from "./minisign";

/**
 * @param given what a person gave: a public key of minisign, or the path of its file.
 * @returns null where none was given and this build has none.
 * @throws a `bad_input` failure for what is neither.
 */
export function verifyingKey(given: string | undefined): PublicKey | null {
  if (given === undefined) return releaseKey === "" ? null : parsePublicKey(releaseKey);
  if (/^RW[A-Za-z0-9+/]{54}$/.test(given)) return parsePublicKey(given);
  let text: string;
  try {
    text = readFileSync(given, "utf8");
  } catch (error) {
    throw badInput(
      `public_key: ${given} is neither a public key of minisign nor a file (${systemCode(error)})`,
    );
  }
  return parsePublicKey(text);
}
