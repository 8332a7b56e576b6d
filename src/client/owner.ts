/**
 * Asking the owner of a `{config_dir}`, the server that runs on it, from another process of the same user.
 */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { parseCall } from "../core/call";
import type { Caller, Progress } from "../core/caller";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import type { Grant } from "../core/rights";
import { cancelled, Failure, type FailureCode, HTTP_STATUS, unavailable } from "../lib/errors";
import { isLocked } from "../lib/lock";
import { machineHint } from "../lib/machine-service";
import { connectToOwner, type OwnerConnection, otherBuild } from "../lib/owner-socket";
import { configFiles } from "../lib/paths";
import { findRunningServer, ofEarlierSvc } from "../lib/running-server";
import { valueIn } from "../lib/value-in";

/** The longest line of an answer, in bytes. */
const MAX_ANSWER = 256 * 1_048_576;

const CODES = Object.keys(HTTP_STATUS) as [FailureCode, ...FailureCode[]];

const PROGRESS = v.object({
  what: v.string(),
  done: v.number(),
  total: v.number(),
  item: v.optional(v.unknown()),
});

/** What the owner says on the way to an answer, and the answer. */
const MESSAGE = v.union([
  v.object({ progress: PROGRESS }),
  v.object({ warn: v.string() }),
  v.object({ logged: v.string() }),
  v.object({ piece: v.string() }),
  v.object({ answer: v.unknown() }),
  v.object({ unknown: v.literal(true) }),
  v.object({
    error: v.nullable(
      v.object({
        code: v.picklist(CODES),
        message: v.string(),
        more: v.record(v.string(), v.unknown()),
        lines: v.optional(v.array(v.string())),
        cause: v.optional(v.string()),
      }),
    ),
  }),
]);

type Message = v.InferOutput<typeof MESSAGE>;

/** What takes what the owner says before it answers, and ends the wait. A change that was begun goes on, unless it is `attended`. */
export type Listener = Partial<Pick<Caller, "signal" | "warn" | "logged">> & {
  readonly progress?: ((step: Progress) => void) | undefined;
  /** What whoever asks may do (default: all, as the owner of the host). */
  readonly grant?: Grant | undefined;
};

/**
 * The answer of the owner of `configDir` to an operation that it answers.
 *
 * @returns undefined where no server runs, or one of before this way.
 * @throws the failure that it answers with; `unavailable` when it hangs, ends before it answers, or is of another build that does not
 *   understand this; `cancelled` once the signal is aborted.
 */
export async function askOwner<I extends InputSchema, O extends OutputSchema>(
  configDir: string,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  listener: Listener = {},
): Promise<{ readonly answer: v.InferOutput<O> } | undefined> {
  const connection = await connectFor(configDir, operation, input);
  return connection && answerOver(connection, operation, input, listener);
}

/**
 * As {@link askOwner}, of an owner that sees that display (`displayName`).
 *
 * @returns undefined where none does, or where the owner cannot be reached.
 */
export async function askOwnerAt<I extends InputSchema, O extends OutputSchema>(
  display: string,
  configDir: string,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  listener: Listener,
): Promise<{ readonly answer: v.InferOutput<O> } | undefined> {
  const connection = await connectFor(configDir, operation, input)?.catch(() => undefined);
  if (connection?.owner.display === display) return answerOver(connection, operation, input, listener);
  connection?.cut();
  return undefined;
}

async function answerOver<I extends InputSchema, O extends OutputSchema>(
  connection: OwnerConnection,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  { signal, progress, warn, logged, grant }: Listener,
): Promise<{ readonly answer: v.InferOutput<O> }> {
  for await (const message of messagesOf(connection, operation, input, { signal, grant })) {
    if ("progress" in message) progress?.(message.progress);
    if ("warn" in message) warn?.(message.warn);
    if ("logged" in message) logged?.(message.logged);
    if (!("answer" in message)) continue;
    const answer = v.safeParse(operation.output, message.answer);
    if (!answer.success) throw otherBuild(connection.owner);
    return { answer: answer.output };
  }
  throw unavailable(lost(operation), { sent: true });
}

/**
 * The answer of the server that runs on `configDir` to an operation of the command line.
 *
 * @returns undefined where this process is to answer itself.
 * @throws as {@link askOwner}; `unavailable` where none runs, and only a server can answer; `conflict` where one of an earlier svc runs.
 */
export async function askServer<I extends InputSchema, O extends OutputSchema>(
  configDir: string,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  listener: Listener = {},
): Promise<{ readonly answer: v.InferOutput<O> } | undefined> {
  const asked = await askOwner(configDir, operation, input, listener);
  if (asked) return asked;
  if (findRunningServer(configDir)) throw ofEarlierSvc(configDir);
  if (operation.answeredBy === "server") throw noServer(configDir);
  return undefined;
}

/**
 * The pieces of an answer that goes on, as they come; ends when the owner ends it, with the answer in its place where there is one.
 *
 * @param more what the owner is told after the call.
 * @throws as {@link askOwner}; `unavailable` where there is no owner.
 */
export async function* streamOfOwner<I extends InputSchema>(
  configDir: string,
  operation: Operation<I>,
  input: v.InferInput<I>,
  signal: AbortSignal,
  more?: AsyncIterable<unknown>,
): AsyncGenerator<string, unknown> {
  const connection = await connectFor(configDir, operation, input);
  if (!connection) throw noServer(configDir);
  const messages = messagesOf(connection, operation, input, { signal, more });
  for await (const message of messages) {
    if ("piece" in message) yield message.piece;
    if ("answer" in message) return message.answer;
  }
  return undefined;
}

/** @throws `unavailable` when no server runs on `configDir`; `conflict` where one of an earlier svc does. */
export function requireOwner(configDir: string): void {
  if (!findRunningServer(configDir)) throw noServer(configDir);
  if (!existsSync(configFiles(configDir).ownerFile)) throw ofEarlierSvc(configDir);
}

/** @returns the failure of what only a server can answer. */
export const noServer = (configDir: string) =>
  unavailable(`no server runs on ${configDir}: start one with \`svc serve\`${machineHint(configDir)}`);

/** @throws `bad_input` where the input is wrong, whoever would answer. */
function connectFor<I extends InputSchema>(configDir: string, operation: Operation<I>, input: unknown) {
  parseCall(operation, input);
  const { ownerFile, serveLock } = configFiles(configDir);
  // Without the lock of a server, the file is of one that died, and who listens there now is another.
  return existsSync(ownerFile) && isLocked(serveLock) ? connectToOwner(ownerFile) : undefined;
}

const lost = ({ name, changes }: Operation) =>
  `the server ended before it had answered ${name}${changes ? ": whether it was done is unknown, see `svc audit list`" : ""}`;

interface CallParts {
  readonly signal: AbortSignal | undefined;
  readonly grant?: Grant | undefined;
  /** What the owner is told after it. */
  readonly more?: AsyncIterable<unknown> | undefined;
}

/** Calls, and gives what the owner says, the answer last. Ends without one where the owner ends. */
async function* messagesOf(
  connection: OwnerConnection,
  { name, attended }: Operation,
  input: unknown,
  { signal, grant, more }: CallParts,
): AsyncGenerator<Message, void> {
  const { owner, cut } = connection;
  const leave = attended ? () => void connection.send(JSON.stringify({ end: true })) : cut;
  signal?.addEventListener("abort", leave, { once: true });
  try {
    if (signal?.aborted) throw cancelled("cancelled");
    void connection.send(JSON.stringify(grant ? { limited: name, input, grant } : { call: name, input }));
    if (more) void tell(connection, more);
    for (
      let line = await connection.next(MAX_ANSWER);
      line !== undefined;
      line = await connection.next(MAX_ANSWER)
    ) {
      const message = valueIn(MESSAGE, line);
      if (!message || "unknown" in message) throw otherBuild(owner);
      if ("error" in message) throw failureOf(name, message.error);
      yield message;
      if ("answer" in message) return;
    }
    if (signal?.aborted) throw cancelled("cancelled");
  } finally {
    signal?.removeEventListener("abort", leave);
    cut();
  }
}

/** Tells the owner more, no faster than it reads. */
async function tell(connection: OwnerConnection, more: AsyncIterable<unknown>): Promise<void> {
  for await (const one of more) await connection.send(JSON.stringify({ more: one }));
}

/** What the owner failed with, as if it had happened here. */
function failureOf(name: string, error: Extract<Message, { error: unknown }>["error"]): Failure {
  if (!error) return unavailable(`${name} failed in the server: its log says why`, { sent: true });
  const { code, message, more, lines, cause } = error;
  const failure = Object.assign(new Failure(code, message, more), lines && { lines });
  if (cause !== undefined) failure.cause = new Error(cause);
  return failure;
}
