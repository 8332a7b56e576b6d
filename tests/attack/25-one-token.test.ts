/** The attack: with one token that may do little, take what all tokens share: requests, runs, sessions. */
import { expect, test } from "bun:test";
import { request } from "node:http";
import { post, type ServerProcess, serveBinary, until } from "../support";
import { addToken } from "./raw";
import { SDP } from "./sdp";

const as = (token: string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { ...init.headers, authorization: `Bearer ${token}` },
});

test("the requests of one token cost another token of the same address none", async () => {
  await using host = await serveBinary();
  const scraper = await addToken(host, "scraper", { scope: "metrics" });
  const statuses = new Set<number>();
  for (let nth = 0; nth < 40; nth++) statuses.add((await host.call("/metrics", as(scraper))).status);
  expect([...statuses]).toEqual([200, 429]);
  expect((await host.call("/jobs")).status).toBe(200);
});

test("the runs of one token leave room for those of others", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const greedy = await addToken(host, "greedy", { scope: "operate" });
  const other = await addToken(host, "other", { scope: "operate" });
  const client = new AbortController();
  const long = post({ actions: [["AC_sleep", [600]]] });
  const runs = Array.from({ length: 140 }, async () => {
    const answer = await host
      .call("/execute", as(greedy, { ...long, signal: client.signal }))
      .catch(() => null);
    return answer?.text();
  });
  await until("128 runs", async () =>
    (await (await host.call("/metrics")).text()).includes("\nservice_active_runs 128\n"),
  );
  const quick = post({ actions: [["AC_sleep", [0]]] });
  expect((await host.call("/execute", as(other, quick))).status).toBe(200);
  expect((await host.call("/execute", quick)).status).toBe(200);
  client.abort();
  const refused = (await Promise.all(runs)).filter((text) => text !== undefined);
  expect(new Set(refused)).toEqual(new Set(['{"error":"128 runs of the token greedy are active already"}']));
});

test("the sessions of one token leave some to others, also from many addresses", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const greedy = await addToken(host, "greedy", { scope: "sync" });
  const other = await addToken(host, "other", { scope: "sync" });
  const offers = Array.from({ length: 16 }, (_, nth) => offerFrom(host, `127.0.0.${1 + (nth % 4)}`, greedy));
  expect((await Promise.all(offers)).filter((status) => status === 200)).toHaveLength(12);
  expect(await offerFrom(host, "127.0.0.1", other)).toBe(200);
}, 60_000);

/** The status of the answer to an offer that nobody stands behind. */
function offerFrom({ url }: ServerProcess, localAddress: string, token: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const options = { host: hostname, port, path: "/sessions/offer", method: "POST", localAddress, headers };
  const sent = request(options, (answer) => {
    answer.resume();
    resolve(answer.statusCode);
  });
  sent.on("error", reject);
  sent.end(JSON.stringify({ type: "offer", sdp: SDP, viewer_id: "attacker" }));
  return promise;
}
