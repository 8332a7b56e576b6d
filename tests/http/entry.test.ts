/** Errors of the server, and lines of its log, name the entry of the documentation that says more. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createEntries } from "../../src/help/entries";
import { SVC, temporaryFolder, testServer, usedMs } from "../support";

test("an error of which the documentation has an entry names it beside its words", async () => {
  await using host = await testServer();
  const refused = await fetch(`${host.server.url}/jobs`);
  expect(await refused.json()).toEqual({ error: "unauthorized", help: "T15" });
  expect(refused.headers.get("www-authenticate")).toBe("Bearer");
  const { error, help } = (await (await host.call("/help?topic=T15")).json()) as Record<string, unknown>;
  expect([error, help]).toEqual([undefined, undefined]);
});

test("an error without an entry has no such field, nor does the body of another protocol", async () => {
  await using host = await testServer();
  expect(await (await host.call("/nothing-here")).json()).toEqual({ error: "not found" });
  const unknown = await host.call("/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: "{}",
  });
  expect(await unknown.text()).not.toContain('"help"');
});

test("a line of the log ends with the entry", async () => {
  using folder = temporaryFolder();
  await Bun.write(join(folder.path, "tokens.json"), "{");
  await using child = Bun.spawn([...SVC, "serve", "--port", "0", "--config-dir", folder.path], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, SVC_TOKEN: "a-token-of-the-owner" },
  });
  let said = "";
  for await (const part of child.stderr) {
    said += new TextDecoder().decode(part);
    if (/\(svc help T\d+\)/.test(said)) break;
  }
  expect(said).toMatch(/only the host's own token is in force: .+ \(svc help T1[05]\)\n/);
});

test("a message of any length is looked at in a time in proportion to it", () => {
  const { entryOf } = createEntries();
  // Of the parts of a quote, each begins again and again.
  const began = usedMs();
  for (const part of ["a server already runs on ", "token file ", "the certificate ", "… "])
    entryOf(part.repeat(100_000));
  expect(usedMs() - began).toBeLessThan(2_000);
});
