/** The connection to a NATS server that is kept up. */
import { expect, spyOn, test } from "bun:test";
import { silentLog } from "../../../src/lib/log";
import { AMONG_MANY, type KeepParts, keepConnection } from "../../../src/wire/nats/kept-connection";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { type Peer, startHostile } from "../../desk/nats/hostile";
import { until } from "../../support";

const { seed, id } = newNKey("U");
const loginAt = (server: { urls: string[] }) => () => ({ server, seed, jwt: "x" });

test("a connection with which nothing can be done is closed before the next one", async () => {
  await using hostile = await startHostile(() => {});
  const kept = keepConnection({
    login: loginAt(hostile.server),
    connected() {
      throw new Error("this host has joined no desk");
    },
    log: silentLog,
    random: () => 0.001,
  });
  try {
    await until("several attempts", () => hostile.count() > 3);
    expect(kept.state().problem).toBe("this host has joined no desk");
    await until("their end", () => hostile.open() <= 1);
  } finally {
    await kept.stop();
  }
});

/** How long the pause is at most after a connection that was up for a minute. */
async function pauseAfterGood(firstAttempt: number | undefined): Promise<number> {
  let peer: Peer | undefined;
  await using hostile = await startHostile((_message, of) => {
    peer = of;
  });
  const kept = keepConnection({
    login: loginAt(hostile.server),
    connected(connection) {
      connection.publish(`svc.v1.up.${id}.hello`);
      return () => {};
    },
    log: silentLog,
    random: () => 1,
    ...(firstAttempt !== undefined && { firstAttempt }),
  });
  try {
    await until("the connection", () => peer && kept.current());
    const now = performance.now.bind(performance);
    using _later = spyOn(performance, "now").mockImplementation(() => now() + 60_000);
    peer?.drop();
    const next = await until("the pause", () => kept.state().next);
    return Math.round((next.getTime() - kept.state().since.getTime()) / 1_000);
  } finally {
    await kept.stop();
  }
}

test("hosts that lose a server come back over half a minute, a desk within seconds", async () => {
  expect(await pauseAfterGood(AMONG_MANY)).toBe(32);
  expect(await pauseAfterGood(undefined)).toBe(4);
});

test("a server that refuses something else each time does not fill the log", async () => {
  const said: string[] = [];
  await using hostile = await startHostile((_message, peer) => {
    for (let nth = 0; nth < 200; nth++) peer.refuse(`subject-${nth}`);
  });
  const kept = keepConnection({
    login: loginAt(hostile.server),
    connected(connection) {
      connection.publish(`svc.v1.up.${id}.hello`);
      return () => {};
    },
    log: { ...silentLog, warn: (text: string) => void said.push(text) },
  });
  try {
    await until("the refusals", () => said.length >= 10);
    await (await kept.ready()).flush();
    expect(said.length).toBeLessThan(15);
  } finally {
    await kept.stop();
  }
});

/** Begins to keep a connection, and waits for the first pause, of minutes. */
async function pausing(login: KeepParts["login"]) {
  const kept = keepConnection({ login, connected: () => () => {}, log: silentLog, random: () => 100 });
  await until("the pause", () => kept.state().state === "waiting");
  return { ...kept, [Symbol.asyncDispose]: kept.stop };
}

test("whoever asks for the connection ends the pause before the next attempt", async () => {
  await using hostile = await startHostile(() => {});
  let isThere = false;
  await using kept = await pausing(() => {
    if (!isThere) throw new Error("connection refused");
    return { server: hostile.server, seed, jwt: "x" };
  });
  isThere = true;
  await kept.ready();
  expect(kept.state()).toMatchObject({ state: "connected", attempts: 2 });
});

test("an attempt for which somebody waits says why it failed", async () => {
  let attempts = 0;
  await using kept = await pausing(() => {
    throw new Error(`refused ${++attempts}`);
  });
  await expect(Promise.try(() => kept.ready())).rejects.toThrow("refused 2");
});
