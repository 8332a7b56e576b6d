/**
 * Who answers what a process asks for (`Operation.answeredBy`): itself, or the server that runs on its folder. Without a server, the
 * process owns the folder for the time of a change.
 */
import { existsSync } from "node:fs";
import type * as v from "valibot";
import type { Listener } from "../client/owner";
import { callOperation, parseCall } from "../core/call";
import type { Caller } from "../core/caller";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { displayName } from "../lib/display-name";
import { isNoScreen, messageOf, noScreen, unavailable } from "../lib/errors";
import { innerValues } from "../lib/inner-values";
import type { Service } from "./interface";

/** An answer, as this process gives it or as it was read from another. */
export type Body<O extends OutputSchema> = v.InferInput<O> | v.InferOutput<O>;

/** How long a server may own the folder while nothing answers at its socket, and the pause between two looks, in milliseconds. */
const OWNER_MS = 10_000;
const AGAIN_MS = 50;

/** The longest path, in characters (PATH_MAX, limits.h). */
const MAX_PATH = 4_096;

const UNREACHABLE_OWNER =
  "a server owns this folder, and nothing answers at its socket: its temporary folder may be gone, or it runs in another container; restart it";

/**
 * The answer of this process, or of the server that runs here.
 *
 * @param here answers in this process.
 * @throws as `here` and `askServer` do; `unavailable` where a server owns the folder and cannot be reached.
 */
export async function answerOf<I extends InputSchema, O extends OutputSchema>(
  service: Service,
  operation: Operation<I, O, Service>,
  input: v.InferInput<I>,
  listener: Listener,
  here: () => Promise<Body<O>>,
): Promise<Body<O>> {
  const { answeredBy } = operation;
  if (!answeredBy) return here();
  if (answeredBy === "display") return withDisplay(service, operation, input, listener, here);
  if (answeredBy === "owner")
    return ownedAnswer(service.configDir, service, operation, input, listener, here);
  const { askServer } = await import("../client/owner");
  const asked = await askServer(service.configDir, operation, input, listener);
  return asked ? asked.answer : here();
}

/**
 * The answer of the server that runs here, which a command asks before it makes a service. Undefined where this process is to answer, or
 * to look further.
 *
 * @throws as `askOwner` does.
 */
export async function askFirst<I extends InputSchema, O extends OutputSchema>(
  configDir: string,
  operation: Operation<I, O, Service>,
  input: v.InferInput<I>,
  listener: Listener,
): Promise<{ readonly answer: v.InferOutput<O> } | undefined> {
  if (!operation.answeredBy) return undefined;
  const { askOwner, askOwnerAt } = await import("../client/owner");
  if (operation.answeredBy !== "display") return askOwner(configDir, operation, input, listener);
  // An agent's process has its own numbers of elements, and notes what it does with them.
  if (listener.grant !== undefined || namesFile(input)) return undefined;
  return askOwnerAt(displayName(process.env), configDir, operation, input, listener).catch((error) => {
    // It may be a service, which no session belongs to.
    if (isNoScreen(error)) return undefined;
    throw error;
  });
}

/** {@link answerOf} for a program on this machine that calls as `caller`. */
export function answerFor(service: Service, operation: Operation, input: unknown, caller: Caller) {
  const here = async () => callOperation(service, operation, input, caller);
  const { grant, signal, progress, warn } = caller;
  return answerOf(service, operation, Object(input), { grant, signal, progress, warn }, here);
}

/**
 * The answer of the server that runs here, or of this process, which then owns the folder meanwhile.
 *
 * @throws as {@link answerOf}.
 */
export async function ownedAnswer<I extends InputSchema, O extends OutputSchema, S extends object>(
  configDir: string,
  service: S,
  operation: Operation<I, O, S>,
  input: v.InferInput<I>,
  listener: Listener,
  here: () => Promise<Body<O>>,
): Promise<Body<O>> {
  const [{ askOwner }, { ownForChange }] = await Promise.all([
    import("../client/owner"),
    import("../lib/ownership"),
  ]);
  // A server that is just ending is no owner a moment later.
  const until = performance.now() + OWNER_MS;
  for (;;) {
    const asked = await askOwner(configDir, operation, input, listener);
    if (asked) return asked.answer;
    // A dry run changes nothing: a folder that cannot be written, or is not there, will do.
    if (Object(input).dry_run === true) return here();
    // What cannot be done leaves no folder behind.
    operation.requires?.(service, parseCall(operation, input));
    const done = await ownForChange(configDir, operation.name, here);
    if (done) return done.value;
    if (performance.now() > until) throw unavailable(UNREACHABLE_OWNER);
    await Bun.sleep(AGAIN_MS);
  }
}

/**
 * The answer of the server that runs here and sees the same display, whose hands on it are ready; else of this process, which makes its own.
 * Where this process reaches no display, that of the server, and a warning that says so.
 */
async function withDisplay<I extends InputSchema, O extends OutputSchema>(
  { configDir }: Service,
  operation: Operation<I, O, Service>,
  input: v.InferInput<I>,
  listener: Listener,
  here: () => Promise<Body<O>>,
): Promise<Body<O>> {
  const asked = await askFirst(configDir, operation, input, listener);
  if (asked) return asked.answer;
  try {
    return await here();
  } catch (error) {
    if (!isNoScreen(error)) throw error;
    const why = messageOf(error);
    const { askOwner } = await import("../client/owner");
    const other = await askOwner(configDir, operation, input, listener).catch((fault) => {
      throw noScreen(`${why}; and the server that runs here says: ${messageOf(fault)}`);
    });
    if (!other) throw error;
    listener.warn?.(`${why}: it was the server that runs here which answered, on its own display`);
    return other.answer;
  }
}

/** Whether there is the path of a picture in it, which the folder of this process belongs to. */
const namesFile = (value: unknown): boolean =>
  typeof value === "string"
    ? /^[^/].*\.png$/i.test(value) && value.length < MAX_PATH && existsSync(value)
    : typeof value === "object" && value !== null && innerValues(value).some(namesFile);
