/**
 * Calling the server that runs on this `{config_dir}`, from another process of the same user.
 */
import type * as v from "valibot";
import { parseInput } from "../core/input";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { messageOf, unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import { findRunningServer, type RunningServer } from "../lib/running-server";
import { environmentToken, ownToken, readToken } from "../trust/owner-token";
import { shownPair } from "../trust/tls";
import { callRemote, failureIn } from "./call";
import { deadlineIn, RemoteError, type RemoteServer } from "./carrier";
import { carrierTo } from "./connection";

/** How long the server may take to answer, in milliseconds. */
const DEADLINE_MS = 10_000;

/** The largest answer to `POST /refresh`. */
const MAX_REFRESHED_BYTES = 65_536;

/** For how long events are sent again to a server that does not take them yet, and the pause without an answer, in milliseconds. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 500;

/** After this a server has noticed a changed file by itself, in milliseconds: it looks once a second. */
const NOTICED_MS = 1_100;

/**
 * The answer of the local server to `operation`.
 *
 * @param signal ends the wait.
 * @throws the failure that the server answers with; `unavailable` when no server runs here, or the call fails.
 */
export async function callLocalServer<I extends InputSchema, O extends OutputSchema>(
  configDir: string,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  signal?: AbortSignal,
): Promise<v.InferOutput<O>> {
  parseInput(operation.input, input);
  const running = runningOn(configDir);
  try {
    return await callRemote(remote(configDir, running), operation, input, DEADLINE_MS, signal);
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // It has another key since.
    if (!error.sent && findRunningServer(configDir)?.pin !== running.pin)
      return callLocalServer(configDir, operation, input, signal);
    throw (
      failureIn(error) ??
      unavailable(`${operation.name} failed on the server at ${running.url}: ${error.message}`)
    );
  }
}

/** @throws `unavailable` when no server runs on `configDir`. */
function runningOn(configDir: string): RunningServer {
  const running = findRunningServer(configDir);
  if (running) return running;
  throw unavailable(`no server runs on ${configDir}: start one with \`svc serve\``);
}

/** The server that runs on `configDir` now. @throws `unavailable` when none does. */
export const localServer = (configDir: string): RemoteServer => remote(configDir, runningOn(configDir));

/**
 * The server on this host. The run file is private to its owner and only counts while the server holds its lock, so its pin is
 * that of the server; the first builds of 0.1.0 wrote none.
 */
function remote(
  configDir: string,
  running: RunningServer,
  token = ownToken(configDir, running),
): RemoteServer {
  const { url, pin, asks_certificate } = running;
  return {
    url,
    token,
    trust: pin ? { kind: "pin", pins: [pin] } : { kind: "any" },
    identity: asks_certificate ? shownPair(configFiles(configDir)) : undefined,
  };
}

/**
 * Makes the server that runs on `configDir` use its files as they are now; returns at once where none runs.
 *
 * Never throws: a server that cannot be asked, or whose token is not known here, gets the time to notice by itself.
 *
 * @param events what happened in this process, for those who follow that server.
 * @returns why the server did not get the events.
 */
export async function refreshLocalServer(
  configDir: string,
  events: readonly object[] = [],
): Promise<string | undefined> {
  const { isRefreshed, lost } = await handOver(configDir, events);
  if (!isRefreshed) await Bun.sleep(NOTICED_MS);
  return lost;
}

/**
 * Sends the server that runs on `configDir` what happened in this process; where none runs, nobody follows. Never throws.
 *
 * @returns why the server did not get the events.
 */
export async function sendToLocalServer(
  configDir: string,
  events: readonly object[],
): Promise<string | undefined> {
  return (await handOver(configDir, events)).lost;
}

/** Sends events again while the server limits requests or takes no connection, {@link PATIENCE_MS} at most. */
async function handOver(
  configDir: string,
  events: readonly object[],
): Promise<{ readonly isRefreshed: boolean; readonly lost?: string }> {
  const { at: until } = deadlineIn(PATIENCE_MS);
  for (;;) {
    const running = findRunningServer(configDir);
    if (!running) return { isRefreshed: true };
    const { status, again, error } = await askToRefresh(configDir, running, events);
    if (status === 200) return { isRefreshed: true };
    // Without its token, nothing is sent.
    if (events.length === 0 || status === undefined) return { isRefreshed: false };
    if (again === undefined || performance.now() + again > until) return { isRefreshed: false, lost: error };
    await Bun.sleep(again);
  }
}

/** What became of one request; versions before events refuse them, and are asked without. */
async function askToRefresh(
  configDir: string,
  running: RunningServer,
  events: readonly object[],
): Promise<{
  /** 0 without an answer; undefined where the token of the server is not known here. */
  readonly status?: number;
  /** After how many milliseconds to send it again; undefined: it does not help. */
  readonly again?: number | undefined;
  readonly error: string;
}> {
  try {
    const { token_file } = running;
    const token = token_file ? readToken(token_file) : environmentToken();
    if (token === undefined) return { error: "its token is not known here" };
    using carrier = await carrierTo(remote(configDir, running, token));
    const limits = { deadline: deadlineIn(DEADLINE_MS), maxBytes: MAX_REFRESHED_BYTES };
    // A server in this process has them already.
    const isOther = running.pid !== process.pid;
    const body = JSON.stringify(isOther && events.length > 0 ? { events } : {});
    const { status, retryAfterS = 1 } = await carrier.ask({ method: "POST", path: "/refresh", body }, limits);
    if (status === 400 && events.length > 0) return askToRefresh(configDir, running, []);
    return { status, again: status === 429 ? retryAfterS * 1_000 : undefined, error: `HTTP ${status}` };
  } catch (error) {
    // One that may have been received is not sent again: events would come twice.
    const isUnsent = error instanceof RemoteError && error.fault === "unreachable" && !error.sent;
    return { status: 0, again: isUnsent ? PAUSE_MS : undefined, error: messageOf(error) };
  }
}
