/** Reading a stream of events as a client does. */
import * as v from "valibot";
import { eventType } from "../../src/core/events";
import type { Origin } from "../../src/core/rights";

/** One event of a stream. */
export interface Received {
  readonly id: string;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** The whole events of a stream, as they come; ends with it. A part of one at the end of the stream counts for nothing. */
export async function* received(response: Response): AsyncGenerator<Received> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      yield { id: fields.id, event: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

/** The next `count` events of a stream, which stays open. */
export async function take(stream: AsyncGenerator<Received>, count: number): Promise<Received[]> {
  const taken: Received[] = [];
  while (taken.length < count) {
    const { value, done } = await stream.next();
    if (done) throw new Error(`the stream ended after ${taken.length} of ${count} events`);
    taken.push(value);
  }
  return taken;
}

/** Types of events for tests: what anybody may see who reads, and what an auditor may. */
export const tide = eventType({
  name: "tide.turned",
  summary: "The tide has turned",
  scope: "read",
  data: v.object({ nth: v.number(), text: v.optional(v.string(), "") }),
});
export const leak = eventType({
  name: "tide.leaked",
  summary: "Water came in",
  scope: "audit",
  data: v.object({ nth: v.number() }),
});
export const moon = eventType({
  name: "moon.rose",
  summary: "The moon has risen",
  scope: "screen",
  data: v.object({}),
});
/** One that only its maker and `admin` may see. */
export const ship = eventType({
  name: "ship.left",
  summary: "A ship has left",
  scope: "read",
  origin: (data) => data as unknown as Origin,
  data: v.object({ maker: v.nullable(v.string()), created: v.number() }),
});
export const EVENT_TYPES = [tide, leak, moon, ship];
