/**
 * An image on the machine of the command line, which goes along with the request.
 */
import { existsSync as isThere, readFileSync, statSync } from "node:fs";
import { badInput } from "../lib/errors";

/** The largest file that is sent along, in bytes: in base64, a request has room for it. */
const MAX_SENT = 700_000;

/**
 * The PNG at `path` on this machine in base64: it goes along, also to another host. Undefined when there is none here: then
 * it is the name of one that the host has.
 *
 * @throws a `bad_input` failure for a file that is too large, or no PNG.
 */
export function imageAt(path: string): string | undefined {
  const found = isThere(path) ? statSync(path) : undefined;
  if (!found?.isFile()) return undefined;
  if (found.size > MAX_SENT) throw badInput(`image: expected a file of at most ${MAX_SENT} bytes`);
  const content = readFileSync(path);
  if (content.toString("latin1", 1, 4) !== "PNG") throw badInput("image: expected a PNG");
  return content.toString("base64");
}
