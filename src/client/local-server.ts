/**
 * The server that runs on this `{config_dir}`, as another process of the same user asks it.
 */
import type * as v from "valibot";
import { parseInput } from "../core/input";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import { findRunningServer, type RunningServer } from "../lib/running-server";
import { findToken, readToken } from "../trust/owner-token";
import { callRemote, MAX_ANSWER_BYTES } from "./call";
import { deadlineIn } from "./connection";
import { RemoteError } from "./error";

/** How long the server may take to answer. */
const DEADLINE_MS = 10_000;

/**
 * What the local server answers to `operation`.
 *
 * Its certificate is not looked at: the run file is private to its owner and only counts while the server holds its lock,
 * so whoever answers there is that server.
 *
 * @throws a `bad_input` failure naming the fields at fault; `unavailable` when no server runs here, or its answer is none.
 */
export async function callLocalServer<I extends InputSchema, O extends OutputSchema>(
  configDir: string,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
): Promise<v.InferOutput<O>> {
  parseInput(operation.input, input);
  const running = findRunningServer(configDir);
  if (!running) throw unavailable(`no server runs on ${configDir}: start one with \`svc serve\``);
  const server = { url: running.url, token: tokenOf(configDir, running), trust: { kind: "any" } } as const;
  try {
    return await callRemote(server, operation, input, {
      deadline: deadlineIn(DEADLINE_MS),
      maxBytes: MAX_ANSWER_BYTES,
    });
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    throw unavailable(`the server at ${running.url}, asked for ${operation.name}: ${error.message}`);
  }
}

/**
 * The token of the server that runs on `configDir`, else the one that it would start with; undefined when it would make one.
 *
 * @throws as `readToken` does.
 */
export function localToken(configDir: string): string | undefined {
  return tokenOf(configDir, findRunningServer(configDir));
}

/**
 * The file that holds the host's own token: that of the server that runs on `configDir`, else the one that it would start
 * with; null when it has the token from elsewhere.
 *
 * @param given the `--token-file` that it would be started with; then whether one runs does not matter.
 */
export function localTokenFile(configDir: string, given?: string): string | null {
  const running = given === undefined ? findRunningServer(configDir) : null;
  if (running?.token_file !== undefined) return running.token_file;
  return process.env.SVC_TOKEN ? null : (given ?? configFiles(configDir).token);
}

function tokenOf(configDir: string, running: RunningServer | null): string | undefined {
  return running?.token_file ? readToken(running.token_file) : findToken(configFiles(configDir).token);
}
