/**
 * Whatever arrives at the compiled server: requests that are hardly HTTP, bodies that are hardly JSON, bundles that are
 * hardly bundles. It answers or hangs up, lives on, has no bug to log, and changes nothing that it was not to change.
 */
import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { BUNDLED_NAMES } from "../../src/host/config/bundle";
import { installHost } from "../soak/host";
import { TOKEN, until } from "../support";
import { mutatedBytes, mutatedJson, RUNS, seedsIn } from "./inputs";

const host = installHost();
const victim = join(host.path, "victim");
let server: Awaited<ReturnType<typeof host.serve>>;
beforeAll(async () => {
  writeFileSync(victim, "untouched");
  server = await host.serve();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  host[Symbol.dispose]();
});
afterEach(async () => {
  expect((await server.call("/health")).status).toBe(200);
  expect(server.log.text().replace(/^\[info\] .* was taken over into admin_hosts\.db.*\n/m, "")).toBe("");
});

describe("bytes in place of a request are answered, or the connection ends", () => {
  const seeds = seedsIn("http");
  const isAnswered = async (request: Uint8Array) => {
    const answer = await exchange(request);
    expect(answer).toMatch(/^$|^HTTP\/1\.1 (?:[1-4]\d\d|505) /);
    expect(answer).not.toMatch(/\n {4}at |bun:|internal error/);
  };

  test.each(seeds.map(([name, content]) => ({ name, content })))("$name", async ({ content }) => {
    await isAnswered(content);
  });

  test("and what can be made of them", async () => {
    await fc.assert(fc.asyncProperty(mutatedBytes(seeds), isAnswered), RUNS);
  });
});

describe("a body that is no good is refused", () => {
  const seeds = seedsIn("json");
  const path = fc.constantFrom(
    "/execute/check",
    "/jobs/add",
    "/jobs/add_cron",
    "/inspector/samples",
    "/runs/cancel",
  );

  const isAnswered = async (path: string, body: string | Uint8Array) => {
    await statusOf(path, body);
  };

  test("bytes", async () => {
    await fc.assert(fc.asyncProperty(path, mutatedBytes(seeds), isAnswered), RUNS);
  });
  test("JSON", async () => {
    await fc.assert(fc.asyncProperty(path, mutatedJson(seeds), isAnswered), RUNS);
  });
  test("as they are", async () => {
    for (const [, content] of seeds) await isAnswered("/execute/check", content);
  });
});

/**
 * The files of the folder, and what is in its address book: SQLite may write a file of its own anew. The list that svc
 * keeps of its files is left out, which it may be writing under another name.
 */
async function importable(folder: string): Promise<Map<string, string>> {
  const own = /^(?:format\.json|admin_hosts\.db|admin_hosts\.json\.taken-over)/;
  const files = [...contentOf(folder)].filter(([name]) => !own.test(name));
  return new Map([...files, ["admin_hosts.json", JSON.stringify(bookIn(folder))]]);
}

/** All that the address book has, tokens too; also where the server has not taken over yet what came with a bundle. */
function bookIn(folder: string): unknown[] {
  const [file, former] = ["admin_hosts.db", "admin_hosts.json"].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  if (!existsSync(file)) return existsSync(former) ? JSON.parse(readFileSync(former, "utf8")).hosts : [];
  using db = new Database(file, { readonly: true });
  const rows = db.query("SELECT value FROM hosts ORDER BY place").all() as Array<{ readonly value: string }>;
  return rows.map(({ value }) => JSON.parse(value));
}

describe("a bundle that is no good leaves everything as it was", () => {
  const seeds = seedsIn("bundles");
  const isHarmless = async (bundle: string | Uint8Array) => {
    const before = await importable(host.configDir);
    const status = await statusOf("/config/import", bundle);
    const after = await importable(host.configDir);
    if (status !== 200) expect(after).toEqual(before);
    const changed = [...after]
      .filter(([name, content]) => before.get(name) !== content)
      .map(([name]) => name);
    const allowed = (name: string) =>
      BUNDLED_NAMES.some((bundled) => name === bundled || name.startsWith(`${bundled}.bak.`));
    expect(changed.filter((name) => !allowed(name))).toEqual([]);
    expect(readFileSync(victim, "utf8")).toBe("untouched");
  };

  beforeAll(async () => {
    await statusOf("/config/import", "{}");
    // What asks for the address book takes over the file of an earlier svc: that is no change by a bundle.
    for (const [, bundle] of seeds) await statusOf("/config/import", bundle);
    await importable(host.configDir);
    await until("the key that comes with the first row of the log", () =>
      existsSync(join(host.configDir, "audit_key")),
    );
  });
  test("bytes", async () => {
    await fc.assert(fc.asyncProperty(mutatedBytes(seeds), isHarmless), RUNS);
  });
  test("JSON", async () => {
    await fc.assert(fc.asyncProperty(mutatedJson(seeds), isHarmless), RUNS);
  });
});

/** The status that the server answers to a POST of `body`; that it is at fault itself is none. */
async function statusOf(path: string, body: string | Uint8Array): Promise<number> {
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body,
  });
  const answer: unknown = await response.json();
  expect(response.status).toBeLessThan(500);
  if (response.status !== 200) expect(answer).toMatchObject({ error: expect.any(String) });
  return response.status;
}

/** How long the server may think about what it was sent before it is given up; most of it is half a request. */
const PATIENCE_MS = 40;

/** What the server says to `request`, at least its status line; empty when it hangs up, or waits for more. */
function exchange(request: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    let answer = "";
    const end = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(PATIENCE_MS, end);
    socket.on("data", (data) => {
      answer += data;
      if (answer.includes("\r\n")) end();
    });
    socket.once("close", end);
    socket.on("error", end);
    socket.write(request);
  });
}

/** The files in `folder`, but for those that the server writes by itself. */
function contentOf(folder: string): Map<string, string> {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
  const own = /^(audit(\.db|_head)|history\.db)/;
  return new Map(
    names.filter((name) => !own.test(name)).map((name) => [name, readFileSync(join(folder, name), "latin1")]),
  );
}
