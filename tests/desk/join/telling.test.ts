/** Who hears which desk this is, and when. The hosts are made up; `fence.test.ts` has real ones. */
import { expect, test } from "bun:test";
import { hostUp } from "../../../src/desk/fleet/events";
import type { BookHost, Fence } from "../../../src/desk/join/standby/fence";
import { createTelling } from "../../../src/desk/join/standby/telling";
import { createBus } from "../../../src/events/bus";
import { silentLog } from "../../../src/lib/log";
import type { Office } from "../../../src/wire/join/office";
import { nextTurn, until } from "../../support";

const hostNamed = (label: string): BookHost => ({
  label,
  base_url: "https://10.0.0.9:9939",
  member: { host_id: label, nonce: "n" },
});

/** A desk with hosts of those labels, of which each call of `tellAll` is noted. @param answered those that answer. */
function desk(
  labels: readonly string[],
  answered: Set<string>,
  office: Office = { line: "", generation: 1 },
) {
  const hosts = labels.map(hostNamed);
  const calls: string[][] = [];
  const heard = new Set<string>();
  const state = { office, isDesk: true, hasStandbys: false };
  /** What a call waits for that has a host which does not answer. */
  let patience = Promise.resolve();
  const fence: Pick<Fence, "office" | "tellAll" | "hasHeard"> = {
    office: () => state.office,
    hasHeard: ({ label }) => (heard.has(label) ? true : undefined),
    async tellAll(those) {
      const waiting = those.map(({ label }) => label).filter((label) => !heard.has(label));
      calls.push(waiting);
      for (const label of waiting) if (answered.has(label)) heard.add(label);
      const silent = waiting.filter((label) => !answered.has(label));
      if (silent.length > 0) await patience;
      return silent.length;
    },
  };
  const events = createBus(silentLog);
  const book = {
    hosts: () => hosts,
    host(label: string) {
      const found = hosts.find((one) => one.label === label);
      if (!found) throw new Error("no such host");
      return found;
    },
    reach: () => {
      throw new Error("nothing is reached");
    },
  };
  const telling = createTelling({
    ...{ fence, book, events, log: silentLog, mayTell: () => state.isDesk },
    hasStandbys: () => state.hasStandbys,
    again: { firstMs: 1, longestMs: 10 },
  });
  return {
    ...{ calls, heard, state, telling },
    up: (label: string, base_url = "https://10.0.0.9:9939") => events.publish(hostUp, { label, base_url }),
    waitsFor(promise: Promise<void>) {
      patience = promise;
    },
  };
}

test("hosts that have not answered are notified again, and those that have are not", async () => {
  const answered = new Set(["a"]);
  const made = desk(["a", "b"], answered);
  await until("both to be notified", () => {
    made.telling.look();
    return made.calls.length >= 2;
  });
  expect(made.calls.slice(0, 2)).toEqual([["a", "b"], ["b"]]);
  expect(made.telling.heard()).toEqual({ hosts: 2, heard: 1, older: 0 });
  answered.add("b");
  await until("the other to hear", () => {
    made.telling.look();
    return made.heard.has("b");
  });
  await made.telling.stop();
});

test("a host that comes back hears at once, also while others are waited for that are away", async () => {
  const away = Promise.withResolvers<void>();
  const answered = new Set<string>();
  const made = desk(["away", "back"], answered);
  made.waitsFor(away.promise);
  made.telling.look();
  answered.add("back");
  made.up("back");
  made.up("removed");
  await until("it to hear", () => made.heard.has("back"));
  made.telling.look();
  // Those that are away are not notified a second time meanwhile.
  expect(made.calls).toEqual([["away", "back"], ["back"]]);
  away.resolve();
  await made.telling.stop();
});

test("a host that comes back waits for none that has come back at another NATS server", async () => {
  const silent = Promise.withResolvers<void>();
  const answered = new Set(["here", "later"]);
  const made = desk(["silent", "here", "later"], answered);
  made.waitsFor(silent.promise);
  made.up("silent", "nats:eu/USILENT");
  made.up("here", "nats:UHERE");
  await until("the one at the other server to hear", () => made.heard.has("here"));
  made.up("later", "nats:eu/ULATER");
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  // It comes after the one before it at its server.
  expect(made.calls).toEqual([["silent"], ["here"]]);
  silent.resolve();
  await until("the one at the same server to hear", () => made.heard.has("later"));
  await made.telling.stop();
});

test("a desk that is reinstated tells its hosts at once, and one that is none tells nobody", async () => {
  const made = desk(["a"], new Set(["a"]));
  made.telling.look();
  await nextTurn();
  made.telling.look();
  expect(made.calls).toHaveLength(1);
  made.heard.clear();
  made.state.office = { line: "", generation: 9 };
  made.telling.look();
  expect(made.calls).toHaveLength(2);
  await nextTurn();
  made.state.isDesk = false;
  made.state.office = { line: "", generation: 12 };
  made.up("a");
  made.telling.look();
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  expect(made.calls).toHaveLength(2);
  await made.telling.stop();
});

test("a desk that nobody has taken over tells nobody, and counts nobody", async () => {
  const made = desk(["a"], new Set(["a"]), { line: "", generation: 0 });
  made.telling.look();
  made.up("a");
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  expect(made.calls).toEqual([]);
  expect(made.telling.heard()).toBeNull();
  await made.telling.stop();
});

test("a first desk that has standbys asks its hosts, which may have heard of another one, and knows when all were asked", async () => {
  const made = desk(["a", "away"], new Set(["a"]), { line: "", generation: 0 });
  made.state.hasStandbys = true;
  expect(made.telling.hasAsked()).toBe(false);
  made.telling.look();
  await until("all to be asked", () => made.telling.hasAsked());
  made.up("away");
  await until("the other to be asked again", () => made.calls.length === 2);
  expect(made.calls).toEqual([["a", "away"], ["away"]]);
  expect(made.telling.heard()).toBeNull();
  await made.telling.stop();
});
