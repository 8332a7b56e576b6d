/** The connections of a desk to its NATS servers, as `nats.json` comes and changes under them. */
import { expect, mock, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPresence } from "../../src/desk/fleet/presence";
import { unavailable } from "../../src/lib/errors";
import { silentLog } from "../../src/lib/log";
import { createDeskOverNats, type NatsDeskUses } from "../../src/service/nats";
import { writeDeskPart } from "../../src/wire/nats/desk-part";
import { newNKey } from "../../src/wire/nats/nkeys";
import { type Published, startHostile } from "../desk/nats/hostile";
import { movableClocks, nextTurn, testService, until } from "../support";

/** The connections of a desk, and a function that gives it other servers. */
function deskOf(
  { service, configDir }: ReturnType<typeof testService>,
  mayFollow = () => false,
  more: Partial<NatsDeskUses> = {},
) {
  const { id, seed } = newNKey("U");
  const account = newNKey("A").id;
  const events: string[] = [];
  const desk = createDeskOverNats(
    {
      ...{ log: silentLog, reached() {}, ownPlans: async () => [], heardPlans: async () => {} },
      addressBook: service.addressBook,
      ...more,
    },
    configDir,
    async () => createPresence((type) => void events.push(type.name)),
    mayFollow,
  );
  const partAt = (urls: string[]) => ({
    ...{ server: { urls }, account },
    desk: { name: "desk", id, seed, jwt: "x" },
  });
  return {
    ...{ desk, events },
    /** @param regions the URLs of their servers. */
    use: (urls: string[], regions: Record<string, string[]> = {}) =>
      writeDeskPart(join(configDir, "nats.json"), {
        ...{ svc_nats: 1, ...partAt(urls) },
        regions: Object.fromEntries(Object.entries(regions).map(([name, there]) => [name, partAt(there)])),
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

const key = newNKey("U").id;
const someHost = `nats:${key}`;
const euHost = `nats:eu/${key}`;

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

test("a server that says nothing holds up no request to that of another region", async () => {
  await using made = testService();
  using silent = startSilent();
  await using server = await startHostile(() => {});
  const { desk, use } = deskOf(made);
  use(server.server.urls, { eu: silent.urls });
  const waits = desk.via(euHost, undefined, null);
  waits.catch(() => {});
  try {
    await until("the attempt there", () => silent.count() > 0);
    using carrier = await desk.via(someHost, undefined, null);
    expect(typeof carrier.ask).toBe("function");
  } finally {
    await desk.stop();
  }
  await expect(waits).rejects.toMatchObject({
    ...{ fault: "unreachable", sent: false },
    message: "no connection to the NATS server of eu: svc has stopped using it",
  });
});

test("a region whose server changes gets another connection, and the first server keeps its own", async () => {
  await using made = testService();
  await using first = await startHostile(() => {});
  await using eu = await startHostile(() => {});
  await using next = await startHostile(() => {});
  const { desk, use } = deskOf(made);
  use(first.server.urls, { eu: eu.server.urls });
  try {
    using _here = await desk.via(someHost, undefined, null);
    using _there = await desk.via(euHost, undefined, null);
    use(first.server.urls, { eu: next.server.urls });
    using _moved = await desk.via(euHost, undefined, null);
    await until("the end of the former one", () => eu.open() === 0);
    expect([first.count(), first.open(), next.open()]).toEqual([1, 1, 1]);
    use(first.server.urls);
    await expect(desk.via(euHost, undefined, null)).rejects.toThrow("nats.json has no region eu");
    expect(first.count()).toBe(1);
  } finally {
    await desk.stop();
  }
});

test("after a minute no host is there at a server that is off, or passes nothing on; that of another region goes on", async () => {
  await using made = testService();
  using clocks = movableClocks();
  using intervals = spyOn(globalThis, "setInterval");
  const said = Promise.withResolvers<() => void>();
  await using passes = await startHostile(({ subject, data }, peer) => {
    if (subject.endsWith(".plans")) said.resolve(() => peer.send(subject, data));
  });
  await using keeps = await startHostile(() => {});
  using silent = startSilent();
  const { desk, use, events } = deskOf(made, () => true);
  use(passes.server.urls, { eu: keeps.server.urls, us: silent.urls });
  const gone = () => ["", "eu", "us"].map((region) => desk.current().get(region)?.presence?.isGone(key));
  try {
    await desk.look();
    const passOn = await said.promise;
    await until("the connection", () => desk.current().get("eu")?.state()?.state === "connected");
    expect(gone()).toEqual([false, false, false]);
    // A minute in which this process runs: it looks every ten seconds.
    for (let nth = 0; nth < 6; nth++) {
      clocks.advance(10_000);
      for (const [look, ms] of intervals.mock.calls) if (ms === 10_000) look();
    }
    passOn();
    await until("what was passed on", () => gone()[0] === false);
    expect(gone()).toEqual([false, true, true]);
    expect(events).toEqual([]);
  } finally {
    await desk.stop();
  }
});

test("a region whose entry is broken is one that is off, until it is mended; the first server keeps its connection", async () => {
  await using made = testService();
  await using first = await startHostile(() => {});
  await using eu = await startHostile(() => {});
  const { desk, use } = deskOf(made);
  use(first.server.urls, { eu: ["ftp://eu.example"] });
  try {
    await expect(desk.via(euHost, undefined, null)).rejects.toMatchObject({
      ...{ fault: "unreachable", sent: false },
      message:
        "no connection to the NATS server of eu: regions.eu.server.urls.0 in nats.json cannot be used: mend it or restore the file from a backup",
    });
    using _here = await desk.via(someHost, undefined, null);
    use(first.server.urls, { eu: eu.server.urls });
    using _there = await desk.via(euHost, undefined, null);
    expect([first.count(), eu.count()]).toEqual([1, 1]);
  } finally {
    await desk.stop();
  }
});

test("while nats.json is not JSON, the connections stay as they are, and a desk that starts then goes on without", async () => {
  await using made = testService();
  await using first = await startHostile(() => {});
  await using eu = await startHostile(() => {});
  const { desk, use } = deskOf(made);
  const { desk: next } = deskOf(made);
  use(first.server.urls, { eu: eu.server.urls });
  try {
    using _here = await desk.via(someHost, undefined, null);
    using _there = await desk.via(euHost, undefined, null);
    writeFileSync(join(made.configDir, "nats.json"), '{\n  "svc_nats": 1,\n}\n');
    const fault = "nats.json is not JSON (line 3): mend it or restore it from a backup";
    await expect(desk.look()).rejects.toThrow(
      `${fault}; \`svc config set-aside nats.json\` begins anew without it; until then the connections stay as they are`,
    );
    using _again = await desk.via(euHost, undefined, null);
    expect([first, eu].map((one) => [one.count(), one.open()])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    await expect(next.look()).rejects.toThrow("until then this desk goes on without NATS");
    const refused = { fault: "unreachable", sent: false, message: expect.stringContaining(fault) };
    await expect(next.via(someHost, undefined, null)).rejects.toMatchObject(refused);
    await expect(desk.via(`nats:us/${key}`, undefined, null)).rejects.toMatchObject(refused);
    use(first.server.urls);
    await expect(desk.via(euHost, undefined, null)).rejects.toThrow("nats.json has no region eu");
    using _begun = await next.via(someHost, undefined, null);
    expect(first.count()).toBe(2);
  } finally {
    await Promise.all([desk.stop(), next.stop()]);
  }
});

test("a server that nats.json does not name has no connection, and says how it gets one, until the file is another", async () => {
  await using made = testService();
  await using server = await startHostile(() => {});
  const { desk, use } = deskOf(made);
  const why = async () => {
    await nextTurn();
    return ["", "eu"].map(desk.whyNone);
  };
  const unknown = [undefined, undefined];
  try {
    expect(await why()).toEqual(unknown);
    await desk.look();
    const none = "there is no nats.json here: `svc nats use` takes one";
    expect(await why()).toEqual([none, none]);
    await expect(desk.via(euHost, undefined, null)).rejects.toThrow(none);
    use(server.server.urls);
    expect(await why()).toEqual(unknown);
    await desk.look();
    expect(await why()).toEqual([undefined, "nats.json has no region eu: `svc nats use` takes its part"]);
    writeFileSync(join(made.configDir, "nats.json"), "{");
    await expect(desk.look()).rejects.toThrow("the connections stay as they are");
    expect(await why()).toEqual([undefined, expect.stringContaining("nats.json is not JSON")]);
    use(server.server.urls, { eu: server.server.urls });
    // Whatever begins before it is read finds its hosts.
    expect(await why()).toEqual(unknown);
    using _there = await desk.via(euHost, undefined, null);
    expect(await why()).toEqual(unknown);
  } finally {
    await desk.stop();
  }
});

test("connections stay as they are while those that are to take their place cannot be made", async () => {
  await using made = testService();
  await using before = await startHostile(() => {});
  await using after = await startHostile(() => {});
  let isBroken = false;
  const addressBook = async () => {
    if (isBroken) throw unavailable("the address book cannot be read");
    return made.service.addressBook();
  };
  const { desk, use } = deskOf(made, () => false, { addressBook });
  use(before.server.urls);
  try {
    using _here = await desk.via(someHost, undefined, null);
    isBroken = true;
    use(after.server.urls);
    await expect(desk.look()).rejects.toThrow(
      "the address book cannot be read; until then the connections stay as they are",
    );
    using _again = await desk.via(someHost, undefined, null);
    expect([before.count(), before.open(), after.count()]).toEqual([1, 1, 0]);
    isBroken = false;
    use(after.server.urls);
    using _moved = await desk.via(someHost, undefined, null);
    await until("the end of the former one", () => before.open() === 0);
    expect(after.open()).toBe(1);
  } finally {
    await desk.stop();
  }
});

test("plans are read once for all servers, and anew once they have changed", async () => {
  await using made = testService();
  // However long the machine takes, all is at one time.
  using _clock = spyOn(performance, "now").mockReturnValue(performance.now());
  let said = 0;
  const published = ({ subject }: Published) => {
    if (subject.endsWith(".plans")) said++;
  };
  await using first = await startHostile(published);
  await using eu = await startHostile(published);
  const ownPlans = mock(async () => []);
  const { desk, use } = deskOf(made, () => true, { ownPlans });
  use(first.server.urls, { eu: eu.server.urls });
  try {
    await desk.look();
    await until("the first announcements", () => said === 2);
    expect(ownPlans).toHaveBeenCalledTimes(1);
    desk.plansChanged();
    await until("the next ones", () => said === 4);
    expect(ownPlans).toHaveBeenCalledTimes(2);
  } finally {
    await desk.stop();
  }
});
