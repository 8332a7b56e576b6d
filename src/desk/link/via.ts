/**
 * The way to linked hosts: over their links where this process is the hub, else through the server of this desk.
 *
 * The server gets requests, not a selection and an operation for all of its hosts: `--on` asks for any operation, for files that an answer
 * names and for events, with limits and repeats that are the same for hosts at an address. Each of those would need a way of its own, and hosts
 * at an address are asked from this process all the same.
 */
import * as v from "valibot";
import {
  type Carrier,
  type Deadline,
  RemoteError,
  type Response,
  type ResponseStream,
  type Via,
} from "../../client/carrier";
import { createConnectionSlots } from "../../client/connection-slots";
import { within } from "../../client/line-request";
import { askOwner, streamOfOwner } from "../../client/owner";
import { messageOf } from "../../lib/errors";
import { findRunningServer, ofEarlierSvc } from "../../lib/running-server";
import { Requester } from "../../lib/slots";
import { HostCarrier, type HostRequests } from "../../wire/link/host-requests";
import { ANSWER, askLinked, faultOf, readLinked } from "./relay";

interface Uses {
  readonly configDir: string;
  /** Null where this process is no hub. */
  hub(): HostRequests | null;
}

/** How much longer the server of this desk may take to answer than the host, in milliseconds. */
const GRACE_MS = 2_000;

/** How many requests that read are handed to the server of this desk at once. */
const MAX_READING = 32;

/** The way to hosts whose id is behind `link:`. A host without a link is `unreachable`; so is each where no hub runs. */
export function createLinkWay(service: Uses): { readonly via: Via } {
  const slots = createConnectionSlots(MAX_READING);
  return {
    async via(url, signal = new AbortController().signal, client = null) {
      const hostId = url.replace(/^link:/, "");
      const own = service.hub();
      if (own) return new HostCarrier(own, hostId, signal);
      const take = () => slots.take(new Requester(client, signal));
      // Awaited here: deadlines begin after this function.
      return throughServer(service.configDir, hostId, signal, take, await take());
    },
  };
}

/** @param leave of the place that was taken for the first request. */
function throughServer(
  configDir: string,
  host_id: string,
  given: AbortSignal,
  take: () => Promise<() => void>,
  leave: () => void,
): Carrier {
  const disposed = new AbortController();
  const signal = AbortSignal.any([given, disposed.signal]);
  let place: (() => void) | undefined = leave;
  const giveBack = () => {
    place?.();
    place = undefined;
  };
  const about = (path: string, { at, ms }: Deadline) => {
    requireServer(configDir);
    return { host_id, path, within_ms: whole(Math.max(0, at - performance.now())), of_ms: whole(ms) };
  };
  return {
    async ask({ method, path, body, once }, { deadline, answerWithinMs, maxBytes }) {
      const asked = { ...about(path, deadline), max_bytes: maxBytes };
      const late = AbortSignal.timeout(asked.within_ms + (answerWithinMs ?? 0) + GRACE_MS);
      const options = { signal: AbortSignal.any([signal, late]) };
      const post = {
        ...asked,
        body,
        once,
        ...(answerWithinMs !== undefined && { answer_within_ms: whole(answerWithinMs) }),
      };
      try {
        // What is not only read may take long.
        if (method === "POST") giveBack();
        else place ??= await take();
        const answered =
          method === "POST"
            ? await askOwner(configDir, askLinked, post, options)
            : await askOwner(configDir, readLinked, asked, options);
        if (!answered) throw unlinked(messageOf(ofEarlierSvc(configDir)));
        return responseOf(answered.answer);
      } catch (error) {
        if (late.aborted && !signal.aborted)
          throw new RemoteError("timeout", `timeout after ${deadline.ms / 1_000} s`, true);
        throw faultOf(error, method);
      }
    },
    async open(path, deadline, silentMs) {
      giveBack();
      const late = new AbortController();
      try {
        const asked = { ...about(path, deadline), silent_ms: whole(silentMs) };
        const ends = AbortSignal.any([signal, late.signal]);
        const pieces = streamOfOwner(configDir, readLinked, asked, ends);
        const until = { ...deadline, at: deadline.at + GRACE_MS };
        const first = await within(until, signal, () => true, pieces.next());
        if (!first.done) return { ...EVENTS, pieces: bytesOf(pieces) };
        const answer = v.parse(ANSWER, first.value);
        return { ...responseOf(answer), type: answer.type ?? "", pieces: bytesOf(pieces) };
      } catch (error) {
        late.abort();
        throw faultOf(error, "GET");
      }
    },
    pin: () => undefined,
    [Symbol.dispose]() {
      giveBack();
      disposed.abort();
    },
  };
}

/** A response that stays open, but for what comes. */
const EVENTS = { status: 200, body: new Uint8Array(), type: "text/event-stream" } satisfies Omit<
  ResponseStream,
  "pieces"
>;

async function* bytesOf(pieces: AsyncGenerator<string, unknown>): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of pieces) yield Buffer.from(piece);
  } catch (error) {
    throw faultOf(error, "GET");
  }
}

/** @throws a {@link RemoteError} where it is no answer of a host. */
function responseOf(answer: unknown): Response {
  const { status, body, retry_after_s: retryAfterS } = v.parse(ANSWER, answer);
  return { status, body: Buffer.from(body, "base64"), ...(retryAfterS !== undefined && { retryAfterS }) };
}

const whole = Math.ceil;

/** @throws a {@link RemoteError} where no other process of this desk is a server. */
function requireServer(configDir: string): void {
  const running = findRunningServer(configDir);
  if (!running) throw unlinked("no server runs on this desk, which its hosts dial: start `svc serve --hub`");
  if (running.pid === process.pid) throw unlinked("this server takes no links: start it with --hub");
}

const unlinked = (message: string) => new RemoteError("unreachable", message, false);
