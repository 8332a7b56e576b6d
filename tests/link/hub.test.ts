/** What a hub says of hosts without a link. */
import { expect, test } from "bun:test";
import { silentLog } from "../../src/lib/log";
import { createHub } from "../../src/link/hub";

test("a host that has never dialled is expected for a minute after the start, and is gone then", () => {
  let now = 0;
  const nothing = () => {};
  const members = { member: () => undefined, knowsMembers: () => true };
  const parts = { log: silentLog, publish: nothing, up: nothing, down: nothing, ...members };
  const hub = createHub({ ...parts, pins: () => [], now: () => now });
  const seen = () => [hub.isExpected("a"), hub.isGone("a")];
  expect(seen()).toEqual([true, false]);
  now = 59_999;
  expect(seen()).toEqual([true, false]);
  now = 60_000;
  expect(seen()).toEqual([false, true]);
  hub.stop();
});
