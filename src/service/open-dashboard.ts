/**
 * Opening the dashboard of the server that runs here, signed in as its owner.
 */
import { pathToFileURL } from "node:url";
import { askOwner, noServer } from "../client/owner";
import { writeFileAtomic } from "../lib/files";
import { openInBrowser } from "../lib/open-browser";
import { configFiles } from "../lib/paths";
import { makeOneTimeCode } from "../trust/operations/one-time-code";

/**
 * The browser is given the address of a file that this user alone can read, and which leads to the page with a code: what is on a
 * command line, others on this machine can read. The server removes the file with the code.
 *
 * @returns whether a browser opened it.
 * @throws `unavailable` where no server runs on `configDir`.
 */
export async function openDashboard(
  configDir: string,
): Promise<{ readonly url: string; readonly opened: boolean }> {
  const made = await askOwner(configDir, makeOneTimeCode, {});
  if (!made) throw noServer(configDir);
  const { code, url } = made.answer;
  const file = configFiles(configDir).codePage;
  const page = `<!doctype html><meta charset="utf-8"><title>svc</title><meta http-equiv="refresh" content="0; url=${url}#code=${code}">\n`;
  writeFileAtomic(file, page);
  return { url, opened: await openInBrowser(pathToFileURL(file).href) };
}
