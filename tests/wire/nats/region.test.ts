/** Where hosts are that are reached over NATS, as their addresses say. */
import { expect, test } from "bun:test";
import { parseHost } from "../../../src/desk/fleet/host";
import { FIRST, natsAddress, natsPlaceOf } from "../../../src/wire/nats/region";

const KEY = `U${"A".repeat(55)}`;

test.each([FIRST, "eu", "us-east-1", "9"])("an address at %p says the key and the region", (region) => {
  expect(natsPlaceOf(natsAddress(KEY, region))).toEqual({ region, key: KEY });
});

test("a host at the first server has the address that it had when there was one", () => {
  expect(natsAddress(KEY)).toBe(`nats:${KEY}`);
});

test.each([
  `nats:/${KEY}`,
  `nats:EU/${KEY}`,
  `nats:-eu/${KEY}`,
  `nats:${"e".repeat(33)}/${KEY}`,
  `nats:eu/us/${KEY}`,
  `nats:eu/${KEY}A`,
  `nats:eu/${KEY}\n`,
  `link:${KEY}`,
])("%j is no such address", (address) => {
  expect(natsPlaceOf(address)).toBeUndefined();
});

test("the address book takes a host at a region with the key that it has joined with, and with no other", () => {
  const member = { host_id: "0".repeat(32), host_key: "k", nonce: "n", nats_key: KEY };
  const host = { label: "h", base_url: `nats:eu/${KEY}`, tags: [], member };
  expect(parseHost(host)).toMatchObject({ entry: { base_url: host.base_url } });
  const other = { ...host, base_url: `nats:eu/U${"B".repeat(55)}` };
  expect(parseHost(other)).toEqual({ fault: expect.stringContaining("expected the key of this very host") });
});
