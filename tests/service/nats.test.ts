/** The connection of a desk to its NATS server, as `nats.json` comes and changes under it. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createPresence } from "../../src/desk/fleet/presence";
import { silentLog } from "../../src/lib/log";
import { createDeskOverNats } from "../../src/service/nats";
import { writeDeskPart } from "../../src/wire/nats/desk-part";
import { newNKey } from "../../src/wire/nats/nkeys";
import { startHostile } from "../desk/nats/hostile";
import { testService, until } from "../support";

/** The connection of a desk, and a function that gives it another server. */
function deskOf({ service, configDir }: ReturnType<typeof testService>, mayFollow = () => false) {
  const { id, seed } = newNKey("U");
  const desk = createDeskOverNats(
    {
      ...{ log: silentLog, reached() {}, ownPlans: async () => [], heardPlans: async () => {} },
      addressBook: service.addressBook,
    },
    configDir,
    async () => createPresence(),
    mayFollow,
  );
  return {
    desk,
    use: (urls: string[]) =>
      writeDeskPart(join(configDir, "nats.json"), {
        ...{ svc_nats: 1, server: { urls }, account: newNKey("A").id },
        desk: { name: "desk", id, seed, jwt: "x" },
      }),
  };
}

/** A server that accepts connections and says nothing. */
function startSilent() {
  let count = 0;
  const server = Bun.listen({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: {
      open() {
        count++;
      },
      data() {},
    },
  });
  return {
    urls: [`nats://127.0.0.1:${server.port}`],
    count: () => count,
    [Symbol.dispose]: () => server.stop(true),
  };
}

const someHost = `nats:${newNKey("U").id}`;

test("a request that waits for a connection goes on over the one that takes its place", async () => {
  await using made = testService();
  using silent = startSilent();
  await using server = await startHostile(() => {});
  const { desk, use } = deskOf(made);
  use(silent.urls);
  const waits = desk.via(someHost, undefined, null);
  await until("the first connection", () => silent.count() > 0);
  use(server.server.urls);
  try {
    await desk.look();
    using carrier = await waits;
    expect([typeof carrier.ask, server.count()]).toEqual(["function", 1]);
  } finally {
    await desk.stop();
  }
});

test("a request that waits for a connection fails, unsent, when the desk stops", async () => {
  await using made = testService();
  using silent = startSilent();
  const { desk, use } = deskOf(made);
  use(silent.urls);
  const waits = desk.via(someHost, undefined, null);
  await until("the connection", () => silent.count() > 0);
  await Promise.all([
    desk.stop(),
    expect(waits).rejects.toMatchObject({ fault: "unreachable", sent: false }),
  ]);
});

test("what a server does from time to time makes no second connection beside that of a first request", async () => {
  await using made = testService();
  await using server = await startHostile(() => {});
  const { desk, use } = deskOf(made, () => true);
  use(server.server.urls);
  try {
    using _carrier = await desk.via(someHost, undefined, null);
    const first = desk.current().get("");
    await desk.look();
    expect([desk.current().get(""), first !== undefined]).toEqual([first, true]);
  } finally {
    await desk.stop();
  }
});
