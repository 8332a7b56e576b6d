import { describe, expect, test } from "bun:test";
import { Agent, request } from "node:https";
import { connect } from "node:tls";
import { listen, type TlsSettings } from "../../src/http/listen";
import { conflict } from "../../src/lib/errors";
import { spkiPin } from "../../src/lib/spki";
import { makeCertificate, makeKey, parseKey } from "../../src/trust/certificate";
import { until } from "../support";

const HOST = "127.0.0.1";

function settings(): TlsSettings & { pin: string } {
  const key = makeKey();
  const cert = makeCertificate(parseKey(key), "a-host", ["localhost"], new Date());
  return { key, cert, pin: spkiPin(cert) };
}

/** The pin of the certificate that a new connection gets. */
async function pinAt(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: HOST, port, rejectUnauthorized: false }, () => {
    resolve(spkiPin(socket.getPeerCertificate().raw));
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

/** The body of an answer, and whether its connection had been used before. @throws when none comes. */
function ask(port: number, agent: Agent | false, path = "/"): Promise<{ body: string; reused: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ body: string; reused: boolean }>();
  const asked = request({ host: HOST, port, path, agent, rejectUnauthorized: false }, (response) => {
    let body = "";
    response.on("data", (piece) => {
      body += piece;
    });
    response.on("error", reject).on("end", () => resolve({ body, reused: asked.reusedSocket }));
  });
  asked.on("error", reject).end();
  return promise;
}

/** `count` clients that ask one request after the other, each on one connection or on a new one for each request. */
function clients(count: number, port: number, keepAlive: boolean, pauseMs: number) {
  const stopping = new AbortController();
  const failures: unknown[] = [];
  let answers = 0;
  const ended = Array.from({ length: count }, async () => {
    const agent = keepAlive && new Agent({ keepAlive, maxSockets: 1 });
    while (!stopping.signal.aborted) {
      await ask(port, agent).then(
        () => {
          answers++;
        },
        (error) => failures.push(error),
      );
      await Bun.sleep(pauseMs);
    }
    if (agent) agent.destroy();
  });
  return {
    failures,
    answers: () => answers,
    async stop() {
      stopping.abort();
      await Promise.all(ended);
    },
  };
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
    const drainMs = 500;
    await using made = served(drainMs);
    const { listener } = made;
    const staying = clients(20, listener.port, true, 50);
    const coming = clients(5, listener.port, false, 20);
    for (let nth = 0; nth < 8; nth++) {
      const before = staying.answers();
      await listener.exchange(settings());
      // Some before the old listener has closed, some after.
      const wanted = before + (nth % 2 === 0 ? 20 : 400);
      await until("requests", () => staying.answers() > wanted);
    }
    await Promise.all([staying.stop(), coming.stop()]);
    expect([...staying.failures, ...coming.failures]).toEqual([]);
    expect(coming.answers()).toBeGreaterThan(100);
  });
});
