/** The attack: with one token that may do little, take what all tokens share: requests, runs, sessions, memory. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { AuditFile } from "../../src/host/audit/file";
import { appendRows, headOf, readHighWater } from "../../src/host/audit/high-water";
import { configFiles } from "../../src/lib/paths";
import { installBinary, post, type ServerProcess, serveBinary, until } from "../support";
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
  // On a busy machine an answer may have begun when its client goes.
  const runs = Array.from({ length: 140 }, () =>
    host
      .call("/execute", as(greedy, { ...long, signal: client.signal }))
      .then((answer) => answer.text())
      .catch(() => undefined),
  );
  await until("128 runs", async () =>
    (await (await host.call("/metrics")).text()).includes("\nservice_active_runs 128\n"),
  );
  const quick = post({ actions: [["AC_sleep", [0]]] });
  expect((await host.call("/execute", as(other, quick))).status).toBe(200);
  expect((await host.call("/execute", quick)).status).toBe(200);
  client.abort();
  const refused = (await Promise.all(runs)).filter((text) => text !== undefined);
  expect(new Set(refused)).toEqual(
    new Set([
      '{"error":"the token greedy has 128 active runs already, and leaves the rest to others","help":"T31"}',
    ]),
  );
  // A server that is asked to stop would wait for its runs.
  process.kill(host.pid, "SIGKILL");
});

test("the sessions of one token leave some to others, also from many addresses", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const greedy = await addToken(host, "greedy", { scope: "sync" });
  const other = await addToken(host, "other", { scope: "sync" });
  const offers = Array.from({ length: 16 }, (_, nth) => offerFrom(host, `127.0.0.${1 + (nth % 4)}`, greedy));
  expect((await Promise.all(offers)).filter((status) => status === 200)).toHaveLength(12);
  expect(await offerFrom(host, "127.0.0.1", other)).toBe(200);
}, 180_000);

test("large answers that a client does not read take little memory, and nothing from others", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const auditor = await addToken(host, "auditor", { scope: "audit" });
  await fill(host.configDir);
  const asked = Array.from({ length: 20 }, () => statusUnread(host, "/audit/list?limit=10000", auditor));
  const answers = await Promise.all(asked);
  const begun = answers.filter(({ status }) => status === 200);
  // Each has some 19 MB.
  expect(begun.length).toBeGreaterThan(0);
  expect(begun.length).toBeLessThan(5);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20 - begun.length);
  expect((await host.call("/audit/list?limit=10")).status).toBe(200);
  for (const { leave } of answers) leave();
  await until("room for another", async () => {
    const answer = await host.call("/audit/list?limit=10000", as(auditor));
    await answer.body?.cancel();
    return answer.status === 200;
  });
}, 180_000);

test("lists that are refused as unread are not made first", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const auditor = await addToken(host, "auditor", { scope: "audit" });
  await fill(host.configDir);
  const ask = async (count: number) => {
    const before = await cpuSeconds(host);
    const asked = Array.from({ length: count }, () => statusUnread(host, "/audit/list?limit=10000", auditor));
    const answers = await Promise.all(asked);
    return { answers, seconds: (await cpuSeconds(host)) - before };
  };
  const [first, further] = [await ask(4), await ask(30)];
  expect(further.answers.map(({ status }) => status)).toEqual(Array(30).fill(429));
  // Seven times as much when each is made.
  expect(further.seconds).toBeLessThan(2 * first.seconds);
  for (const { leave } of [...first.answers, ...further.answers]) leave();
}, 180_000);

test("large results of runs that a client does not read take little memory", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const greedy = await addToken(host, "greedy", { scope: "operate" });
  const actions = [
    ["AC_set_var", { name: "x", value: "x".repeat(800_000) }],
    ["AC_loop", { times: 10, body: [["AC_set_var", { name: "y", value: "${x}" }]] }],
  ];
  const leaving: Array<() => void> = [];
  let [whole, short] = [0, 0];
  for (let nth = 0; nth < 10; nth++) {
    const { status, answer, leave } = await statusUnread(
      host,
      "/execute",
      greedy,
      JSON.stringify({ actions }),
    );
    leaving.push(leave);
    expect(status).toBe(200);
    if (answer.includes("the results are left out")) short++;
    else whole++;
  }
  // Each has some 17 MB.
  expect([whole > 0, whole < 5, short]).toEqual([true, true, 10 - whole]);
  const runs = (await (await host.call("/runs")).json()) as { runs: Array<{ status: string }> };
  expect(runs.runs.map(({ status }) => status)).toEqual(Array(10).fill("ok"));
  for (const leave of leaving) leave();
}, 60_000);

test("a broadcast whose results nobody reads breaks off", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const greedy = await addToken(host, "greedy", { scope: "operate" });
  let runs = 0;
  const large = { ok: true, status: "ok", result: { x: "x".repeat(7 * 1_048_576) }, outcomes: [] };
  await using far = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/commands": Response.json({ commands: ["AC_sleep"] }),
      "/execute"() {
        runs++;
        return Response.json(large);
      },
    },
  });
  const base_url = `http://127.0.0.1:${far.port}`;
  const hosts = Array.from({ length: 60 }, (_, nth) => ({
    label: `far-${nth}`,
    base_url,
    token: "far-token",
  }));
  writeFileSync(configFiles(host.configDir).formerAdminHosts, JSON.stringify({ hosts }), { mode: 0o600 });
  const actions = [["AC_sleep", [0]]];
  const body = JSON.stringify({ on: "all", max_parallel: 2, actions });
  const { status, leave } = await statusUnread(host, "/admin/broadcast", greedy, body);
  expect(status).toBe(200);
  let before = 0;
  const isOver = () => {
    const isSame = runs > 0 && runs === before;
    before = runs;
    return isSame;
  };
  await until("no further run", isOver, { everyMs: 1_000 });
  expect(runs).toBeLessThan(30);
  leave();
}, 60_000);

/** Puts hosts that have the usual token into the address book of a desk. */
function know(desk: ServerProcess, hosts: readonly ServerProcess[]) {
  const entries = hosts.map(({ url, token }, nth) => ({ label: `lab-${nth + 1}`, base_url: url, token }));
  writeFileSync(configFiles(desk.configDir).formerAdminHosts, JSON.stringify({ hosts: entries }), {
    mode: 0o600,
  });
}

test("the polls of one token at a desk leave the owner requests at the host", async () => {
  await using desk = await serveBinary(["--rate-limit", "0"]);
  await using host = await serveBinary();
  know(desk, [host]);
  const greedy = await addToken(desk, "greedy", { scope: "operate" });
  const client = new AbortController();
  const answers: string[] = [];
  const polls = Array.from({ length: 40 }, async (_, nth) => {
    // Those who ask the same share a poll.
    const path = `/admin/poll?timeout_s=${10 + nth}`;
    const answer = await desk.call(path, as(greedy, { signal: client.signal })).catch(() => null);
    if (answer) answers.push(await answer.text());
  });
  await until("four polls", () => answers.length >= 4);
  for (let nth = 0; nth < 4; nth++)
    expect(await (await desk.call("/admin/poll")).json()).toMatchObject([{ healthy: true, error: null }]);
  client.abort();
  await Promise.all(polls);
  expect(answers.join()).not.toContain("429");
});

test("a host that is asked too much is busy, not down", async () => {
  await using desk = await serveBinary();
  await using host = await serveBinary(["--rate-limit", "1", "--rate-burst", "1"]);
  know(desk, [host]);
  using svc = installBinary();
  const polled = await svc.run(["admin", "poll", "--config-dir", desk.configDir]);
  expect(polled.stdout).toMatch(/^lab-1 +busy .* HTTP 429: rate limited$/m);
  expect(polled.stdout).not.toContain("DOWN");
});

test("the variables of a script fill no memory", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const token = await addToken(host, "scripts", { scope: "operate" });
  const double = Array.from({ length: 21 }, () => ["AC_set_var", { name: "a", value: "${a}${a}" }]);
  const many = Array.from({ length: 100 }, (_, nth) => [
    "AC_set_var",
    { name: `v${nth}`, value: `${nth}\${a}` },
  ]);
  const script = post({ actions: [...double, ...many], variables: { a: "x" } });
  const answer = await (await host.call("/execute", as(token, script))).json();
  const { outcomes } = answer as { outcomes: Array<{ ok: boolean }> };
  // Without a limit all of them, with some 2 MB each.
  expect(outcomes.filter(({ ok }) => ok).length).toBeLessThan(25);
});

/** The processor time that the server has used so far. */
async function cpuSeconds({ call }: ServerProcess): Promise<number> {
  const metrics = await (await call("/metrics")).text();
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
}

/** Asks, and reads no more than the beginning of the answer. */
async function statusUnread({ url }: ServerProcess, path: string, token: string, body?: string) {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = `HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n`;
  const json = `Content-Type: application/json\r\nContent-Length: ${body?.length}\r\n\r\n${body}`;
  socket.write(body === undefined ? `GET ${path} ${head}\r\n` : `POST ${path} ${head}${json}`);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  socket.on("error", reject);
  socket.once("data", (answer: Buffer) => {
    socket.pause();
    resolve(answer);
  });
  const answer = (await promise).toString("latin1");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
  return { status, answer, leave: () => socket.destroy() };
}

/** Appends the most rows that one answer lists, of some length. */
async function fill(configDir: string): Promise<void> {
  const detail = `GET / -> ok:200 ${"é".repeat(900)}`;
  const event = { event_type: "rest_api", host_id: null, viewer_id: null, detail };
  const batch = Array.from({ length: 10_000 }, () => ({ ts: "2026-04-27T10:30:00.123000+00:00", event }));
  const file = new AuditFile(configFiles(configDir).auditLog);
  await file.write((db) => appendRows(db, headOf(readHighWater(db)), batch));
  file.close();
}

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
