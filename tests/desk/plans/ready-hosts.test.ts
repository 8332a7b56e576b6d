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
