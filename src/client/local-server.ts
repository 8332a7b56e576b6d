/**
 * Calling the server that runs on this `{config_dir}`, from another process of the same user.
 */
import type * as v from "valibot";
import { parseInput } from "../core/input";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import { findRunningServer, type RunningServer } from "../lib/running-server";
import { ownToken } from "../trust/owner-token";
import { shownPair } from "../trust/tls";
import { RemoteError, type RemoteServer } from "./carrier";
import { noServer } from "./owner";
import { callRemote, failureIn } from "./remote-call";

/** How long the server may take to answer, in milliseconds. */
const DEADLINE_MS = 10_000;

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
  throw noServer(configDir);
}

/** The server that runs on `configDir` now. @throws `unavailable` when none does. */
export const localServer = (configDir: string): RemoteServer => remote(configDir, runningOn(configDir));

/**
 * The server on this host. The run file is private to its owner and only counts while the server holds its lock, so its pin is
 * that of the server; the first builds of 0.1.0 wrote none.
 */
function remote(configDir: string, running: RunningServer): RemoteServer {
  const { url, pin, asks_certificate } = running;
  return {
    url,
    token: ownToken(configDir, running),
    trust: pin ? { kind: "pin", pins: [pin] } : { kind: "any" },
    identity: asks_certificate ? shownPair(configFiles(configDir)) : undefined,
  };
}
