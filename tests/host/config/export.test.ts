/** Exporting the configuration: the allowlist and nothing else, and the same again after an import. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { ALLOWLIST, BUNDLED_NAMES } from "../../../src/host/config/bundle";
import { exportBundle } from "../../../src/host/config/folder";
import { importBundle } from "../../../src/host/config/import";
import { post, testServer } from "../../support";
import { bundleOf, host } from "./support";

const NOW = new Date("2026-11-21T08:00:00Z");

test("a bundle holds the files of the allowlist that are there, and no other", () => {
  using machine = host({
    "admin_hosts.json": '{"hosts":[]}',
    viewer_id: "mine\n",
    "audit.db": "SQLite format 3",
    rest_token: "t",
    "notes.json": "{}",
  });
  const { bundle, leftOut } = exportBundle(machine.config, NOW);
  expect(bundle).toEqual({
    manifest: {
      version: 1,
      exported_at: "2026-11-21T08:00:00.000Z",
      platform: expect.any(String),
      source_root: machine.config,
    },
    files: {
      "admin_hosts.json": { format: "json", content: { hosts: [] } },
      viewer_id: { format: "text", content: "mine\n" },
    },
  });
  expect(leftOut).toEqual([]);
});

test("what is not JSON, not UTF-8, not a file or leads out of the folder is skipped and reported", () => {
  using machine = host({ "admin_hosts.json": "{", "known_hosts.json": "" });
  Bun.write(join(machine.config, "viewer_id"), new Uint8Array([0xff, 0xfe]));
  mkdirSync(join(machine.config, "remote_host_id"));
  symlinkSync(machine.victim, join(machine.config, "host_fingerprint"));
  const { bundle, leftOut } = exportBundle(machine.config, NOW);
  expect(bundle.files).toEqual({});
  expect(leftOut).toEqual([
    { name: "admin_hosts.json", reason: "it is not JSON in UTF-8" },
    { name: "known_hosts.json", reason: "it is not JSON in UTF-8" },
    { name: "remote_host_id", reason: "it is not a regular file" },
    { name: "viewer_id", reason: "it is not text in UTF-8" },
    { name: "host_fingerprint", reason: "it is a link that leads to no file of the folder" },
  ]);
});

test("JSON that no import would take is left out, rather than changed or fatal", () => {
  using machine = host({
    "address_book.json": '{"entries":[1e400]}',
    "known_hosts.json": "[".repeat(100_000) + "]".repeat(100_000),
    viewer_id: "mine",
  });
  const { bundle, leftOut } = exportBundle(machine.config, NOW);
  expect(Object.keys(bundle.files)).toEqual(["viewer_id"]);
  expect(leftOut).toEqual([
    {
      name: "address_book.json",
      reason: "it is not JSON that a bundle may carry: expected numbers below 1e308",
    },
    {
      name: "known_hosts.json",
      reason: "it is not JSON that a bundle may carry: expected at most 200 levels of nesting",
    },
  ]);
});

test("what was exported, imported into an empty folder and exported again has the same files", async () => {
  const content = (name: (typeof BUNDLED_NAMES)[number]) =>
    ALLOWLIST[name] === "json" ? fc.jsonValue({ maxDepth: 5 }) : fc.string({ unit: "binary" });
  const files = fc.record(Object.fromEntries(BUNDLED_NAMES.map((name) => [name, content(name)])), {
    requiredKeys: [],
  });
  const property = fc.asyncProperty(files, async (files) => {
    using origin = host();
    using copy = host();
    await importBundle(origin.config, bundleOf(files));
    const first = JSON.stringify(exportBundle(origin.config, NOW).bundle);
    await importBundle(copy.config, JSON.parse(first));
    const second = exportBundle(copy.config, NOW).bundle;
    expect(JSON.stringify(second.files)).toBe(JSON.stringify(JSON.parse(first).files));
    expect(Object.keys(second.files).sort()).toEqual(Object.keys(files).sort());
  });
  await fc.assert(property, { numRuns: 60 });
  // Every file is flushed.
}, 180_000);

test("over HTTP it is a POST without a body", async () => {
  await using server = await testServer();
  await Bun.write(join(server.configDir, "viewer_id"), "mine");
  for (const init of [{ method: "POST" }, post({})]) {
    const response = await server.call("/config/export", init);
    expect(await response.json()).toMatchObject({
      files: { viewer_id: { format: "text", content: "mine" } },
    });
  }
});

test("the record of a run that exported has no content of any file", async () => {
  await using server = await testServer();
  const hosts = { hosts: [{ label: "lab", base_url: "http://10.0.0.5:9939", token: "hunter2-token" }] };
  await Bun.write(join(server.configDir, "admin_hosts.json"), JSON.stringify(hosts));
  const answer = await (await server.call("/execute", post({ actions: [["AC_config_export"]] }))).text();
  expect(answer).toContain("hunter2-token");
  const kept = await (await server.call(`/runs/${JSON.parse(answer).run_id}`)).text();
  expect(kept).toContain('"files":"***"');
  expect(kept).not.toContain("hunter2-token");
});
