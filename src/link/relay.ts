/**
 * Requests to linked hosts that another process of this desk hands to its server, which is the hub.
 *
 * The promise: the answer is that of the host, under the header `Svc-Relayed: 1`; without it, the answer says why there is none.
 * What only reads leaves no row here; the host has its own.
 */
import * as v from "valibot";
import { type Response as Answer, type Opened, RemoteError, type Request } from "../client/carrier";
import type { Caller } from "../core/caller";
import { field, flag, secret, whole } from "../core/fields";
import { operation } from "../core/operation";
import { Failure, type FailureCode, forbidden, unavailable } from "../lib/errors";
import { printable } from "../lib/sanitize";
import type { Hub } from "./links";

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

const CARRIED = "application/octet-stream";
const leftOut = {
  cli: "`--on` of other subcommands and `svc admin` send it, for hosts that are reached over their links",
  script: "a script is sent to a host by a broadcast",
};

export const readLinked = operation({
  name: "link.read",
  summary: "Hand a GET on to a linked host, for another process of this desk",
  scope: "admin",
  http: {
    method: "GET",
    path: "/link/hosts/{host_id}/ask",
    content: CARRIED,
    stream: "text/event-stream",
    relays: true,
  },
  leftOut,
  input: v.strictObject({
    ...FIELDS,
    silent_ms: field(
      v.optional(MILLISECONDS),
      "Set for an answer that stays open: how long nothing may come, in milliseconds",
    ),
  }),
  output: v.instance(Response),
  async run(service: Uses, { host_id, path, within_ms, of_ms, max_bytes, silent_ms }, caller) {
    const hub = hubFor(service, caller);
    // Nor does the owner's own poll of a host that has no link leave a row.
    caller.relay?.recorded();
    const deadline = { at: performance.now() + within_ms, ms: of_ms };
    if (silent_ms !== undefined) {
      const { signal, ended } = caller;
      const opened = await hub.open(host_id, path, deadline, silent_ms, signal).catch(refused);
      return opened.status === 200 ? streamOf(opened, ended) : handedOn(opened, ended);
    }
    const request = { method: "GET", path } as const;
    const limits = { deadline, maxBytes: max_bytes };
    return handedOn(await hub.ask(host_id, request, limits, caller.gone).catch(refused), caller.ended);
  },
});

export const askLinked = operation({
  name: "link.ask",
  summary: "Hand a POST on to a linked host, for another process of this desk",
  scope: "admin",
  changes: "announces",
  http: {
    method: "POST",
    path: "/link/hosts/{host_id}/ask",
    body: "body",
    content: CARRIED,
    relays: true,
  },
  leftOut,
  input: v.strictObject({
    ...FIELDS,
    answer_within_ms: field(
      v.optional(MILLISECONDS),
      "How long the answer may take once the request was sent, in milliseconds",
    ),
    once: flag("Whether not to send it again when its answer is lost"),
    body: field(secret(v.unknown()), "Body of the request: JSON"),
  }),
  output: v.instance(Response),
  async run(service: Uses, input, caller) {
    const { host_id, path, within_ms, of_ms, max_bytes, answer_within_ms, once, body } = input;
    const hub = hubFor(service, caller);
    await caller.announce(`link.ask host_id=${host_id} path=${printable(JSON.stringify(path), 200)}`);
    const limits = {
      deadline: { at: performance.now() + within_ms, ms: of_ms },
      ...(answer_within_ms !== undefined && { answerWithinMs: answer_within_ms }),
      maxBytes: max_bytes,
    };
    const request = { method: "POST", path, body: JSON.stringify(body), once } as const;
    return handedOn(await hub.ask(host_id, request, limits, caller.gone).catch(refused));
  },
});

export const operations = [readLinked, askLinked];

/** @throws `forbidden` unless the owner of the host asks; `unavailable` where this server is no hub. */
function hubFor(service: Uses, { grant }: Caller) {
  if (grant.name !== null || grant.limited)
    throw forbidden("hosts are asked so with the host's own token only");
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

/** @throws `error`; one that says why a host did not answer as a failure that {@link relayed} reads. */
function refused(error: unknown): never {
  if (!(error instanceof RemoteError)) throw error;
  const { fault, message, sent } = error;
  throw new Failure(FAILURE_OF[fault], message, { fault, sent });
}

const headersOf = (type: string) => ({
  "content-type": type,
  "cache-control": "no-store",
  "svc-relayed": "1",
});

/** Statuses whose responses have no body (RFC 9110 section 6.4.1). */
const BODILESS: readonly number[] = [204, 205, 304];

function handedOn({ status, body, retryAfterS }: Answer, ended?: () => void): Response {
  ended?.();
  const again = retryAfterS === undefined ? undefined : { "retry-after": String(retryAfterS) };
  const headers = { ...headersOf(CARRIED), ...again };
  return new Response(BODILESS.includes(status) ? null : Buffer.from(body), { status, headers });
}

/** @param ended is called when the answer has ended, whoever ended it. */
function streamOf({ pieces, type }: Opened, ended: () => void = () => {}): Response {
  const coming = pieces[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await coming.next();
        if (!next.done) return controller.enqueue(next.value);
        controller.close();
      } catch (error) {
        // Its client sees a connection that breaks.
        controller.error(error);
      }
      ended();
    },
    async cancel() {
      ended();
      await coming.return?.();
    },
  });
  return new Response(stream, { headers: { ...headersOf(type), "x-accel-buffering": "no" } });
}

const REFUSAL = v.object({
  error: v.string(),
  fault: v.optional(v.picklist(["unreachable", "unauthorized", "timeout", "cancelled", "answer"])),
  sent: v.optional(v.boolean(), false),
});

/** Whether the server of this desk refused the request itself; 409 may also be what became of one that was handed on. */
const isRefused = (status: number) => status >= 400 && status < 500 && status !== 409;

/** @returns `answer`, where it is that of a host. @throws a {@link RemoteError} that says why the host did not answer. */
export function relayed<A extends Answer>(answer: A, method: Request["method"]): A {
  if (answer.isRelayed) return answer;
  let said: unknown;
  try {
    said = JSON.parse(Buffer.from(answer.body).toString());
  } catch {
    // Not an answer of svc.
  }
  const { success, output } = v.safeParse(REFUSAL, said);
  const { error = `HTTP ${answer.status}`, fault, sent = false } = success ? output : {};
  if (fault) throw new RemoteError(fault, printable(error, 300), sent);
  // It does not say how far it got: the host may have done what it was asked.
  const mayHaveRun = method === "POST" && !isRefused(answer.status);
  throw new RemoteError("unreachable", `the server of this desk: ${printable(error, 300)}`, mayHaveRun);
}
