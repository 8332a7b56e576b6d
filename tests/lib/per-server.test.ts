/** What hosts share with those at the same server alone. */
import { expect, test } from "bun:test";
import { perServer, serverOver } from "../../src/lib/per-server";
import { natsAddress } from "../../src/wire/nats/region";

const KEY = `U${"A".repeat(55)}`;

test("hosts are reached over the server of their region, or over none", () => {
  const addresses = [natsAddress(KEY), natsAddress(KEY, "eu"), `link:${"0".repeat(32)}`, "https://nats:1/eu"];
  expect(addresses.map(serverOver)).toEqual(["nats:", "nats:eu", "", ""]);
});

test("each server has one, and the same each time", () => {
  const countAt = perServer(() => ({ count: 0 }));
  countAt("nats:eu").count++;
  expect([countAt("nats:eu").count, countAt("nats:").count, countAt("").count]).toEqual([1, 0, 0]);
});
