/** The begin of an upgrade by a desk, and hosts where none begins. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFromDesk, type FromDeskOptions } from "../../../src/host/release/from-desk";
import { readOrder, writeVerdict } from "../../../src/host/release/order";
import type { Daemon } from "../../../src/host/release/upgrade";
import { upgradeFiles } from "../../../src/wire/release/files";
import { temporaryFolder } from "../../support";
import { makeKey } from "./support";

const FILE = { target: "linux-x64", version: "0.2.0", size: 1, sha256: "0".repeat(64), signature: "" };

/** A host that has the file. */
function host(more: Partial<FromDeskOptions> = {}, daemon: Partial<Daemon> = {}) {
  const folder = temporaryFolder();
  const place = join(folder.path, "upgrade");
  mkdirSync(place);
  writeFileSync(join(place, FILE.sha256), "x");
  const started: (readonly string[])[] = [];
  const own: Daemon = {
    ...{ name: "the daemon", mayRestart: true, byRoot: false, answering: () => 1, endsThis: () => false },
    requireReadable() {},
    async restart() {},
    async startApart(command) {
      started.push(command);
    },
    isReady: async () => true,
    ...daemon,
  };
  const binary = join(folder.path, "svc");
  const fromDesk = createFromDesk({
    ...{ folder: place, binary, version: "0.1.0", target: "linux-x64" },
    ...{ key: makeKey(folder.path).secret.publicKey, compiled: true, pid: 1, platform: "linux" },
    daemons: async () => [own],
    ...more,
  });
  return { ...fromDesk, place, binary, started, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test("of two jobs that come at once, one begins, and the other hears that it has", async () => {
  using one = host();
  const { promise: recorded, resolve: record } = Promise.withResolvers<void>();
  const first = one.begin([FILE], "first", () => recorded);
  const second = one.begin([FILE], "second", async () => {});
  await expect(second).rejects.toThrow("an upgrade is under way");
  record();
  await first;
  expect(one.started.map((command) => command.slice(-3))).toEqual([["upgrade-child", one.place, "first"]]);
  await expect(one.begin([FILE], "third", async () => {})).rejects.toThrow("an upgrade is under way");
});

test("one that cannot be put on record does not begin, and holds up no other", async () => {
  using one = host();
  const full = async () => {
    throw new Error("the disk is full");
  };
  await expect(one.begin([FILE], "first", full)).rejects.toThrow("the disk is full");
  expect(await one.begin([FILE], "second", async () => {})).toEqual({ from: "0.1.0", to: "0.2.0" });
});

test("on Windows, none begins, and a desk hears so before it sends anything", async () => {
  using one = host({ platform: "win32" });
  const { refusal } = await one.status();
  expect(refusal).toBe("on Windows, a desk cannot upgrade svc: upgrade it by hand with `svc upgrade`");
  await expect(one.receive([FILE], 0, new Uint8Array(1), async () => {})).rejects.toThrow(`${refusal}`);
  await expect(one.begin([FILE], "job", async () => {})).rejects.toThrow(`${refusal}`);
});

test("a daemon that may not write the program leaves the rest to root, and removes the file once that is over", async () => {
  using one = host({}, { mayRestart: false, byRoot: true });
  expect((await one.status()).refusal).toBeNull();
  await one.begin([FILE], "job", async () => {});
  expect(one.started).toEqual([]);
  expect(readOrder(one.place)).toMatchObject({ id: "job", sha256: FILE.sha256, ended: null });
  one.forgetOld();
  expect((await one.status()).incoming).toMatchObject({ complete: true });
  mkdirSync(upgradeFiles(one.binary).folder);
  const ended = new Date().toISOString();
  writeVerdict(one.binary, { format: 1, id: "job", pid: 1, ended, error: "it is not signed" });
  expect((await one.status()).last).toMatchObject({ ok: false, error: "it is not signed" });
  one.forgetOld();
  expect((await one.status()).incoming).toBeNull();
});

test("a host without root's part says how root installs it", async () => {
  using one = host({}, { mayRestart: false });
  expect((await one.status()).refusal).toContain("or once `svc service install --system`");
});
