/** The hosts of a plan that are ready to begin, at several servers. */
import { expect, test } from "bun:test";
import { ReadyHosts } from "../../../src/desk/plans/ready-hosts";

test("servers take turns, each with its hosts in their order, and one without a place is passed over", () => {
  const ready = new ReadyHosts<string>();
  for (const server of ["eu", "us"]) for (const nth of [1, 2, 3]) ready.push(server, `${server} ${nth}`);
  const full = new Set<string>();
  const take = () => ready.take((server) => !full.has(server));
  expect([take(), take(), take()]).toEqual(["eu 1", "us 1", "eu 2"]);
  full.add("us");
  expect([take(), take()]).toEqual(["eu 3", undefined]);
  full.clear();
  ready.push("eu", "eu 4");
  expect([take(), take(), take(), take()]).toEqual(["us 2", "eu 4", "us 3", undefined]);
});

test("hosts that were moved wait behind those of the server at which they are, and take no turn at the other", () => {
  const ready = new ReadyHosts<string>();
  for (const nth of [1, 2, 3]) ready.push("eu", `eu ${nth}`);
  ready.push("us", "us 1");
  ready.push("ap", "ap 1");
  const take = (...full: string[]) => ready.take((server) => !full.includes(server));
  expect(take()).toBe("eu 1");
  // One that has begun, one that waits behind others, and one that waits alone.
  const now: Record<string, string> = { "eu 1": "us", "eu 3": "us", "ap 1": "us" };
  ready.move((host) => now[host]);
  const taken = [take("eu"), take("eu"), take("eu"), take("eu")];
  expect(taken).toEqual(["us 1", "ap 1", "eu 3", undefined]);
  expect([take(), take()]).toEqual(["eu 2", undefined]);
});
