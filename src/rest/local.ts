/**
 * Asking the server that runs on this `{config_dir}`, from another process of the same user.
 */
import { messageOf, unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import { findRunningServer } from "./runfile";
import { readToken } from "./token";

/** How long the server may take to answer. */
const DEADLINE_MS = 10_000;

/**
 * The body that the local server answers to `GET path`.
 *
 * The certificate is not verified: the run file is private to its owner and only counts while the server holds its
 * lock, so whoever answers there is that server.
 *
 * @throws an `unavailable` failure when no server runs here, or when it answers with an error.
 */
export async function askLocalServer(configDir: string, path: string): Promise<unknown> {
  const server = findRunningServer(configDir);
  if (!server) throw unavailable(`no server runs on ${configDir}: start one with \`svc serve\``);
  const token = process.env.SVC_TOKEN || readToken(server.token_file ?? configFiles(configDir).token);
  try {
    const response = await fetch(server.url + path, {
      headers: token ? { authorization: `Bearer ${token}` } : {},
      tls: { rejectUnauthorized: false },
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return await response.json();
  } catch (error) {
    throw unavailable(`the server at ${server.url} does not answer ${path} (${messageOf(error)})`);
  }
}
