/** Hosts that have joined follow the desk to another key. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { leave } from "../../../src/host/join/operations";
import { openSigningKey } from "../../../src/trust/identity";
import { renew } from "../../../src/trust/operations/tls";
import { deskPinsMessage } from "../../../src/wire/join/messages";
import { temporaryFolder, until } from "../../support";
import { joinString, joinWith, tlsServer } from "./support";

/** A host that has joined a desk, whose server looks after its hosts or not. */
async function joined(looksAfter = true) {
  const desk = await tlsServer();
  if (looksAfter) await desk.service.runJobs();
  const host = await tlsServer();
  await joinWith(host, (await joinString(desk)).join_string);
  const membership = () => JSON.parse(readFileSync(host.files.desk, "utf8"));
  const [entry] = (await desk.service.addressBook()).hosts();
  return {
    desk,
    host,
    membership,
    pins: () => [membership().desk_pin, membership().desk_next_pin],
    renew: (overlap_s: number) =>
      callOperation(desk.service, renew, { new_key: true, overlap_s }, localCaller(desk.service, "cli")),
    send: async (body: object) => {
      const response = await fetch(`${host.server.url}/desk/pins`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${entry?.token}`, "content-type": "application/json" },
        tls: { rejectUnauthorized: false },
      });
      return [response.status, await response.text()] as const;
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await desk[Symbol.asyncDispose]();
    },
  };
}

test("a host learns the key that its desk announces, and leaves the desk after it has changed", async () => {
  await using made = await joined();
  const { desk, host } = made;
  const { pin, next_spki } = await made.renew(86_400);
  await until("the host follows", () => made.pins()[1] === next_spki);
  expect(made.pins()).toEqual([pin, next_spki]);
  await made.renew(0);
  await until("the host follows", () => made.pins()[1] === undefined);
  expect(made.pins()[0]).toBe(next_spki);
  const left = await callOperation(host.service, leave, {}, localCaller(host.service, "cli"));
  expect(left.problem).toBeNull();
  expect((await desk.service.addressBook()).hosts()).toEqual([]);
});

test("a host knows both keys of its desk while one is announced", async () => {
  await using made = await joined();
  const { host } = made;
  const { next_spki } = await made.renew(86_400);
  await until("the host follows", () => made.pins()[1] === next_spki);
  // It misses what the desk says after the change.
  await host.server.stop();
  await made.renew(0);
  const left = await callOperation(host.service, leave, {}, localCaller(host.service, "cli"));
  expect(left.problem).toBeNull();
});

test("a host follows to a key that was not announced, too", async () => {
  await using made = await joined();
  const [old] = made.pins();
  const { pin } = await made.renew(0);
  await until("the host follows", () => made.pins()[0] !== old);
  expect(made.pins()).toEqual([pin, undefined]);
});

test("a host takes only pins that its desk has signed for this membership, and none from before", async () => {
  await using made = await joined(false);
  const { host_id, nonce } = made.membership();
  using folder = temporaryFolder();
  const key = openSigningKey(made.desk.files.deskKey);
  const before = made.pins();
  const pin = `spki:${"A".repeat(43)}`;
  const about = { pin, signed: new Date().toISOString() };
  const signedBy = ({ sign }: typeof key, id = host_id, of = nonce) => ({
    ...about,
    signature: sign(deskPinsMessage(id, of, about)),
  });
  const stranger = openSigningKey(`${folder.path}/key`);
  const refused = [
    signedBy(stranger),
    signedBy(key, "0".repeat(32)),
    signedBy(key, host_id, "B".repeat(22)),
    { ...signedBy(key), next_pin: pin },
    { ...signedBy(key), signed: new Date(0).toISOString() },
  ];
  for (const body of refused) expect((await made.send(body))[0]).toBe(403);
  expect(made.pins()).toEqual(before);

  expect(await made.send(signedBy(key))).toEqual([200, expect.stringContaining('"changed":true')]);
  const old = { pin: `spki:${"C".repeat(43)}`, signed: new Date(Date.parse(about.signed) - 1).toISOString() };
  const replayed = { ...old, signature: key.sign(deskPinsMessage(host_id, nonce, old)) };
  expect(await made.send(replayed)).toEqual([409, expect.stringContaining("newer pins")]);
  expect(made.pins()).toEqual([pin, undefined]);
});

test("a host takes pins of a desk whose clock was far ahead, once that is right, and none from before", async () => {
  await using made = await joined(false);
  const { host_id, nonce } = made.membership();
  const key = openSigningKey(made.desk.files.deskKey);
  const send = (letter: string, ms: number) => {
    const about = { pin: `spki:${letter.repeat(43)}`, signed: new Date(Date.now() + ms).toISOString() };
    return made.send({ ...about, signature: key.sign(deskPinsMessage(host_id, nonce, about)) });
  };
  expect((await send("A", 400 * 86_400_000))[0]).toBe(200);
  expect((await send("B", 0))[0]).toBe(200);
  expect(made.pins()).toEqual([`spki:${"B".repeat(43)}`, undefined]);
  expect(await send("A", -1_000)).toEqual([409, expect.stringContaining("newer pins")]);
  expect(made.pins()).toEqual([`spki:${"B".repeat(43)}`, undefined]);
});

test("a host that has joined no desk takes no pins", async () => {
  await using made = await joined(false);
  const body = { pin: `spki:${"A".repeat(43)}`, signed: new Date().toISOString(), signature: "A".repeat(86) };
  await callOperation(made.host.service, leave, {}, localCaller(made.host.service, "cli"));
  expect((await made.send(body))[0]).toBe(401);
  expect(existsSync(made.host.files.desk)).toBe(false);
});
