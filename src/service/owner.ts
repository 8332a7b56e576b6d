/**
 * The owner of a `{config_dir}` answers its other processes: operations, called as the command line calls them. Each connection carries
 * one call.
 *
 * The promise: a change goes on to its end when who asked for it has gone; what only reads ends with it, and so does what is `attended`.
 */
import * as v from "valibot";
import { callOperation } from "../core/call";
import { type Caller, localCaller } from "../core/caller";
import type { Operation } from "../core/operation";
import { SCOPE } from "../core/rights";
import { resolvesWithin } from "../lib/deadline";
import { failureOf, messageOf, unavailable } from "../lib/errors";
import type { LineConnection } from "../lib/lines";
import { listenAsOwner } from "../lib/owner-socket";
import { configFiles } from "../lib/paths";
import { valueIn } from "../lib/value-in";
import type { Service } from "./interface";

/** The longest call, in bytes: a script with pictures fits. */
const MAX_CALL = 64 * 1_048_576;

/** How long calls under way may take when the server stops, in milliseconds. */
const GRACE_MS = 10_000;

/** What whoever asks may do, where that is less than the owner of the host may. */
const GRANT = v.strictObject({
  name: v.null(),
  scopes: v.array(SCOPE),
  owner: v.exactOptional(v.literal(true)),
  without: v.exactOptional(v.array(v.string())),
});

/** `limited` has a name of its own, as a server of before does not look at the grant. */
const CALL = v.union([
  v.object({ call: v.string(), input: v.optional(v.unknown()) }),
  v.pipe(
    v.object({ limited: v.string(), input: v.optional(v.unknown()), grant: GRANT }),
    v.transform(({ limited: call, ...rest }) => ({ call, ...rest })),
  ),
]);

/** What a process says after its call. */
const MORE = v.object({ more: v.unknown() });

/** What answers the other processes of a folder. */
export interface OwnerDoor {
  /** Takes no further call, ends those that read, and waits for changes under way. */
  stop(): Promise<void>;
}

/** To be called by the server that has claimed the folder of `service`. @throws an `unavailable` failure where no socket can be made. */
export async function answerAsOwner(service: Service): Promise<OwnerDoor> {
  // What a terminal does itself is not done here in its place.
  const known = new Map(
    (await service.operations()).flatMap((one) =>
      one.answeredBy || one.serverInRuns ? [[one.name, one] as const] : [],
    ),
  );
  const closing = new AbortController();
  const stopping = new AbortController();
  const open = new Map<LineConnection, Promise<void>>();
  const listener = listenAsOwner(configFiles(service.configDir).ownerFile, async (connection) => {
    const signals = { closing: closing.signal, stopping: stopping.signal };
    const answered = answer(service, known, connection, signals);
    open.set(connection, answered);
    await answered.finally(() => open.delete(connection));
  });
  return {
    async stop() {
      listener.stop();
      closing.abort();
      await resolvesWithin(GRACE_MS, Promise.allSettled(open.values()));
      stopping.abort();
      for (const connection of open.keys()) connection.cut();
    },
  };
}

async function answer(
  service: Service,
  known: ReadonlyMap<string, Operation>,
  connection: LineConnection,
  { closing, stopping }: { readonly closing: AbortSignal; readonly stopping: AbortSignal },
): Promise<void> {
  // One that has proved itself while the server began to stop.
  if (closing.aborted) return connection.cut();
  closing.addEventListener("abort", connection.cut, { once: true });
  const asked = valueIn(CALL, await connection.next(MAX_CALL));
  closing.removeEventListener("abort", connection.cut);
  if (!asked) return connection.cut();
  const send = (message: object) => connection.send(JSON.stringify(message));
  const { call, input } = asked;
  const operation = known.get(call);
  const gone = new AbortController();
  void connection.closed.then(() => gone.abort());
  try {
    if (!operation) await send({ unknown: true });
    else {
      // The caller sends nothing else while it waits: a message, or the end of its connection, ends the work.
      const leave = () => gone.abort();
      if (operation.attended) void connection.next(MAX_CALL).then(leave, leave);
      const goesOn = operation.changes && !operation.attended;
      const signal = goesOn ? stopping : AbortSignal.any([gone.signal, closing]);
      const local = localCaller(service, "cli", {
        signal,
        lasts: true,
        ...("grant" in asked && { grant: asked.grant }),
        progress: (progress) => send({ progress }),
        warn: (warn) => void send({ warn }),
        logged: (logged) => void send({ logged }),
      });
      const more = () => saidAfter(connection, closing);
      const caller: Caller = { ...local, request: { gone: gone.signal, more } };
      const result = await callOperation(service, operation, input, caller);
      // The change is in force when the process has its answer.
      if (operation.answeredBy === "owner" && operation.changes)
        await service
          .refresh()
          .catch((error) => service.log.warn(`after ${operation.name}: ${messageOf(error)}`));
      if (result instanceof Response) await stream(result, send);
      else await send({ answer: result ?? null });
    }
  } catch (error) {
    await send({ error: errorBody(service, call, error) });
  }
  connection.end();
}

/** What a process says after its call, until it has gone. @throws an `unavailable` failure once `closing` is aborted, or for what is no line of one. */
async function* saidAfter(connection: LineConnection, closing: AbortSignal): AsyncGenerator<unknown, void> {
  closing.addEventListener("abort", connection.cut, { once: true });
  try {
    for (
      let line = await connection.next(MAX_CALL);
      line !== undefined;
      line = await connection.next(MAX_CALL)
    ) {
      const said = valueIn(MORE, line);
      if (!said) throw unavailable("expected more of the call");
      yield said.more;
    }
    if (closing.aborted) throw unavailable("the server ends");
  } finally {
    closing.removeEventListener("abort", connection.cut);
  }
}

/** Sends what comes as it comes, no faster than it is read. */
async function stream({ body }: Response, send: (message: object) => Promise<void>): Promise<void> {
  if (body) for await (const piece of body.pipeThrough(new TextDecoderStream())) await send({ piece });
  await send({ answer: null });
}

/** A failure as {@link localCaller} of another process gets it: with its cause, which may name paths. Null for a bug, which is logged. */
function errorBody({ log }: Service, name: string, error: unknown) {
  const failure = failureOf(error);
  if (!failure) {
    log.error(`${name}: ${error instanceof Error ? error.stack : messageOf(error)}`);
    return null;
  }
  const { code, message, more, lines, cause } = failure;
  return {
    code,
    message,
    more,
    ...(lines && { lines }),
    ...(cause !== undefined && { cause: messageOf(cause) }),
  };
}
