/**
 * Requests to linked hosts that another process of this desk hands to its server, which is the hub, over the socket of its owner.
 *
 * What only reads leaves no row here; the host has its own.
 */
import * as v from "valibot";
import {
  type Response as Answer,
  RemoteError,
  type Request,
  type ResponseStream,
} from "../../client/carrier";
import { field, flag, secret, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { Failure, type FailureCode, unavailable } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Hub } from "../../wire/link/links";

interface Uses {
  hub(): Pick<Hub, "ask" | "open"> | null;
}

/** The longest delay of a timer. */
const MILLISECONDS = whole(0, 2 ** 31 - 1);

const FIELDS = {
  host_id: field(
    v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, "32 hexadecimal digits")),
    "Id of the host: its address without `link:`",
  ),
  path: field(
    v.pipe(v.string(), v.maxLength(8_192), v.regex(/^\/[!-"$-~]*$/, "a path and its query")),
    "Path of the request to the host, and its query",
  ),
  within_ms: field(MILLISECONDS, "How long it may take, in milliseconds"),
  of_ms: field(MILLISECONDS, "The whole time limit of which that is left, in milliseconds"),
  max_bytes: field(v.optional(whole(0, 2 ** 31 - 1), 65_536), "Largest body of the answer, in bytes"),
};

const NOT_HERE = "`--on` and `svc admin` ask so, for hosts that are reached over their links";
const leftOut = { http: NOT_HERE, cli: NOT_HERE, script: "a script is sent to a host by a broadcast" };

/** The response of a host. */
export const ANSWER = v.object({
  status: v.number(),
  /** In base64. */
  body: v.string(),
  /** The media type, of a response that was to stay open. */
  type: v.optional(v.string()),
  retry_after_s: v.optional(v.number()),
});

export const readLinked = operation({
  name: "link.read",
  summary: "Hand a GET on to a linked host, for another process of this desk",
  scope: "admin",
  answeredBy: "server",
  leftOut,
  input: v.strictObject({
    ...FIELDS,
    silent_ms: field(
      v.optional(MILLISECONDS),
      "Set for an answer that stays open: how long nothing may come, in milliseconds",
    ),
  }),
  output: v.union([ANSWER, v.instance(Response)]),
  async run(service: Uses, { host_id, path, within_ms, of_ms, max_bytes, silent_ms }, { signal }) {
    const hub = hubOf(service);
    const deadline = { at: performance.now() + within_ms, ms: of_ms };
    if (silent_ms !== undefined) {
      const opened = await hub.open(host_id, path, deadline, silent_ms, signal).catch(refused);
      return isEvents(opened) ? streamOf(opened) : { ...answerOf(opened), type: opened.type };
    }
    const limits = { deadline, maxBytes: max_bytes };
    return answerOf(await hub.ask(host_id, { method: "GET", path }, limits, signal).catch(refused));
  },
});

export const askLinked = operation({
  name: "link.ask",
  summary: "Hand a POST on to a linked host, for another process of this desk",
  scope: "admin",
  changes: "announces",
  answeredBy: "server",
  leftOut,
  input: v.strictObject({
    ...FIELDS,
    answer_within_ms: field(
      v.optional(MILLISECONDS),
      "How long the answer may take once the request was sent, in milliseconds",
    ),
    once: flag("Whether not to send it again when its answer is lost"),
    body: field(v.optional(secret(v.string())), "Body of the request, JSON text"),
  }),
  output: ANSWER,
  async run(service: Uses, input, caller) {
    const { host_id, path, within_ms, of_ms, max_bytes, answer_within_ms, once, body } = input;
    const hub = hubOf(service);
    await caller.announce(`link.ask host_id=${host_id} path=${printable(JSON.stringify(path), 200)}`);
    const limits = {
      deadline: { at: performance.now() + within_ms, ms: of_ms },
      ...(answer_within_ms !== undefined && { answerWithinMs: answer_within_ms }),
      maxBytes: max_bytes,
    };
    const request = { method: "POST", path, once, ...(body !== undefined && { body }) } as const;
    return answerOf(await hub.ask(host_id, request, limits, caller.request?.gone).catch(refused));
  },
});

export const operations = [readLinked, askLinked];

/** @throws `unavailable` where this server is no hub. */
function hubOf(service: Uses) {
  const hub = service.hub();
  if (!hub) throw unavailable("the server of this desk takes no links: start it with --hub");
  return hub;
}

/** The failure that stands for each fault of a request. */
const FAILURE_OF = {
  unreachable: "unavailable",
  unauthorized: "unavailable",
  timeout: "timeout",
  cancelled: "cancelled",
  answer: "unavailable",
} as const satisfies Record<RemoteError["fault"], FailureCode>;

const REFUSED = v.object({
  fault: v.picklist(["unreachable", "unauthorized", "timeout", "cancelled", "answer"]),
});

/** @throws `error`; one that says why a host did not answer as a failure that {@link faultOf} reads. */
function refused(error: unknown): never {
  if (!(error instanceof RemoteError)) throw error;
  const { fault, message, sent } = error;
  throw new Failure(FAILURE_OF[fault], message, { fault, sent });
}

/**
 * Why the host did not answer, from what the server of this desk failed with. A POST may have run where that server does not say how far
 * it got.
 *
 * @throws `error` when it is no failure.
 */
export function faultOf(error: unknown, method: Request["method"]): RemoteError {
  if (error instanceof RemoteError) return error;
  if (!(error instanceof Failure)) throw error;
  const { code, more } = error;
  const words = printable(error.message, 300);
  const isSent = more.sent === true;
  const refusal = v.safeParse(REFUSED, more);
  if (refusal.success) return new RemoteError(refusal.output.fault, words, isSent);
  if (code === "cancelled") return new RemoteError("cancelled", "cancelled", true);
  return new RemoteError("unreachable", `the server of this desk: ${words}`, method === "POST" && isSent);
}

const answerOf = ({ status, body, retryAfterS }: Answer) => ({
  status,
  body: Buffer.from(body).toString("base64"),
  ...(retryAfterS !== undefined && { retry_after_s: retryAfterS }),
});

const isEvents = ({ status, type }: ResponseStream) => status === 200 && type === "text/event-stream";

/** The events of the host, after a line without meaning: whoever waits knows by it that they come. */
function streamOf({ pieces }: ResponseStream): Response {
  const coming = pieces[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(":\n")),
    async pull(controller) {
      const next = await coming.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await coming.return?.();
    },
  });
  return new Response(stream);
}
