/**
 * The names of files on the wire: relative, `/`-separated, Unicode NFC, and safe to write on every platform.
 */
import { badInput } from "../../lib/errors";

/** Bytes of UTF-8: what Linux and macOS allow for one name (NAME_MAX, pathconf(3)). */
export const MAX_COMPONENT_BYTES = 255;

/** Bytes of UTF-8; leaves room under PATH_MAX (4,096) for the folder of the inbox. */
const MAX_NAME_BYTES = 2_048;

const MAX_DEPTH = 64;

/**
 * Names that Windows gives to devices, with or without an extension.
 * https://learn.microsoft.com/windows/win32/fileio/naming-a-file#naming-conventions
 */
export const DEVICE_NAME = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(\.|:|$)/i;

/**
 * The parts of `name`, in NFC.
 *
 * @throws a `bad_input` failure that says which rule the name breaks.
 */
export function parseName(name: string): string[] {
  const refuse = (why: string) => badInput(`the file name ${JSON.stringify(name.slice(0, 200))} ${why}`);
  if (!name.isWellFormed()) throw refuse("is not valid Unicode");
  const normal = name.normalize("NFC");
  if (Buffer.byteLength(normal) > MAX_NAME_BYTES) throw refuse(`is longer than ${MAX_NAME_BYTES} bytes`);
  if (/[\u0000-\u001f\u007f]/.test(normal)) throw refuse("has a control character");
  if (normal.includes("\\")) throw refuse("has a backslash");
  if (/^[a-z]:/i.test(normal)) throw refuse("starts with a drive letter");
  const parts = normal.split("/");
  if (parts.length > MAX_DEPTH) throw refuse(`is more than ${MAX_DEPTH} folders deep`);
  for (const part of parts) {
    if (part === "") throw refuse("is absolute, or has an empty part");
    if (part === "." || part === "..") throw refuse("has a part that stands for a folder");
    if (/[. ]$/.test(part)) throw refuse("has a part that ends with a dot or a space");
    if (DEVICE_NAME.test(part)) throw refuse("is the name of a device on Windows");
    if (Buffer.byteLength(part) > MAX_COMPONENT_BYTES) {
      throw refuse(`has a part longer than ${MAX_COMPONENT_BYTES} bytes`);
    }
    if (process.platform === "win32" && /[<>:"|?*]/.test(part))
      throw refuse("has a character Windows forbids");
  }
  return parts;
}

/** `name` in a form that is equal for names which a case-insensitive file system does not distinguish. */
export const foldName = (name: string): string =>
  name.normalize("NFC").toLowerCase().toUpperCase().toLowerCase();
