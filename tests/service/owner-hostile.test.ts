/** Processes that have the key of a folder, and keep to nothing else: its owner goes on for the others. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { askOwner } from "../../src/client/owner";
import { overview } from "../../src/http/operations";
import { connectToOwner, type OwnerConnection } from "../../src/lib/owner-socket";
import { configFiles } from "../../src/lib/paths";
import { listTokens } from "../../src/trust/operations/tokens";
import { testServer } from "../support";

let host: Awaited<ReturnType<typeof testServer>>;
beforeAll(async () => {
  host = await testServer();
});
afterAll(() => host[Symbol.asyncDispose]());

async function connected(): Promise<OwnerConnection> {
  const connection = await connectToOwner(configFiles(host.configDir).ownerFile);
  if (!connection) throw new Error("no owner");
  return connection;
}

/** How long another process waits for its answer, in milliseconds. */
async function askAside(): Promise<number> {
  const began = performance.now();
  expect((await askOwner(host.configDir, overview, {}))?.answer).toMatchObject({ server: {} });
  return performance.now() - began;
}

const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("the owner ends the connection, and answers others, where a process sends", () => {
  test.each([
    ["what is no JSON", "no JSON"],
    ["no call", '{"x":1}'],
    ["deep JSON", deep(1_000_000)],
    ["deep JSON as a call", `{"call":${deep(1_000_000)}}`],
    ["half of deep JSON", "[".repeat(2_000_000)],
    ["many names", `{${Array.from({ length: 500_000 }, (_, nth) => `"n${nth}":0`).join(",")}}`],
  ])("%s", async (_what, line) => {
    const connection = await connected();
    await connection.send(line);
    await connection.closed;
    await askAside();
  });

  test("a line that is longer than the longest call", async () => {
    const connection = await connected();
    await Promise.all([connection.send(`{"call":"${"x".repeat(80 * 1_048_576)}`), connection.closed]);
    await askAside();
  }, 60_000);
});

test("a call with deep input is refused as one over HTTP is, and no bug", async () => {
  const connection = await connected();
  await connection.send(`{"call":"${overview.name}","input":{"x":${deep(100_000)}}}`);
  const line = await connection.next(1_048_576);
  expect(JSON.parse(line ?? "null")).toMatchObject({ error: { code: "bad_input" } });
});

test("half a line that is held open, and a thousand connections, hold up nobody", async () => {
  const held: OwnerConnection[] = [];
  for (let nth = 0; nth < 1_000; nth++) held.push(await connected());
  for (const one of held.slice(0, 100)) void one.send(`{"call":"${"x".repeat(1_000)}`).catch(() => {});
  expect(await askAside()).toBeLessThan(5_000);
  // What changes the folder, too.
  expect(await askOwner(host.configDir, listTokens, {}).catch(({ code }) => code)).toBeDefined();
  for (const one of held) one.cut();
  await askAside();
}, 120_000);
