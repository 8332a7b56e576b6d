/** A desk moves to another machine: its keys, its address book and what it knows, in one sealed file. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { poll } from "../../../src/desk/fleet/operations/fleet";
import { becomeDesk } from "../../../src/desk/join/become-desk";
import { exportDesk, importDesk } from "../../../src/desk/join/operations";
import { makeNatsBundle } from "../../../src/desk/nats/operations/server";
import { formatText } from "../../../src/lib/format";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import type { Service } from "../../../src/service/service";
import { testService } from "../../support";
import { bookPaths, host } from "../fleet/support";
import { joinString, joinWith, tlsServer } from "./support";

const own = (service: Service) => localCaller(service, "cli");
const bundleOf = ({ service }: { service: Service }) => callOperation(service, exportDesk, {}, own(service));
const take = ({ service }: { service: Service }, bundle: unknown, ways: object = {}) =>
  callOperation(service, importDesk, { bundle, ...ways }, own(service));

test("a machine that takes the place of a desk has its key, its hosts and their tokens", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { label } = await joinWith(host, (await joinString(desk)).join_string);
  await using next = testService();
  const { written } = await take(next, await bundleOf(desk));
  expect(written).toEqual(["desk_key", "tls/key.pem", "tls/cert.pem", "admin_hosts.json", "join.db"]);
  expect(await next.service.ownPin()).toBe(await desk.service.ownPin());
  const found = await callOperation(next.service, poll, {}, own(next.service));
  expect(found).toMatchObject([{ label, healthy: true }]);
  const { deskKey, tlsKey } = configFiles(next.configDir);
  for (const file of [deskKey, tlsKey]) expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a desk is replaced only where that is asked for, and its files are kept", async () => {
  await using desk = await tlsServer();
  await joinString(desk);
  const bundle = await bundleOf(desk);
  await using other = testService();
  await take(other, bundle);
  const { deskKey } = configFiles(other.configDir);
  writeFileSync(deskKey, "former");
  await expect(take(other, bundle)).rejects.toThrow(
    "this folder is a desk already, or has what a desk has (desk_key",
  );
  const { backups } = await take(other, bundle, { replace: true });
  expect(readFileSync(`${other.configDir}/${backups.desk_key}`, "utf8")).toBe("former");
  expect(readFileSync(deskKey, "utf8")).toBe(bundle.files.desk_key);
});

test("an empty database that gives way is named among the backups", async () => {
  await using desk = await tlsServer();
  await joinString(desk);
  await using other = testService();
  writeFileSync(configFiles(other.configDir).adminHosts, "");
  const { backups } = await take(other, await bundleOf(desk));
  expect(existsSync(`${other.configDir}/${backups["admin_hosts.db"]}`)).toBe(true);
});

test("a desk that is replaced has the one address book or the other at any time, and a backup of its own", async () => {
  await using desk = await tlsServer();
  await joinString(desk);
  await (await desk.service.addressBook()).add(host("theirs"));
  await using other = testService();
  const book = await other.service.addressBook();
  await book.add(host("mine"));
  const labels = () =>
    createAddressBook(bookPaths(other.configDir), silentLog)
      .hosts()
      .map(({ label }) => label);
  const bundle = await bundleOf(desk);
  const parts = await other.service.deskParts();
  const replaced = (replaceBook: typeof parts.replaceBook) =>
    becomeDesk(
      ...([other.configDir, bundle, { replace: true, without_nats: false }] as const),
      { ...parts, replaceBook },
      async () => {},
    );
  // Folders for what comes are made before anything else.
  const names = () =>
    readdirSync(other.configDir)
      .filter((name) => name !== "tls")
      .sort();
  const before = names();
  const full = () => {
    throw new Error("disk full");
  };
  await expect(replaced(full)).rejects.toThrow("disk full");
  expect([labels(), names()]).toEqual([["mine"], before]);
  const killed = (content: unknown) => {
    parts.replaceBook(content);
    throw new Error("killed");
  };
  await expect(replaced(killed)).rejects.toThrow("killed");
  expect(labels()).toEqual(["theirs"]);
  await book.add(host("mine"));
  const { written, backups } = await take(other, bundle, { replace: true });
  expect(written).toContain("admin_hosts.json");
  expect([labels(), existsSync(`${other.configDir}/admin_hosts.json`)]).toEqual([["theirs"], false]);
  using kept = new Database(`${other.configDir}/${backups["admin_hosts.db"]}`);
  expect(kept.query("SELECT name FROM hosts ORDER BY place").values()).toEqual([["theirs"], ["mine"]]);
});

test("a folder that misses its address book is one that misses it until the other desk is there as a whole", async () => {
  await using desk = await tlsServer();
  await joinString(desk);
  await (await desk.service.addressBook()).add(host("theirs"));
  await using other = testService();
  writeFileSync(
    `${other.configDir}/format.json`,
    formatText(undefined, undefined, { files: ["admin_hosts.db"] }),
  );
  await take(other, await bundleOf(desk), { replace: true });
  expect((await other.service.addressBook()).hosts()).toMatchObject([{ label: "theirs" }]);
});

/** A desk whose NATS server svc has made. */
async function natsDesk() {
  const desk = await tlsServer();
  await joinString(desk);
  const made = { operator: "lab", url: ["tls://nats.example"] };
  await callOperation(desk.service, makeNatsBundle, made, own(desk.service));
  return desk;
}

test("a desk that moves is the same one on its NATS server, and has the keys of that", async () => {
  await using desk = await natsDesk();
  const bundle = await bundleOf(desk);
  await using next = testService();
  const { written } = await take(next, bundle);
  const names = ["nats.json", "nats_operator.json"] as const;
  expect(written).toEqual(expect.arrayContaining([...names]));
  for (const name of names) {
    const [before, after] = [desk, next].map(({ configDir }) => readFileSync(`${configDir}/${name}`, "utf8"));
    expect(after).toBe(before);
    expect(statSync(`${next.configDir}/${name}`).mode & 0o777).toBe(0o600);
  }
  const { files } = bundle;
  await using fresh = testService();
  for (const name of names) {
    await expect(take(fresh, { ...bundle, files: { ...files, [name]: "{}" } })).rejects.toThrow(
      `bundle rejected: ${name}: `,
    );
  }
});

test("a further desk of the same hosts keeps its own identity on the NATS server", async () => {
  await using desk = await natsDesk();
  await using next = testService();
  const { nats, natsOperator } = configFiles(next.configDir);
  mkdirSync(next.configDir, { recursive: true });
  writeFileSync(nats, "of its own");
  const bundle = await bundleOf(desk);
  await expect(take(next, bundle)).rejects.toThrow("this folder is a desk already");
  const { written, backups } = await take(next, bundle, { without_nats: true });
  expect(written).toEqual(["desk_key", "tls/key.pem", "tls/cert.pem", "desk_generation.json"]);
  expect(backups).toEqual({});
  expect(readFileSync(nats, "utf8")).toBe("of its own");
  expect(existsSync(natsOperator)).toBe(false);
});

test("a bundle with a fault is refused as a whole, and so is one for a folder with a server", async () => {
  await using desk = await tlsServer();
  await joinString(desk);
  const bundle = await bundleOf(desk);
  await using other = await tlsServer();
  await expect(take(other, bundle)).rejects.toThrow("a server runs here");
  await using fresh = testService();
  const { files } = bundle;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const rsa = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const next = (key: string) => JSON.stringify({ key, from: new Date().toISOString(), overlap_s: 60 });
  for (const [changed, reason] of [
    [{ ...bundle, svc_desk: 3 }, "svc_desk: expected 2 but found 3, of a newer svc"],
    [{ ...bundle, files: { ...files, "jobs.json": "[]" } }, "jobs.json: expected a JSON object"],
    [{ ...bundle, files: { ...files, witness_key: "no key" } }, "witness_key is not an Ed25519 key"],
    [{ ...bundle, databases: { "plans.db": "AAAA" } }, "plans.db is not a database of svc"],
    [{ ...bundle, databases: { "plans.db": bundle.databases?.["join.db"] } }, "plans.db is not a database"],
    [{ ...bundle, svc_desk: 0 }, "expected what `svc desk export` writes"],
    [{ ...bundle, files: { ...files, desk_key: "no key" } }, "desk_key is not an Ed25519 key"],
    [
      { ...bundle, files: { ...files, "tls/key.pem": files.desk_key } },
      "tls/cert.pem is not a certificate of tls/key.pem",
    ],
    [{ ...bundle, files: { ...files, "tls/next.json": "garbage" } }, "tls/next.json is not an announced key"],
    [{ ...bundle, files: { ...files, "tls/next.json": next(rsa) } }, "tls/next.json is not an announced key"],
    [
      { ...bundle, files: { ...files, "admin_hosts.json": '{"hosts":[{"label":"a"}]}' } },
      "admin_hosts.json: ",
    ],
  ] as const) {
    await expect(take(fresh, changed)).rejects.toThrow(reason);
  }
  await expect(bundleOf(fresh)).rejects.toThrow("this is no desk before its first `svc join-token`");
});
