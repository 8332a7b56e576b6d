/**
 * Opening the dashboard of the server that runs here, signed in as its owner.
 */
import { pathToFileURL } from "node:url";
import { askOwner, noServer } from "../client/owner";
import { writeFileAtomic } from "../lib/files";
import { isLoopback } from "../lib/loopback";
import { openInBrowser } from "../lib/open-browser";
import { configFiles } from "../lib/paths";
import { makeOneTimeCode } from "../trust/operations/one-time-code";

/**
 * The browser is given the address of a file that this user alone can read, and which leads to the page with a code: what is on a
 * command line, others on this machine can read. The server removes the file with the code.
 *
 * @param name of a page of it (default: the first), which is opened at `localhost`: browsers give passkeys to names alone.
 * @returns whether a browser opened it.
 * @throws `unavailable` where no server runs on `configDir`.
 */
export async function openDashboard(
  configDir: string,
  name?: "approvals",
): Promise<{ readonly url: string; readonly opened: boolean }> {
  const made = await askOwner(configDir, makeOneTimeCode, {});
  if (!made) throw noServer(configDir);
  const { code, url: address } = made.answer;
  const url = name === undefined ? address : namedAddress(address);
  const hash = name === undefined ? `#code=${code}` : `#code=${code}&amp;page=${name}`;
  const file = configFiles(configDir).codePage;
  const page = `<!doctype html><meta charset="utf-8"><title>svc</title><meta http-equiv="refresh" content="0; url=${url}${hash}">\n`;
  writeFileAtomic(file, page);
  const opened = await openInBrowser(pathToFileURL(file).href);
  return { url: name === undefined ? url : `${url}#${name}`, opened };
}

/** An address of loopback by its name; any other as it is. */
function namedAddress(address: string): string {
  const url = new URL(address);
  if (isLoopback(url.hostname)) url.hostname = "localhost";
  return url.href;
}
