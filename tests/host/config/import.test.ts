/** Importing a bundle: refused whole, or written file by file, each with its backup. */
import { describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { mergeAddressBooks } from "../../../src/desk/fleet/address-book";
import { BUNDLED_NAMES } from "../../../src/host/config/bundle";
import { importBundle } from "../../../src/host/config/import";
import { Failure } from "../../../src/lib/errors";
import foreign from "../../fixtures/bundle-foreign.json";
import { post, testServer } from "../../support";
import { hostileBundles } from "./hostile";
import { bundleOf, host, treeHash } from "./support";

const NOW = new Date("2026-11-21T08:00:00Z");
const STAMP = NOW.getTime() / 1_000;

/** The failure that `work` ends in. */
async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const thrown = await work.then(
    () => undefined,
    (error) => error,
  );
  if (thrown instanceof Failure) return thrown;
  throw new Error(`expected a failure but found ${thrown}`);
}

describe("a hostile bundle is refused and nothing changes:", () => {
  test("there are at least sixty", () => expect(hostileBundles.length).toBeGreaterThanOrEqual(60));

  for (const [fault, text] of hostileBundles) {
    test(fault, async () => {
      using machine = host({ viewer_id: "mine", "admin_hosts.json": "{}", rest_token: "t".repeat(32) });
      const before = treeHash(machine.root);
      const failure = await failureOf(importBundle(machine.config, JSON.parse(text)));
      expect(failure.code).toBe("rejected");
      expect(failure.message).toStartWith("bundle rejected: ");
      expect(failure.message).not.toContain("mallory");
      expect(treeHash(machine.root)).toBe(before);
    });
  }

  test("any name that is not in the allowlist", async () => {
    using machine = host({ viewer_id: "mine" });
    const before = treeHash(machine.root);
    const part = fc.constantFrom(
      "..",
      ".",
      "/",
      "\\",
      "\0",
      "viewer_id",
      "admin_hosts.json",
      "%2e",
      " ",
      ":",
    );
    const name = fc.oneof(
      fc.array(part, { maxLength: 5 }).map((parts) => parts.join("")),
      fc.string(),
    );
    const property = fc.asyncProperty(name, async (name) => {
      fc.pre(!BUNDLED_NAMES.some((allowed) => allowed === name));
      const files = { ...bundleOf({ viewer_id: "mallory" }).files };
      Object.defineProperty(files, name, { value: { format: "text", content: "x" }, enumerable: true });
      const bundle = { ...bundleOf({}), files };
      expect((await failureOf(importBundle(machine.config, bundle))).code).toBe("rejected");
    });
    await fc.assert(property, { numRuns: 300 });
    expect(treeHash(machine.root)).toBe(before);
  });

  test("every offence is listed", async () => {
    using machine = host();
    const bundle = {
      manifest: { version: 7 },
      files: { "../x": {}, "a/b": {}, viewer_id: { format: "text" } },
    };
    const { message, more } = await failureOf(importBundle(machine.config, bundle));
    expect(message).toBe(
      "bundle rejected: manifest.version: expected 1 but found 7, of a newer svc; " +
        'files["../x"]: not a file that a bundle may carry; files["a/b"]: not a file that a bundle may carry; ' +
        'files["viewer_id"].content: missing',
    );
    expect(more.offences).toHaveLength(4);
  });
});

test("a bundle made elsewhere is imported", async () => {
  using machine = host();
  const report = await importBundle(machine.config, foreign);
  expect(report.written).toEqual(["admin_hosts.json", "trusted_viewers.json", "viewer_id"]);
  expect(report.backups).toEqual({});
  expect(machine.read("viewer_id")).toBe("viewer-123");
  expect(JSON.parse(machine.read("admin_hosts.json"))).toEqual(foreign.files["admin_hosts.json"].content);
  expect(statSync(join(machine.config, "admin_hosts.json")).mode & 0o777).toBe(0o600);
});

test("a file that is replaced is kept as <name>.bak.<unix time>, and its mode stays", async () => {
  using machine = host({ viewer_id: "mine" });
  chmodSync(join(machine.config, "viewer_id"), 0o640);
  const report = await importBundle(machine.config, bundleOf({ viewer_id: "theirs" }), { now: NOW });
  expect(report.backups).toEqual({ viewer_id: `viewer_id.bak.${STAMP}` });
  expect(machine.read(`viewer_id.bak.${STAMP}`)).toBe("mine");
  expect(machine.read("viewer_id")).toBe("theirs");
  expect(statSync(join(machine.config, "viewer_id")).mode & 0o777).toBe(0o640);
});

test("two imports in one second keep both backups", async () => {
  using machine = host({ viewer_id: "first" });
  await Promise.all(
    ["second", "third"].map((id) => importBundle(machine.config, bundleOf({ viewer_id: id }), { now: NOW })),
  );
  const kept = machine.names().filter((name) => name.startsWith("viewer_id"));
  expect(kept).toEqual(["viewer_id", `viewer_id.bak.${STAMP}`, `viewer_id.bak.${STAMP + 1}`]);
  expect(kept.map(machine.read).sort()).toEqual(["first", "second", "third"]);
});

test("a file that says the same already is not rewritten", async () => {
  using machine = host({ "admin_hosts.json": '{"hosts":[]}', viewer_id: "mine" });
  const before = treeHash(machine.root);
  const report = await importBundle(
    machine.config,
    bundleOf({ "admin_hosts.json": { hosts: [] }, viewer_id: "mine" }),
  );
  expect(report).toMatchObject({ written: [], unchanged: ["admin_hosts.json", "viewer_id"], backups: {} });
  expect(treeHash(machine.root)).toBe(before);
});

test("a dry run changes nothing and says what the import then says", async () => {
  using machine = host({ "admin_hosts.json": '{"hosts":[]}', viewer_id: "viewer-123" });
  const before = treeHash(machine.root);
  const dry = await importBundle(machine.config, foreign, { dryRun: true });
  expect(treeHash(machine.root)).toBe(before);
  expect(dry.files.map(({ name, change }) => [name, change])).toEqual([
    ["admin_hosts.json", "changed"],
    ["trusted_viewers.json", "new"],
    ["viewer_id", "unchanged"],
  ]);
  const real = await importBundle(machine.config, foreign);
  expect({ ...real, dry_run: true, backups: {} }).toEqual({ ...dry, backups: {} });
});

test("an entry in another format than the allowlist's is skipped and reported", async () => {
  using machine = host();
  const bundle = bundleOf({ viewer_id: "theirs" });
  const files = { ...bundle.files, remote_host_id: { format: "json", content: { id: 1 } } };
  const report = await importBundle(machine.config, { ...bundle, files });
  expect(report).toMatchObject({ written: ["viewer_id"], skipped: ["remote_host_id"] });
  expect(report.warnings[0]).toBe("remote_host_id is skipped: its format is json, but this file is text");
  expect(existsSync(join(machine.config, "remote_host_id"))).toBe(false);
});

test("only the files that are asked for are written", async () => {
  using machine = host();
  const report = await importBundle(machine.config, foreign, { only: ["viewer_id"] });
  expect(report.files.map(({ name }) => name)).toEqual(["viewer_id"]);
  expect(machine.names()).toEqual(["run", "viewer_id"]);
  const failure = await failureOf(importBundle(machine.config, foreign, { only: ["known_hosts.json"] }));
  expect(failure.message).toBe("only: not in the bundle: known_hosts.json");
});

test("a file that is nested beyond sense is replaced, without a diff", async () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  using machine = host({ "known_hosts.json": deep });
  const report = await importBundle(machine.config, bundleOf({ "known_hosts.json": {} }), { now: NOW });
  expect(report.files).toEqual([
    {
      name: "known_hosts.json",
      change: "changed",
      diff: null,
      note: "it was not JSON that a bundle may carry: expected at most 200 levels of nesting",
    },
  ]);
  expect(machine.read(`known_hosts.json.bak.${STAMP}`)).toBe(deep);
});

test("identity files come with a warning that two machines share an identity", async () => {
  using machine = host();
  const { warnings } = await importBundle(
    machine.config,
    bundleOf({ host_fingerprint: "aa", viewer_id: "v" }),
  );
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain("host_fingerprint, viewer_id: this machine now has the identity");
  expect((await importBundle(machine.config, bundleOf({ "known_hosts.json": {} }))).warnings).toEqual([]);
});

describe("a symbolic link in place of a file", () => {
  test("is replaced, and what it leads to outside stays as it is", async () => {
    using machine = host();
    symlinkSync(machine.victim, join(machine.config, "viewer_id"));
    const report = await importBundle(machine.config, bundleOf({ viewer_id: "theirs" }), { now: NOW });
    expect(await Bun.file(machine.victim).text()).toBe("untouched");
    expect(machine.read("viewer_id")).toBe("theirs");
    expect(statSync(join(machine.config, "viewer_id")).mode & 0o777).toBe(0o600);
    expect(readlinkSync(join(machine.config, `viewer_id.bak.${STAMP}`))).toBe(machine.victim);
    expect(JSON.stringify(report)).not.toContain("untouched");
  });

  test("that leads nowhere, or in a circle, is replaced as well", async () => {
    using machine = host();
    symlinkSync("nowhere", join(machine.config, "viewer_id"));
    symlinkSync("remote_host_id", join(machine.config, "remote_host_id"));
    const report = await importBundle(machine.config, bundleOf({ viewer_id: "v", remote_host_id: "r" }));
    expect(report.written).toEqual(["viewer_id", "remote_host_id"]);
    expect([machine.read("viewer_id"), machine.read("remote_host_id")]).toEqual(["v", "r"]);
  });
});

test("a folder in place of a file is a conflict, and nothing is written", async () => {
  using machine = host();
  mkdirSync(join(machine.config, "viewer_id"));
  const before = treeHash(machine.root);
  const bundle = bundleOf({ "admin_hosts.json": {}, viewer_id: "theirs" });
  expect((await failureOf(importBundle(machine.config, bundle))).code).toBe("conflict");
  expect(treeHash(machine.root)).toBe(before);
});

describe("when a write fails midway", () => {
  const OLD = { "admin_hosts.json": '{"hosts":[]}', "known_hosts.json": "{}", viewer_id: "mine" };
  const NEW = bundleOf({
    "admin_hosts.json": { hosts: [1] },
    "address_book.json": { entries: [] },
    "known_hosts.json": { a: 1 },
    viewer_id: "theirs",
  });

  test("all files are restored and the report says so", async () => {
    using machine = host(OLD);
    const before = treeHash(machine.root);
    const rename = fs.renameSync;
    let renames = 0;
    using _spy = spyOn(fs, "renameSync").mockImplementation((from, to) => {
      renames++;
      if (renames === 4) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      rename(from, to);
    });
    const failure = await failureOf(importBundle(machine.config, NEW));
    expect(failure.code).toBe("unavailable");
    expect(failure.message).toBe("import failed at viewer_id (ENOSPC): all files were restored");
    expect(failure.more).toEqual({
      restored: ["known_hosts.json", "address_book.json", "admin_hosts.json"],
      not_restored: [],
    });
    expect(treeHash(machine.root)).toBe(before);
  });

  test("a file that cannot be restored is named, and its backup is there", async () => {
    using machine = host(OLD);
    const rename = fs.renameSync;
    let renames = 0;
    using _spy = spyOn(fs, "renameSync").mockImplementation((from, to) => {
      renames++;
      if (renames === 3 || String(from).includes("admin_hosts.json.bak")) {
        throw Object.assign(new Error("input/output error"), { code: "EIO" });
      }
      rename(from, to);
    });
    const failure = await failureOf(importBundle(machine.config, NEW, { now: NOW }));
    expect(failure.more).toEqual({
      restored: ["address_book.json"],
      not_restored: ["admin_hosts.json"],
    });
    expect(failure.message).toContain("restored from their backups: admin_hosts.json");
    expect(machine.read(`admin_hosts.json.bak.${STAMP}`)).toBe('{"hosts":[]}');
  });
});

test("a backup that cannot be made leaves everything as it was", async () => {
  using machine = host({ "admin_hosts.json": "{}", viewer_id: "mine" });
  const before = treeHash(machine.root);
  const link = fs.linkSync;
  using _spy = spyOn(fs, "linkSync").mockImplementation((from, to) => {
    // Somebody else's file has come by that name.
    if (String(to).includes("viewer_id")) writeFileSync(to, "theirs too");
    link(from, to);
  });
  const bundle = bundleOf({ "admin_hosts.json": { hosts: [] }, viewer_id: "theirs" });
  const failure = await failureOf(importBundle(machine.config, bundle, { now: NOW }));
  expect(failure.message).toContain("import failed at viewer_id (EEXIST)");
  expect(machine.read(`viewer_id.bak.${STAMP}`)).toBe("theirs too");
  fs.rmSync(join(machine.config, `viewer_id.bak.${STAMP}`));
  expect(treeHash(machine.root)).toBe(before);
});

test("where there are no hard links, a backup is a copy", async () => {
  using machine = host({ viewer_id: "mine" });
  using _spy = spyOn(fs, "linkSync").mockImplementation(() => {
    throw Object.assign(new Error("operation not permitted"), { code: "EPERM" });
  });
  await importBundle(machine.config, bundleOf({ viewer_id: "theirs" }), { now: NOW });
  expect([machine.read("viewer_id"), machine.read(`viewer_id.bak.${STAMP}`)]).toEqual(["theirs", "mine"]);
});

describe("over HTTP", () => {
  test("the body is the bundle, and the other fields are in the query", async () => {
    await using host = await testServer();
    const dry = await host.call("/config/import?dry_run=true&only=viewer_id", post(foreign));
    expect(await dry.json()).toMatchObject({ dry_run: true, written: ["viewer_id"] });
    expect(existsSync(join(host.configDir, "viewer_id"))).toBe(false);
    const two = await host.call(
      "/config/import?dry_run=1&only=viewer_id&only=admin_hosts.json",
      post(foreign),
    );
    expect(await two.json()).toMatchObject({ written: ["admin_hosts.json", "viewer_id"] });
    const real = await host.call("/config/import", post(foreign));
    expect(await real.json()).toMatchObject({
      written: ["admin_hosts.json", "trusted_viewers.json", "viewer_id"],
      skipped: [],
      backups: {},
    });
  });

  test("a bundle that is refused is a 400 that begins with `bundle rejected`", async () => {
    await using host = await testServer();
    const response = await host.call("/config/import", post(bundleOf({ "../x": "y" })));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: 'bundle rejected: files["../x"]: not a file that a bundle may carry',
    });
  });

  test("what svc would not load is refused as a whole, by file and field, and quotes no token", async () => {
    await using host = await testServer();
    const broken = bundleOf({
      "admin_hosts.json": {
        hosts: [
          { label: "lab-01", base_url: "http://10.0.0.5:9939", token: "fine" },
          { label: "all", base_url: "ftp://x", token: "not a token\n" },
        ],
      },
      "known_hosts.json": { anything: "goes: svc does not read it" },
      remote_host_id: "../../inbox",
      viewer_id: "fine-viewer\n",
    });
    const response = await host.call("/config/import", post(broken));
    expect(response.status).toBe(400);
    const answer = (await response.json()) as { error: string; offences: unknown };
    expect(answer.offences).toEqual([
      {
        field: 'files["admin_hosts.json"].content',
        message: expect.stringMatching(/^hosts\[1\]: label: .*; base_url: .*; token: /),
      },
      { field: 'files["remote_host_id"].content', message: expect.stringContaining("letters, digits") },
    ]);
    expect(answer.error).not.toContain("not a token");
    expect(existsSync(join(host.configDir, "viewer_id"))).toBe(false);
    const noList = await host.call("/config/import", post(bundleOf({ "admin_hosts.json": [] })));
    expect(await noList.json()).toMatchObject({ error: expect.stringContaining("the list hosts") });
  });

  test("the bundle is not a field of the query", async () => {
    await using host = await testServer();
    const response = await host.call("/config/import?bundle=x", post(foreign));
    expect(response.status).toBe(400);
  });
});

test("as a command, it takes the bundle and the dry run as its arguments", async () => {
  await using host = await testServer();
  const actions = [["AC_config_import", { bundle: foreign, dry_run: true }], ["AC_config_export"]];
  const response = await host.call("/execute", post({ actions }));
  const { outcomes } = (await response.json()) as { outcomes: Array<{ ok: boolean; result: unknown }> };
  expect(outcomes[0]?.result).toMatchObject({ dry_run: true });
  expect(outcomes[1]?.result).toMatchObject({ manifest: { version: 1 }, files: {} });
});

test("a failed announcement leaves everything as it was", async () => {
  using machine = host({ viewer_id: "mine" });
  writeFileSync(join(machine.config, "known_hosts.json"), "{}");
  const before = treeHash(machine.root);
  const refuse = async () => {
    throw new Error("the audit log is full");
  };
  const imported = importBundle(machine.config, bundleOf({ viewer_id: "theirs" }), { announce: refuse });
  await expect(imported).rejects.toThrow("audit log is full");
  expect(treeHash(machine.root)).toBe(before);
});

describe("an address book here that cannot be merged stays as it is:", () => {
  const book = { version: 1, hosts: [] };
  const bundle = bundleOf({ "admin_hosts.json": book });
  const mergers = { "admin_hosts.json": mergeAddressBooks };
  const merging = (folder: string, dryRun: boolean) =>
    failureOf(importBundle(folder, bundle, { mergers, dryRun, now: NOW }));
  const unusable: Readonly<Record<string, (path: string, root: string) => void>> = {
    "no JSON": (path) => writeFileSync(path, "["),
    "no text": (path) => writeFileSync(path, new Uint8Array([0xff])),
    "a link to a file elsewhere": (path, root) => {
      writeFileSync(join(root, "elsewhere.json"), JSON.stringify(book));
      symlinkSync(join(root, "elsewhere.json"), path);
    },
    "a link that leads nowhere": (path) => symlinkSync("nowhere", path),
  };
  for (const [what, make] of Object.entries(unusable)) {
    test(what, async () => {
      using machine = host({ viewer_id: "mine" });
      make(join(machine.config, "admin_hosts.json"), machine.root);
      const before = treeHash(machine.root);
      for (const dryRun of [true, false]) {
        const { code, message } = await merging(machine.config, dryRun);
        expect([code, message]).toEqual(["conflict", expect.stringContaining("admin_hosts.json")]);
      }
      expect(treeHash(machine.root)).toBe(before);
    });
  }
});
