/** Several NATS servers of one desk: what `svc nats` keeps of each. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { grantNats } from "../../../src/desk/join/operations";
import { showNats } from "../../../src/desk/nats/operations/fleet";
import { addNatsDesk, makeNatsBundle, useNats } from "../../../src/desk/nats/operations/server";
import { configFiles } from "../../../src/lib/paths";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { testService } from "../../support";
import { joinString, tlsServer } from "../join/support";

const NO_FIRST = /^region: this desk has no NATS server yet/;

type Made = ReturnType<typeof testService>;

const owner = ({ service }: Pick<Made, "service">) => localCaller(service, "cli");

const bundle = (made: Pick<Made, "service">, more: object = {}) =>
  callOperation(
    made.service,
    makeNatsBundle,
    { operator: "lab", url: ["tls://nats.example"], ...more },
    owner(made),
  );

const bundleEu = (made: Pick<Made, "service">, more: object = {}) =>
  bundle(made, { operator: "lab-eu", url: ["tls://eu.example"], region: "eu", ...more });

/** What the desk is at its servers, and the keys of those. */
function kept({ configDir }: Pick<Made, "configDir">) {
  const files = configFiles(configDir);
  const read = (file: string) => JSON.parse(readFileSync(file, "utf8"));
  return { part: read(files.nats), keys: read(files.natsOperator) };
}

test("the first server has no region, and its files are those of a desk with one", async () => {
  await using made = testService();
  await expect(bundleEu(made)).rejects.toThrow(NO_FIRST);
  expect((await bundle(made)).region).toBeNull();
  const { part, keys } = kept(made);
  expect([part.svc_nats, keys.svc_nats_operator, "regions" in part, "regions" in keys]).toEqual([
    ...[1, 1],
    ...[false, false],
  ]);
});

test("the commands in the bundle of a region are for that region, and those of the first server for none", async () => {
  await using made = testService();
  const commandsOf = async (making: ReturnType<typeof bundle>) => {
    const readme = (await making).files.find(({ name }) => name === "README.txt")?.text ?? "";
    return [...readme.matchAll(/svc nats (desk NAME FILE|…)( --region \S+)?/g)].map(
      ([, , region = ""]) => region,
    );
  };
  expect(await commandsOf(bundle(made))).toEqual(["", "", ""]);
  expect(await commandsOf(bundleEu(made))).toEqual(Array(3).fill(" --region eu"));
});

test("a server that has another region is not written over: the region was forgotten or mistyped", async () => {
  await using made = testService();
  await bundle(made);
  await bundleEu(made);
  const before = kept(made);
  await expect(bundleEu(made, { region: undefined })).rejects.toThrow(
    "tls://eu.example:4222 is that of the region eu: give --region eu",
  );
  await expect(bundleEu(made, { region: "ue" })).rejects.toThrow("is that of the region eu");
  await expect(bundle(made, { region: "eu" })).rejects.toThrow(
    "is that of the first server: leave out --region",
  );
  expect(kept(made)).toEqual(before);
});

test("a host is locked out at the server that it is at, and at no other by mistake", async () => {
  await using made = testService();
  await bundle(made);
  await bundleEu(made);
  const key = newNKey("U").id;
  const member = { host_id: "1".repeat(32), host_key: "k", nonce: "n", nats_key: key };
  const book = await made.service.addressBook();
  await book.add({ label: "h", base_url: `nats:eu/${key}`, tags: [], member });
  for (const user of [key, `eu/${key}`]) {
    await expect(bundle(made, { revoke: [user] })).rejects.toMatchObject({
      code: "conflict",
      message: `revoke: ${user} is a host at the NATS server of eu: give --region eu, and its settings`,
    });
  }
  expect(kept(made).keys.revoked).toEqual({});
  await bundleEu(made, { revoke: [`eu/${key}`] });
  expect(Object.keys(kept(made).keys.regions.eu.revoked)).toEqual([key]);
});

test("a host of the first server is not locked out at a region, and a key that no host has is taken", async () => {
  await using made = testService();
  await bundle(made);
  await bundleEu(made);
  const [key, other] = [newNKey("U").id, newNKey("U").id];
  const member = { host_id: "1".repeat(32), host_key: "k", nonce: "n", nats_key: key };
  await (await made.service.addressBook()).add({ label: "h", base_url: `nats:${key}`, tags: [], member });
  await expect(bundleEu(made, { revoke: [key] })).rejects.toThrow("at the NATS server: leave out --region");
  await bundleEu(made, { revoke: [other] });
  expect(Object.keys(kept(made).keys.regions.eu.revoked)).toEqual([other]);
});

test("the server of a region obeys keys of its own, and the desk is somebody else there", async () => {
  await using made = testService();
  await bundle(made);
  const before = kept(made);
  expect(await bundleEu(made)).toMatchObject({
    region: "eu",
    new_keys: true,
    urls: ["tls://eu.example:4222"],
  });
  const { part, keys } = kept(made);
  const { regions, ...first } = part;
  expect(first).toEqual(before.part);
  const secrets = ["operator", "host_signer", "desk_signer", "account", "tls_key"];
  for (const name of secrets) expect(keys.regions.eu[name]).not.toBe(keys[name]);
  expect([regions.eu.desk.id === part.desk.id, regions.eu.account]).toEqual([false, keys.regions.eu.account]);
  // A build of svc that knows no regions would write the file without their keys.
  expect(keys.svc_nats_operator).toBe(2);
  // Again, for other settings: the same keys.
  expect(await bundleEu(made, { url: ["tls://new.example"] })).toMatchObject({ new_keys: false });
  expect(kept(made).part.regions.eu).toMatchObject({
    desk: regions.eu.desk,
    server: { pin: regions.eu.server.pin },
  });
  expect(kept(made).part.desk).toEqual(part.desk);
});

test("new keys of one server leave those of the others as they are", async () => {
  await using made = testService();
  await bundle(made);
  await bundleEu(made);
  const before = kept(made);
  await bundleEu(made, { new_keys: true });
  const after = kept(made);
  expect(after.keys.operator).toBe(before.keys.operator);
  expect(after.part.regions.eu.account).not.toBe(before.part.regions.eu.account);
  await bundle(made, { new_keys: true });
  expect(kept(made).keys.operator).not.toBe(before.keys.operator);
  expect(kept(made).part.regions).toEqual(after.part.regions);
});

test("a further desk takes the part of each server by itself, and replaces one alone", async () => {
  await using made = testService();
  await using next = testService();
  await bundle(made);
  await bundleEu(made);
  const partFor = (desk: string, more: object = {}) =>
    callOperation(made.service, addNatsDesk, { desk, may_join: true, ...more }, owner(made));
  const use = (part: object, replace = false) =>
    callOperation(next.service, useNats, { part, replace }, owner(next));
  const [first, eu] = [await partFor("second"), await partFor("second", { region: "eu" })];
  expect([first.svc_nats, eu.svc_nats, eu.region]).toEqual([1, 2, "eu"]);
  await expect(use(eu)).rejects.toThrow(NO_FIRST);
  expect((await use(first)).region).toBeNull();
  expect(await use(eu)).toMatchObject({ region: "eu", backup: null, urls: ["tls://eu.example:4222"] });
  await expect(use(eu)).rejects.toThrow("uses a NATS server already");
  const file = configFiles(next.configDir).nats;
  const read = () => JSON.parse(readFileSync(file, "utf8"));
  const other = await partFor("third");
  expect((await use(other, true)).backup).toStartWith(`${file}.bak.`);
  expect(read()).toMatchObject({ desk: other.desk, regions: { eu: { desk: eu.desk } } });
  // One that is marked as neither.
  await expect(use({ ...eu, svc_nats: 1 })).rejects.toThrow("part rejected");
});

test("a first server that is replaced may be anything, and takes no region with it, unless none can be used", async () => {
  await using made = testService();
  await bundle(made);
  await bundleEu(made);
  const file = configFiles(made.configDir).nats;
  const { regions, ...first } = kept(made).part;
  const us = { ...regions.eu, account: "x" };
  const part = await callOperation(made.service, addNatsDesk, { desk: "next", may_join: true }, owner(made));
  const replaced = async (content: object) => {
    writeFileSync(file, JSON.stringify(content));
    await callOperation(made.service, useNats, { part, replace: true }, owner(made));
    return kept(made).part;
  };
  expect(await replaced({ ...first, account: "x", regions })).toEqual({ ...part, regions });
  await expect(replaced({ ...first, regions: { ...regions, us } })).rejects.toThrow(
    "regions.us.account in nats.json cannot be used",
  );
  expect(kept(made).part).toEqual({ ...first, regions: { ...regions, us } });
  expect(await replaced({ ...first, account: "x", regions: { us } })).toEqual(part);
});

test("no string and no grant is for a region that this desk does not have", async () => {
  await using desk = await tlsServer();
  await bundle(desk);
  const missing = "region: nats.json has no region eu";
  await expect(joinString(desk, { region: "eu" })).rejects.toThrow(missing);
  const grant = callOperation(desk.service, grantNats, { hosts: "all", region: "eu" }, owner(desk));
  await expect(grant).rejects.toThrow(missing);
  await bundleEu(desk);
  expect(await joinString(desk, { region: "eu" })).toMatchObject({ region: "eu" });
  expect((await desk.service.joinStrings()).list()).toMatchObject([{ region: "eu" }]);
  expect(await joinString(desk)).toMatchObject({ region: null });
});

test("a desk that has connected to none of its servers yet shows each as off", async () => {
  await using made = testService();
  await bundle(made);
  await bundleEu(made);
  const { desk } = await callOperation(made.service, showNats, {}, owner(made));
  expect(desk).toMatchObject({ state: "off", urls: ["tls://nats.example:4222"] });
  expect(desk?.regions).toMatchObject([{ region: "eu", state: "off", urls: ["tls://eu.example:4222"] }]);
  expect(desk?.regions[0]?.id).not.toBe(desk?.id);
});

test("a region whose entry is broken is shown as that, and is missed alone; no command writes over it", async () => {
  await using desk = await tlsServer();
  await bundle(desk);
  await bundleEu(desk);
  const file = configFiles(desk.configDir).nats;
  const part = kept(desk).part;
  writeFileSync(file, JSON.stringify({ ...part, regions: { eu: { ...part.regions.eu, account: "x" } } }));
  const before = readFileSync(file, "utf8");
  const problem = "regions.eu.account in nats.json cannot be used: mend it or restore the file from a backup";
  const shown = await callOperation(desk.service, showNats, {}, owner(desk));
  expect(shown.desk).toMatchObject({
    ...{ state: "off", urls: ["tls://nats.example:4222"] },
    // What can be read of it.
    regions: [
      { region: "eu", id: part.regions.eu.desk.id, urls: ["tls://eu.example:4222"], state: "off", problem },
    ],
    fault: null,
  });
  expect(await joinString(desk)).toMatchObject({ region: null });
  await expect(joinString(desk, { region: "eu" })).rejects.toThrow(problem);
  for (const write of [bundle, bundleEu]) await expect(write(desk)).rejects.toThrow(problem);
  expect(readFileSync(file, "utf8")).toBe(before);
});
