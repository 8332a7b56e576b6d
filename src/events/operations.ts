import * as v from "valibot";
import type { EventType } from "../core/events";
import { field, NO_INPUT, seconds, whole } from "../core/fields";
import { operation } from "../core/operation";
import { PacedAnswer } from "../core/paced-answer";
import type { Bus } from "./bus";
import { filterOf } from "./filter";
import { PLACE } from "./place";
import type { Streams } from "./stream";

interface Uses {
  events(): Bus;
  eventTypes(): Promise<readonly EventType[]>;
  eventStreams(): Promise<Streams>;
  /** The hosts for which the caller is. */
  addressBook(): Promise<{ hosts(): ReadonlyArray<{ readonly label: string }> }>;
}

const POLLED = v.object({
  events: v.array(
    v.object({
      id: v.string(),
      type: v.string(),
      /** ISO 8601, in milliseconds. */
      at: v.string(),
      data: v.record(v.string(), v.unknown()),
    }),
  ),
  /** `after` of the next poll. */
  next: v.string(),
  /** Whether events are missing between `after` and `next`: the state has to be read again. */
  reset: v.boolean(),
});

export type PollAnswer = Readonly<v.InferOutput<typeof POLLED>>;

/** Where to begin. */
export const AFTER = v.optional(v.pipe(v.string(), v.regex(PLACE, "the id of an event, or oldest")));

const EVENT_STREAM = "text/event-stream";

/** No proxy keeps a stream to compress it, or in a buffer until it ends. */
const STREAM_HEADERS = {
  "content-type": EVENT_STREAM,
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

export const listEvents = operation({
  name: "events.list",
  summary: "Follow what happens on this host: server-sent events, or with `wait` those after an id",
  scope: "any",
  http: { method: "GET", path: "/events", stream: EVENT_STREAM },
  subcommand: "events",
  answeredBy: "server",
  leftOut: { script: "an action waits for the thing itself" },
  input: v.strictObject({
    types: field(
      v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(1_000))), v.maxLength(100)), []),
      "Types of events, also `run.*`, with commas (default: all that the token may see)",
    ),
    after: field(
      AFTER,
      "Begin after the event with this id; `oldest`: with the oldest that is kept (default: the next one; for a stream also the header Last-Event-ID)",
    ),
    wait: field(
      v.optional(seconds(whole(0, 60))),
      "Answer with JSON, as soon as there is an event or after so many seconds, instead of a stream",
    ),
  }),
  output: v.union([POLLED, v.instance(Response)]),
  async run(service: Uses, { types, after, wait }, { grant, signal, request }) {
    const [streams, known] = await Promise.all([service.eventStreams(), service.eventTypes()]);
    const book = grant.on === undefined ? undefined : await service.addressBook();
    const filter = filterOf(known, types, grant, book);
    const owner = grant.name;
    if (wait !== undefined) return streams.poll({ filter, owner, after, signal }, wait * 1_000);
    const last = request?.headers?.get("last-event-id") ?? undefined;
    const stream = streams.open(
      { filter, owner, after: after ?? last, signal },
      request?.ended ?? (() => {}),
    );
    return new PacedAnswer(stream, { headers: STREAM_HEADERS });
  },
});

export const eventReference = operation({
  name: "events.types",
  summary: "List the types of events, their scopes and the schemas of their data",
  scope: "any",
  http: { method: "GET", path: "/events/types" },
  answeredBy: "server or here",
  leftOut: { script: "an action waits for the thing itself" },
  input: NO_INPUT,
  output: v.object({
    types: v.array(
      v.object({
        type: v.string(),
        summary: v.string(),
        /** What a token must allow to receive it. */
        scope: v.string(),
        /** The data, as JSON Schema. */
        schema: v.record(v.string(), v.unknown()),
      }),
    ),
  }),
  async run(service: Uses) {
    const [{ dataSchema }, types] = await Promise.all([import("./schema"), service.eventTypes()]);
    return {
      types: types.map((type) => ({
        type: type.name,
        summary: type.summary,
        scope: type.scope,
        schema: dataSchema(type),
      })),
    };
  },
});

/** An event of another process: its type, and its data with `at`. */
const HANDED_OVER = v.strictObject({
  type: v.pipe(v.string(), v.maxLength(100)),
  data: v.record(v.string(), v.unknown()),
});

const BY_SVC = "a process of the same user sends so what happened in it";

/** Over the socket of the owner alone. */
export const handOver = operation({
  name: "events.hand_over",
  summary: "Publish what happened in another process of this host",
  scope: "admin",
  answeredBy: "server",
  leftOut: { http: BY_SVC, cli: BY_SVC, script: BY_SVC },
  input: v.strictObject({
    events: field(v.pipe(v.array(HANDED_OVER), v.maxLength(1_000)), "What happened, oldest first"),
  }),
  output: v.object({ published: v.literal(true) }),
  async run(service: Uses, { events }) {
    const { takeOver } = await import("./take-over");
    takeOver(service.events(), await service.eventTypes(), events);
    return { published: true as const };
  },
});

export const operations = [listEvents, eventReference, handOver];
