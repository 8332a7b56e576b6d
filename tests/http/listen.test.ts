import { describe, expect, test } from "bun:test";
import { Agent } from "node:https";
import { listen, type TlsSettings } from "../../src/http/listen";
import { conflict } from "../../src/lib/errors";
import { spkiPin } from "../../src/lib/spki";
import { makeCertificate, makeKey, parseKey } from "../../src/trust/certificate";
import { until } from "../support";
import { ask, clients, HOST, pinAt } from "./clients";

function settings(): TlsSettings & { pin: string } {
  const key = makeKey();
  const cert = makeCertificate(parseKey(key), "a-host", ["localhost"], new Date());
  return { key, cert, pin: spkiPin(cert) };
}

const served = (drainMs?: number) => {
  const first = settings();
  const gates = new Map<string, Promise<void>>();
  const listener = listen(
    {
      host: HOST,
      port: 0,
      tls: first,
      async fetch(asked) {
        await gates.get(new URL(asked.url).pathname);
        return new Response("done");
      },
    },
    drainMs,
  );
  return { listener, first, gates, [Symbol.asyncDispose]: () => listener.stop(true) };
};

describe("an exchanged certificate", () => {
  test("is what every connection gets that begins after it", async () => {
    await using made = served();
    const { listener, first } = made;
    expect(await pinAt(listener.port)).toBe(first.pin);
    for (let nth = 0; nth < 3; nth++) {
      const next = settings();
      await listener.exchange(next);
      for (let again = 0; again < 20; again++) expect(await pinAt(listener.port)).toBe(next.pin);
    }
  });

  test("leaves a request in flight alone, and the connection ends after the next one", async () => {
    await using made = served();
    const { listener, gates } = made;
    const { promise, resolve } = Promise.withResolvers<void>();
    gates.set("/slow", promise);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const slow = ask(listener.port, agent, "/slow");
    await until("the request", async () => (await ask(listener.port, false)).body === "done");
    await listener.exchange(settings());
    resolve();
    expect(await slow).toEqual({ body: "done", reused: false });
    expect(await ask(listener.port, agent)).toEqual({ body: "done", reused: true });
    expect(await ask(listener.port, agent)).toEqual({ body: "done", reused: false });
    agent.destroy();
  });

  test("leaves no other server on the port: it is taken", async () => {
    await using made = served();
    const { listener, first } = made;
    const other = () => listen({ host: HOST, port: listener.port, tls: first, fetch: () => new Response() });
    const taken = conflict(`port ${listener.port} on ${HOST} is taken`);
    expect(other).toThrow(taken.message);
    await listener.exchange(settings());
    expect(other).toThrow(taken.message);
  });

  test("costs no request of some hundred a second, on old connections and on new ones", async () => {
    if (process.platform !== "linux") return;
    // Longer than a client of this process waits for its turn on a busy machine.
    const drainMs = 3_000;
    await using made = served(drainMs);
    const { listener } = made;
    const staying = clients(20, listener.port, { keepAlive: true, pauseMs: 50 });
    const coming = clients(5, listener.port, { keepAlive: false, pauseMs: 20 });
    for (let nth = 0; nth < 4; nth++) {
      const before = staying.answers();
      await listener.exchange(settings());
      // Some before the old listener has closed, some after.
      const wanted = before + (nth % 2 === 0 ? 20 : 1_500);
      await until("requests", () => staying.answers() > wanted);
    }
    await Promise.all([staying.stop(), coming.stop()]);
    expect([...staying.failures, ...coming.failures]).toEqual([]);
    expect(coming.answers()).toBeGreaterThan(100);
  });
});
