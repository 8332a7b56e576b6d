/** Attack: a stranger sends what hosts send to join, to get in, to fill the log, or to take up the desk's time. */
import { expect, test } from "bun:test";
import { newSecret } from "../../src/wire/join/join-string";
import { post, serveBinary } from "../support";

const request = (more: object = {}) => ({
  id: "abcdefgh",
  secret: newSecret(),
  host_key: newSecret(),
  signature: `${newSecret()}${newSecret()}`,
  name: "stranger",
  url: "https://10.0.0.1:9939",
  token: "a-token-of-mine",
  time: Date.now(),
  ...more,
});

test("guesses of a join string are limited, few are on record, and nobody else is locked out", async () => {
  await using desk = await serveBinary([]);
  const ask = (path: string, body: unknown) => fetch(desk.url + path, post(body));
  const said: Response[] = [];
  // Fewer at once than one client may have connections without a token.
  for (let rounds = 0; rounds < 4; rounds++) {
    said.push(...(await Promise.all(Array.from({ length: 50 }, () => ask("/join", request())))));
  }
  const statuses = Map.groupBy(said, ({ status }) => status);
  expect([...statuses.keys()].sort()).toEqual([404, 429]);
  expect((await ask("/leave", { host_id: "0".repeat(32), signature: request().signature })).status).toBe(429);
  const audit = await (await desk.call("/audit/list?limit=1000")).json();
  const { rows } = audit as { rows: unknown[] };
  expect(rows.length).toBeLessThan(40);
  expect(JSON.stringify(rows)).not.toContain("a-token-of-mine");
  expect((await desk.call("/admin/hosts")).status).toBe(200);
});

test("a large body is refused, and so is one that is none", async () => {
  await using desk = await serveBinary(["--rate-limit", "0"]);
  const ask = (init: RequestInit) => fetch(`${desk.url}/join`, init);
  const large = await ask(post(request({ name: "x".repeat(20_000) })));
  expect([large.status, await large.json()]).toMatchObject([
    413,
    { error: "body: expected at most 16384 bytes" },
  ]);
  expect((await ask({ method: "POST", body: "{" })).status).toBe(400);
  expect((await ask({ method: "GET" })).status).toBe(405);
  expect((await ask(post(request({ url: "javascript:alert(1)" })))).status).not.toBe(500);
});
