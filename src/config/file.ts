/**
 * A bundle in a file: written private and whole, read whether it is sealed or not. `-` is standard output or input.
 */
import { readFileSync } from "node:fs";
import { badInput, rejected, systemCode } from "../lib/errors";
import { writeNamedFile } from "../lib/files";
import { isSealed, seal, unseal } from "./seal";

/**
 * Writes `text` to `file` (0600), sealed when there is a passphrase.
 *
 * @throws a `bad_input` failure when `file` is there and is not a regular file, or cannot be written.
 */
export async function writeBundleFile(
  file: string,
  text: string,
  passphrase: string | undefined,
): Promise<void> {
  const content = passphrase === undefined ? `${text}\n` : await seal(text, passphrase);
  if (file === "-") await Bun.write(Bun.stdout, content);
  else writeNamedFile(file, content, "file");
}

/**
 * The unchecked bundle in `file`.
 *
 * @param passphrase called when the file is sealed.
 * @throws a `bad_input` failure when it cannot be read; `rejected` when it is not JSON in UTF-8, or cannot be opened.
 */
export async function readBundleFile(file: string, passphrase: () => Promise<string>): Promise<unknown> {
  const bytes = readBytes(file);
  const content = isSealed(bytes) ? Buffer.from(await unseal(bytes, await passphrase())) : bytes;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch {
    throw rejected("bundle rejected: expected JSON in UTF-8");
  }
}

function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(file === "-" ? 0 : file);
  } catch (error) {
    throw badInput(`file: cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
}
