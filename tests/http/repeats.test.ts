/** Requests with an `Idempotency-Key`: each is done once, whatever happens meanwhile. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Exchange } from "../../src/http/exchange";
import { createFirstAnswers } from "../../src/http/idempotency";
import { createRepeats, keyIn } from "../../src/http/repeats";
import { silentLog } from "../../src/lib/log";
import { movableClocks, post, SVC, temporaryFolder, testServer, until } from "../support";

const keyed = (key: string, body: unknown): RequestInit => {
  const init = post(body);
  return { ...init, headers: { ...init.headers, "idempotency-key": `"${key}"` } };
};
const KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324";
/** A run that another client has. */
const GOING = {
  ...{ source_type: "rest", source_id: "", token: null, script_path: "", commands: [] },
  timeout_s: 60,
};
const list = (seconds: number) => ({ actions: [["AC_sleep", [seconds]]] });

test("a body that is nested deep is refused, with a key and without", async () => {
  await using host = await testServer();
  const deep = `{"actions":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  for (const headers of [undefined, { "idempotency-key": `"${KEY}"` }]) {
    const response = await host.call("/execute", { method: "POST", headers, body: deep });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: "body: expected at most 500 levels of nesting" },
    ]);
  }
});

describe("a repeat", () => {
  test("gets the first answer, and nothing runs again", async () => {
    await using host = await testServer();
    const first = await host.call("/execute", keyed(KEY, list(0)));
    const second = await host.call("/execute", keyed(KEY, list(0)));
    expect(await second.text()).toBe(await first.text());
    expect([first, second].map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([null, "true"]);
    expect(second.headers.get("content-type")).toBe(first.headers.get("content-type") ?? "");
    expect((await host.service.runs()).list().length).toBe(1);
  });

  test("of what was answered with 202 gets the same run and its place", async () => {
    await using host = await testServer();
    const answers = [1, 2].map(() => () => host.call("/execute?wait=0", keyed(KEY, list(0))));
    const [first, second] = [await answers[0]?.(), await answers[1]?.()];
    expect([second?.status, second?.headers.get("location")]).toEqual([
      202,
      first?.headers.get("location") ?? "",
    ]);
    expect((await host.service.runs()).list().length).toBe(1);
  });

  test("of a broadcast gets its lines", async () => {
    await using host = await testServer();
    await host.call(
      "/admin/hosts/add",
      post({ label: "a", base_url: "http://127.0.0.1:9", token: "not-a-token-of-it" }),
    );
    const lines = async () =>
      (await host.call("/admin/broadcast", keyed(KEY, { ...list(0), on: "all" }))).text();
    const first = await lines();
    expect(first).toContain('"label":"a"');
    expect(await lines()).toBe(first);
  });

  test("of a failure after it was on record gets that failure; of one before it is tried again", async () => {
    await using host = await testServer();
    const stop = () => host.call("/sync/stop", keyed(KEY, { id: "none" }));
    const answers = [await stop(), await stop()];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(answers.map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([null, "true"]);
    const bad = await host.call("/admin/hosts/add", keyed(`${KEY}-2`, { label: "" }));
    expect(bad.status).toBe(400);
    const other = { label: "c", base_url: "http://127.0.0.1:9", token: "a-token-of-it" };
    expect((await host.call("/admin/hosts/add", keyed(`${KEY}-2`, other))).status).toBe(200);
  });

  test("of what was refused because too much is in use is tried again", async () => {
    await using host = await testServer();
    const runs = await host.service.runs();
    const going = Array.from({ length: 256 }, (_, nth) => runs.begin({ run_id: `run-${nth}`, ...GOING }));
    expect((await host.call("/execute", keyed(KEY, list(0)))).status).toBe(503);
    expect((await host.call("/execute?wait=0", keyed(`${KEY}-2`, list(0)))).status).toBe(503);
    for (const run of going) run.end("ok", null);
    expect((await host.call("/execute", keyed(KEY, list(0)))).status).toBe(200);
    expect((await host.call("/execute?wait=0", keyed(`${KEY}-2`, list(0)))).status).toBe(202);
  });

  test("of a renewal renews again: no token is kept in an answer", async () => {
    await using host = await testServer();
    const renewals = [1, 2].map(() => () => host.call("/token/renew", keyed(KEY, {})));
    for (const renew of renewals) expect((await renew()).headers.get("idempotency-replayed")).toBe(null);
    expect(existsSync(join(host.configDir, "idempotency.db"))).toBe(false);
  });

  test("while the first one has no answer is refused, and so is another request with its key", async () => {
    await using host = await testServer();
    const first = host.call("/execute", keyed(KEY, list(60)));
    const runs = await host.service.runs();
    const { run_id } = await until("the run", () => runs.list()[0]);
    expect((await host.call("/execute", keyed(KEY, list(60)))).status).toBe(409);
    expect((await host.call("/execute", keyed(KEY, list(61)))).status).toBe(422);
    expect((await host.call("/execute?wait=0", keyed(KEY, list(60)))).status).toBe(422);
    runs.cancel(run_id, "over");
    const answer = await (await first).text();
    expect(await (await host.call("/execute", keyed(KEY, list(60)))).text()).toBe(answer);
    expect(runs.list().length).toBe(1);
  });

  test("of two at once, one is done", async () => {
    await using host = await testServer();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => host.call("/execute", keyed(KEY, list(0.05)))),
    );
    expect(all.map(({ status }) => status).filter((status) => status !== 409 && status !== 200)).toEqual([]);
    expect((await host.service.runs()).list().length).toBe(1);
  });

  test("of a question is a question", async () => {
    await using host = await testServer();
    const check = () => host.call("/execute/check", keyed(KEY, list(0)));
    expect([await check(), await check()].map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([
      null,
      null,
    ]);
    expect(existsSync(join(host.configDir, "idempotency.db"))).toBe(false);
  });

  test("whose answer was too large to be kept is refused, not done again", async () => {
    await using host = await testServer();
    const set = ["AC_set_var", { name: "x", value: "y".repeat(2_000) }];
    const big = { actions: [["AC_loop", { times: 1_000, body: [set] }]] };
    const first = await host.call("/execute", keyed(KEY, big));
    expect((await first.text()).length).toBeGreaterThan(1_048_576);
    const again = await host.call("/execute", keyed(KEY, big));
    expect([again.status, await again.json()]).toMatchObject([
      409,
      { error: expect.stringContaining("too large") },
    ]);
    expect((await host.service.runs()).list().length).toBe(1);
  });
});

describe("an answer in pieces", () => {
  const source = (pull: (controller: ReadableStreamDefaultController<Uint8Array>) => void | Promise<void>) =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode("{}\n")),
        pull,
      }),
    );
  /** What a repeat is answered after `response` went through the answers and `use` was made of it. */
  async function answerAfter(
    response: Response,
    use: (body: ReadableStream<Uint8Array>) => Promise<unknown>,
  ) {
    using folder = temporaryFolder();
    const repeats = createRepeats(() => join(folder.path, "idempotency.db"), silentLog);
    const exchange = { grant: null, announce: async () => {} } as unknown as Exchange;
    const asked = { name: "x", key: KEY, request: "x" };
    const sent = await repeats.once(exchange, asked, async (keeper) => keeper.lines(response));
    if (!sent.body) throw new Error("no body");
    await use(sent.body).catch(() => {});
    const again = await repeats.once(exchange, asked, () => new Response("done again"));
    repeats.close();
    return again.text();
  }

  test("that fails is interrupted", async () => {
    const fails = source((controller) => controller.error(new Error("gone")));
    expect(await answerAfter(fails, (body) => new Response(body).text())).toContain("interrupted: ");
  });

  test("that nobody reads to its end is interrupted, also while a piece of it is awaited", async () => {
    const leave = async (body: ReadableStream<Uint8Array>) => {
      const reader = body.getReader();
      await reader.read();
      const next = reader.read();
      await reader.cancel("enough");
      await next;
    };
    expect(
      await answerAfter(
        source(() => new Promise(() => {})),
        leave,
      ),
    ).toContain("interrupted: ");
  });

  test("is limited in bytes, not in characters", async () => {
    const wide = new Response("\u20ac".repeat(400_000));
    expect(await answerAfter(wide, (body) => new Response(body).text())).toContain("too large");
  });
});

test("a request that died with svc is interrupted, and stays so", async () => {
  using folder = temporaryFolder();
  const start = async () => {
    const child = Bun.spawn([...SVC, "serve", "--port", "0", "--json", "--config-dir", folder.path], {
      env: { ...process.env, SVC_TOKEN: "a-token-that-is-long-enough" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const { value } = await child.stdout.getReader().read();
    const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value));
    const headers = { authorization: "Bearer a-token-that-is-long-enough" };
    const call = (path: string, init: RequestInit = {}) =>
      fetch(url + path, { ...init, headers: { ...init.headers, ...headers } });
    return { child, call };
  };
  const first = await start();
  const done = await (await first.call("/execute", keyed(`${KEY}-done`, list(0)))).text();
  void first.call("/execute", keyed(KEY, list(60))).catch(() => {});
  await until("the run", async () => (await (await first.call("/runs")).text()).includes('"running"'));
  first.child.kill("SIGKILL");
  await first.child.exited;

  const second = await start();
  for (const _ of [1, 2]) {
    const again = await second.call("/execute", keyed(KEY, list(60)));
    expect([again.status, await again.json()]).toMatchObject([
      409,
      { error: expect.stringMatching(/^interrupted: /) },
    ]);
  }
  expect(await (await second.call("/execute", keyed(`${KEY}-done`, list(0)))).text()).toBe(done);
  second.child.kill();
  await second.child.exited;
});

test("a key is a string in quotes, or bare where it can be, that is hard to guess", () => {
  expect(keyIn(null)).toBe(undefined);
  expect([keyIn(`"${KEY}"`), keyIn(KEY)]).toEqual([KEY, KEY]);
  expect(keyIn('"a \\"quoted\\" key of some length"')).toBe('a "quoted" key of some length');
  const bad = [
    "",
    '""',
    '"short"',
    `"${KEY}`,
    `"${KEY}", "${KEY}"`,
    `"${"x".repeat(256)}"`,
    `"${KEY}\\x"`,
    `"${KEY}";a=1`,
  ];
  for (const header of bad)
    expect(() => keyIn(header)).toThrow("Idempotency-Key: expected 16 to 255 characters");
});

test("the file has neither keys nor answers nor what was asked", async () => {
  await using host = await testServer();
  const body = { label: "c", base_url: "http://127.0.0.1:9", token: "a-token-of-another-host" };
  await host.call("/admin/hosts/add", keyed(KEY, body));
  const run = await (
    await host.call(
      "/execute",
      keyed(`${KEY}-2`, { actions: [["AC_set_var", { name: "x", value: "a-secret-value" }]] }),
    )
  ).text();
  expect(run).toContain("a-secret-value");
  const files = readdirSync(host.configDir).filter((name) => name.startsWith("idempotency.db"));
  const bytes = files.map((name) => readFileSync(join(host.configDir, name), "latin1")).join("");
  expect(bytes.length).toBeGreaterThan(4_096);
  expect(
    ["a-secret-value", "a-token-of-another-host", KEY, "AC_set_var"].filter((text) => bytes.includes(text)),
  ).toEqual([]);
});

test("what is older than a day is found by an index", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "idempotency.db");
  const store = createFirstAnswers(path);
  store.begin({ name: null }, KEY, "x");
  store.close();
  using db = new Database(path);
  const [plan] = db.query("EXPLAIN QUERY PLAN DELETE FROM requests WHERE at < 1").all();
  expect(plan).toMatchObject({ detail: expect.stringMatching(/^SEARCH .*requests_at/) });
});

describe("the file", () => {
  const opened = (folder: { path: string }, options = {}) =>
    createFirstAnswers(join(folder.path, "idempotency.db"), options);
  const answer = (body: string) => ({ status: 200, headers: {}, body });

  test("keeps an answer for a day, whoever opens it, and each token its own", () => {
    using folder = temporaryFolder();
    let now = 1e12;
    const clock = { now: () => now, oldest: (keptMs: number) => now - keptMs };
    const first = opened(folder, clock);
    const found = first.begin({ name: "a", since: 1 }, KEY, "x");
    if (found.kind !== "new") throw new Error(found.kind);
    found.end(answer("{}"));
    first.close();
    const second = opened(folder, clock);
    expect(second.begin({ name: "a", since: 1 }, KEY, "x")).toEqual({
      kind: "answered",
      answer: answer("{}"),
    });
    expect(second.begin({ name: "a", since: 2 }, KEY, "x").kind).toBe("new");
    expect(second.begin({ name: null }, KEY, "x").kind).toBe("new");
    now += 86_400_001;
    expect(second.begin({ name: "a", since: 1 }, KEY, "x").kind).toBe("new");
    second.close();
  });

  test("keeps an answer of more than a day ago for the first hour of a process: its clock may be ahead", () => {
    using folder = temporaryFolder();
    const begun = (now: number, most = { rows: 10, bytes: 2_000 }) => {
      const store = opened(folder, { now: () => now, most });
      const found = store.begin({ name: null }, `${KEY}${most.rows}`, "x");
      if (found.kind === "new") found.end(answer("{}"));
      store.close();
      return found.kind;
    };
    const now = Date.now();
    expect([begun(now), begun(now + 400 * 86_400_000)]).toEqual(["new", "answered"]);
    // But for one for which there is no room otherwise.
    expect(begun(now + 400 * 86_400_000, { rows: 1, bytes: 2_000 })).toBe("new");
  });

  test("is bounded: a token leaves some of it to others, and what is kept stays", () => {
    using folder = temporaryFolder();
    const store = opened(folder, { most: { rows: 10, bytes: 2_000 } });
    const begin = (name: string | null, nth: number) => store.begin({ name }, `${KEY}-${nth}`, "x");
    const kinds = Array.from({ length: 10 }, (_, nth) => begin("a", nth).kind);
    expect(kinds.filter((kind) => kind === "new").length).toBe(5);
    expect(begin("b", 0).kind).toBe("new");
    expect(begin(null, 0).kind).toBe("new");
    for (const size of [400, 400]) {
      const found = begin(null, size + Math.random());
      if (found.kind === "new") found.end(answer("y".repeat(size)));
    }
    const large = begin(null, 99);
    if (large.kind !== "new") throw new Error(large.kind);
    large.end(answer("y".repeat(1_900)));
    expect(begin(null, 99)).toEqual({ kind: "large", status: 200 });
    store.close();
  });
});

test("a clock that jumps ahead by days does not begin a second time what is under way, or was done", () => {
  using folder = temporaryFolder();
  using clocks = movableClocks();
  const answers = createFirstAnswers(join(folder.path, "idempotency.db"));
  try {
    const asker = { name: null };
    expect(answers.begin(asker, KEY, "going")).toMatchObject({ kind: "new" });
    const done = answers.begin(asker, `${KEY}-2`, "done");
    if (done.kind === "new") done.end({ status: 200, headers: {}, body: "{}" });
    clocks.set(400 * 86_400_000);
    expect(answers.begin(asker, KEY, "going")).toEqual({ kind: "running" });
    expect(answers.begin(asker, `${KEY}-2`, "done")).toMatchObject({ kind: "answered" });
  } finally {
    answers.close();
  }
});
