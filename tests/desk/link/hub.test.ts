/** What a hub says of hosts without a link, and when it ends a link by itself. */
import { afterEach, beforeEach, describe, expect, jest, setSystemTime, test } from "bun:test";
import { join } from "node:path";
import { deadlineIn } from "../../../src/client/carrier";
import type { Socket } from "../../../src/core/socket";
import { createHub, type HubParts } from "../../../src/desk/link/hub";
import { silentLog } from "../../../src/lib/log";
import { hostIdOf, openSigningKey } from "../../../src/trust/identity";
import { linkMessage } from "../../../src/wire/link/frames";
import { temporaryFolder } from "../../support";

const nothing = () => {};

function testHub(more: Partial<HubParts> = {}) {
  const members = { member: () => undefined, knowsMembers: () => true, pins: () => [""] };
  return createHub({ log: silentLog, publish: nothing, up: nothing, down: nothing, ...members, ...more });
}

test("a host that has never dialled is expected for a minute after the start, and is gone then", () => {
  let now = 0;
  const hub = testHub({ now: () => now });
  const seen = () => [hub.isExpected("a"), hub.isGone("a")];
  expect(seen()).toEqual([true, false]);
  now = 59_999;
  expect(seen()).toEqual([true, false]);
  now = 60_000;
  expect(seen()).toEqual([false, true]);
  hub.stop();
});

/** A hub with one link, on a clock of its own. */
function linkedHub() {
  const folder = temporaryFolder();
  const key = openSigningKey(join(folder.path, "key"));
  const host_id = hostIdOf(key.publicKey);
  const state = { now: 1_000, ends: [] as string[] };
  const hub = testHub({
    now: () => state.now,
    member: () => ({ label: "a", host_key: key.publicKey }),
  });
  const dial = () => {
    const said: string[] = [];
    const socket: Socket = {
      ...{ unsent: () => 0, accept: nothing, refuse: nothing },
      send: (message) => void said.push(String(message)),
      close: (_code, reason) => void state.ends.push(reason),
      terminate: () => void state.ends.push("terminated"),
    };
    const handlers = hub.accept("192.0.2.1");
    handlers.opened(socket);
    const { nonce } = JSON.parse(said[0] ?? "");
    const signature = key.sign(linkMessage(nonce, "", host_id));
    const about = { host_id, signature, process: "p", version: "1", yields: false };
    return { handlers, said, prove: () => handlers.message(JSON.stringify({ t: "host", ...about })) };
  };
  return {
    ...{ hub, state, host_id, dial, look: () => void jest.advanceTimersByTime(5_000) },
    [Symbol.dispose]() {
      hub.stop();
      folder[Symbol.dispose]();
    },
  };
}

describe("a link whose host is silent", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => {
    setSystemTime();
    jest.useRealTimers();
  });

  test.each([120_000, -3_600_000])("is not ended by a wall clock that is set by %d ms", (ms) => {
    using made = linkedHub();
    made.dial().prove();
    made.dial();
    setSystemTime(new Date(Date.now() + ms));
    made.look();
    expect(made.state.ends).toEqual([]);
    expect(made.hub.counts().links).toBe(1);
  });

  test("ends after 75 s, also while the wall clock is set back", () => {
    using made = linkedHub();
    made.dial().prove();
    setSystemTime(new Date(Date.now() - 3_600_000));
    made.state.now += 75_001;
    made.look();
    expect(made.state.ends).toEqual(["terminated"]);
  });

  test("ends after 10 s where it does not say who it is", () => {
    using made = linkedHub();
    made.dial();
    made.state.now += 10_001;
    made.look();
    expect(made.state.ends).toEqual(["it did not say who it is"]);
  });

  test("was seen as long ago as it was silent, whatever the wall clock was set to meanwhile", () => {
    using made = linkedHub();
    made.dial().prove();
    made.state.now += 30_000;
    setSystemTime(new Date("2040-01-01T00:00:30Z"));
    expect(made.hub.links()[0]?.last_seen).toBe("2040-01-01T00:00:00.000Z");
  });
});

describe("a request to a host that has not dialled", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const ask = (made: ReturnType<typeof linkedHub>) =>
    made.hub.ask(
      made.host_id,
      { method: "GET", path: "/health" },
      { deadline: deadlineIn(10_000), maxBytes: 1_000 },
    );

  test("waits for its link just after the start of the hub", async () => {
    using made = linkedHub();
    const link = made.dial();
    const asked = ask(made).catch(() => {});
    link.prove();
    const isAsked = () => link.said.some((frame) => JSON.parse(frame).t === "ask");
    for (let turn = 0; turn < 50 && !isAsked(); turn++) await Promise.resolve();
    expect(isAsked()).toBe(true);
    link.handlers.closed(1_006);
    await asked;
  });

  test("fails once hosts had the time to dial", async () => {
    using made = linkedHub();
    const asked = ask(made);
    jest.advanceTimersByTime(3_000);
    await expect(asked).rejects.toThrow("not linked (not seen since this desk started)");
  });

  test("fails before its own time is over", async () => {
    using made = linkedHub();
    const limits = { deadline: deadlineIn(1_000), maxBytes: 1_000 };
    const asked = made.hub.ask(made.host_id, { method: "GET", path: "/health" }, limits);
    jest.advanceTimersByTime(900);
    await expect(asked).rejects.toThrow("not linked (not seen since this desk started)");
  });

  test("fails at once later, and where the host has lost its link", async () => {
    using made = linkedHub();
    made.state.now += 3_000;
    await expect(ask(made)).rejects.toThrow("not linked (not seen since this desk started)");
    using early = linkedHub();
    const link = early.dial();
    link.prove();
    link.handlers.closed(1_006);
    await expect(ask(early)).rejects.toThrow("not linked (last seen");
  });
});

test("of too many that have not proved who they are, the oldest of the client that has most of them goes", () => {
  const hub = testHub();
  const ended: string[] = [];
  const dial = (address: string, client?: string) => {
    const handlers = hub.accept(address, client);
    handlers.opened({
      ...{ unsent: () => 0, accept: nothing, refuse: nothing, send: nothing, close: nothing },
      terminate() {
        ended.push(address);
        handlers.closed(1_006);
      },
    });
  };
  dial("192.0.2.1");
  for (let nth = 0; nth < 300; nth++) dial(`2001:db8::${nth.toString(16)}`, "2001:db8::/64");
  dial("192.0.2.1");
  expect(ended.length).toBe(302 - 256);
  expect([ended[0], ended.includes("192.0.2.1")]).toEqual(["2001:db8::0", false]);
  hub.stop();
});
