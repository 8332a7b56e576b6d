/** The official conformance suite against a fixture on svc's endpoint, and what of it needs no fixture against svc itself. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TOKEN, temporaryFolder, testServer } from "../../support";
import { serveEverything } from "./everything";

setDefaultTimeout(600_000);

const SUITE = join(import.meta.dir, "../../../node_modules/@modelcontextprotocol/conformance");

/** The scenarios that a revision requires of a server. */
const requiredOf = (revision: string): string[] =>
  (
    Bun.YAML.parse(readFileSync(join(SUITE, "requirements", `${revision}.yaml`), "utf8")) as {
      server: string[];
    }
  ).server;

async function suite(...flags: string[]) {
  using folder = temporaryFolder();
  const child = Bun.spawn([process.execPath, join(SUITE, "dist/index.js"), "server", ...flags], {
    cwd: folder.path,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const text = await child.stdout.text();
  return { text, exitCode: await child.exited };
}

/** The scenarios of a run, and whether each has passed. */
async function run(...flags: string[]): Promise<ReadonlyMap<string, boolean>> {
  const { text } = await suite(...flags);
  const lines = text.matchAll(/^([✓✗]) ([\w-]+): \d+ passed, \d+ failed$/gm);
  return new Map(Array.from(lines, ([, mark, name = ""]) => [name, mark === "✓"]));
}

/** Those of `names` that did not pass, or were not run. */
const failing = (results: ReadonlyMap<string, boolean>, names: readonly string[]) =>
  names.filter((name) => results.get(name) !== true);

/** What a server asks its client while a call goes on needs a session of its own. svc asks for nothing, and keeps none. */
const ASKING = [
  "tools-call-sampling",
  "tools-call-elicitation",
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
];

describe("the endpoint of svc passes every scenario that is required", () => {
  test("by 2026-07-28", async () => {
    using fixture = serveEverything();
    const results = await run("--url", `${fixture.url}/mcp`, "--requirements", "2026-07-28");
    expect(failing(results, requiredOf("2026-07-28"))).toEqual([]);
    // Not required yet.
    expect(results.get("http-header-validation")).toBe(true);
  });

  test("by 2025-11-25, but for those that ask the client while a call goes on", async () => {
    using fixture = serveEverything();
    const results = await run("--url", `${fixture.url}/mcp`, "--requirements", "2025-11-25");
    expect(failing(results, requiredOf("2025-11-25"))).toEqual(ASKING);
  });

  test("by 2025-11-25, those too, where the same server has a session for each client", async () => {
    using fixture = serveEverything();
    const results = await run("--url", `${fixture.url}/session`, "--requirements", "2025-11-25");
    expect(failing(results, requiredOf("2025-11-25"))).toEqual([]);
  });
});

test("svc itself passes what needs no tool of the suite's own, in both revisions", async () => {
  await using host = await testServer();
  // The suite has no token to send.
  await using proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${TOKEN}`);
      const { pathname } = new URL(request.url);
      const body = request.method === "POST" ? await request.text() : undefined;
      return fetch(host.server.url + pathname, { method: request.method, headers, ...(body && { body }) });
    },
  });
  const own = ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams"];
  const url = `http://127.0.0.1:${proxy.port}/mcp`;
  const one = (scenario: string, revision: string) =>
    suite("--url", url, "--scenario", scenario, "--spec-version", revision);
  for (const scenario of own) {
    const { exitCode, text } = await one(scenario, "2025-11-25");
    expect([scenario, exitCode, text]).toEqual([scenario, 0, expect.stringContaining("0 failed")]);
  }
  expect((await one("tools-list", "2026-07-28")).exitCode).toBe(0);
});
