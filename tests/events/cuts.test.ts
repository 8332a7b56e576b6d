/** A client that is cut off again and again, and goes on after the last id that it has. */
import { expect, test } from "bun:test";
import { OWNER } from "../../src/core/rights";
import { createBus } from "../../src/events/bus";
import { filterOf } from "../../src/events/filter";
import { createStreams } from "../../src/events/stream";
import { silentLog } from "../../src/lib/log";
import { testServer } from "../support";
import { EVENT_TYPES, leak, type Received, received, tide } from "./support";

/** A generator of numbers from 0 to 1 (mulberry32), the same for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What a client knows: the id that it goes on after, the numbers that it has, and those that a reset made it read again. */
class Client {
  after: string | undefined;
  seen = 0;
  events = 0;
  resets = 0;
  readonly faults: string[] = [];

  take({ id, event, data }: Received): void {
    const number = Number(id.split("-")[1]);
    if (event === "reset") {
      this.resets += 1;
      this.seen = Number(String(data.id).split("-")[1]);
    } else if (event === "mark") {
      if (number < this.seen) this.faults.push(`a mark of ${number} after ${this.seen}`);
      // Of this filter, what stands before a mark has come.
      if (number - (number % 2) > this.seen) this.faults.push(`a mark of ${number} skips ${this.seen + 2}`);
    } else {
      this.events += 1;
      if (event !== "tide.turned") this.faults.push(`${event} was not asked for`);
      if (data.nth !== number) this.faults.push(`${number} has the data of ${data.nth}`);
      const next = this.seen - (this.seen % 2) + 2;
      if (number !== next) this.faults.push(`${number} came where ${next} was due`);
      this.seen = number;
    }
    this.after = id;
  }
}

/** Publishes the next events: those of even numbers are for the client, the others are not. */
function tides(bus: ReturnType<typeof createBus>) {
  let nth = 0;
  return (count: number) => {
    for (let more = 0; more < count; more++) {
      nth += 1;
      if (nth % 2 === 0) bus.publish(tide, { nth });
      else bus.publish(leak, { nth });
    }
    return nth;
  };
}

const FILTER = filterOf([tide], [], OWNER);

test("through 200 cuts at random nothing is missed without a reset, and nothing comes twice", async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const chance = random(seed);
    const bus = createBus(silentLog, { events: 64 });
    const streams = createStreams(bus);
    const publish = tides(bus);
    const client = new Client();
    client.after = `${bus.boot}-0`;
    let newest = 0;
    for (let cut = 0; cut < 200; cut++) {
      const control = new AbortController();
      const { signal } = control;
      const open = streams.open({ filter: FILTER, owner: null, after: client.after, signal }, () => {});
      const stream = received(new Response(open));
      for (let reads = Math.floor(chance() * 8); reads >= 0; reads--) {
        // Now and then more than the ring holds.
        newest = publish(Math.floor(chance() * (chance() < 0.05 ? 200 : 20)));
        const { value, done } = await Promise.race([
          stream.next(),
          Bun.sleep(20).then(() => ({ value: undefined, done: true as const })),
        ]);
        if (done || !value) break;
        client.take(value);
      }
      control.abort();
      newest = publish(Math.floor(chance() * (chance() < 0.1 ? 150 : 10)));
    }
    expect(client.faults).toEqual([]);
    expect(client.resets).toBeGreaterThan(3);
    expect(client.events).toBeGreaterThan(300);
    // What the last cut left out comes with the next stream.
    const last = streams.open(
      { filter: FILTER, owner: null, after: client.after, signal: new AbortController().signal },
      () => {},
    );
    for await (const one of received(new Response(last))) {
      client.take(one);
      if (one.event === "mark") break;
    }
    expect(client.seen - (client.seen % 2)).toBe(newest - (newest % 2));
    expect(client.faults).toEqual([]);
    expect(streams.count()).toBe(0);
  }
});

test("over connections that break, likewise", async () => {
  await using host = await testServer({ service: { eventTypes: EVENT_TYPES } });
  const bus = host.service.events();
  const publish = tides(bus);
  const chance = random(7);
  const client = new Client();
  client.after = `${bus.boot}-0`;
  let published = 0;
  const publishing = setInterval(() => {
    published = publish(Math.floor(chance() * 30));
  }, 1);
  for (let cut = 0; cut < 200; cut++) {
    const control = new AbortController();
    const response = await host.call("/events?types=tide.turned", {
      headers: { "last-event-id": client.after },
      signal: control.signal,
    });
    let reads = Math.floor(chance() * 5);
    for await (const one of received(response)) {
      client.take(one);
      reads -= 1;
      if (reads < 0) break;
    }
    control.abort();
  }
  clearInterval(publishing);
  expect(client.faults).toEqual([]);
  const response = await host.call(`/events?types=tide.turned&after=${client.after}`);
  for await (const one of received(response)) {
    client.take(one);
    if (one.event === "mark") break;
  }
  expect(client.faults).toEqual([]);
  expect(client.seen - (client.seen % 2)).toBe(published - (published % 2));
});
