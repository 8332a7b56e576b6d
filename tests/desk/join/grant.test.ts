/** NATS for hosts that joined before their desk had a server. */
import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { grantNats } from "../../../src/desk/join/operations";
import { openSigningKey } from "../../../src/trust/identity";
import { natsGrantMessage } from "../../../src/wire/join/messages";
import { temporaryFolder, testWith } from "../../support";
import { startNats } from "../../wire/nats/support";
import { joinString, joinWith, tlsServer } from "./support";

/** A desk, its NATS server, and a host that has joined before. */
async function joined() {
  const nats = await startNats({ tls: true });
  const desk = await tlsServer();
  const host = await tlsServer();
  await host.service.runJobs();
  await joinWith(host, (await joinString(desk)).join_string, { label: "h" });
  writeFileSync(desk.files.nats, JSON.stringify(await nats.part()));
  const book = await desk.service.addressBook();
  const [before] = book.hosts();
  return {
    ...{ nats, desk, host, book, before },
    membership: () => JSON.parse(readFileSync(host.files.desk, "utf8")),
    grant: (hosts = "all", timeout_s = 60) =>
      callOperation(desk.service, grantNats, { hosts, timeout_s }, localCaller(desk.service, "cli")),
    send: async (body: object) => {
      const response = await fetch(`${host.server.url}/desk/nats`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${before?.token}`, "content-type": "application/json" },
        tls: { rejectUnauthorized: false },
      });
      return [response.status, await response.text()] as const;
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await desk[Symbol.asyncDispose]();
      await nats[Symbol.asyncDispose]();
    },
  };
}

testWith("nats-server")("a host gets its credentials, once, and keeps the way that it had", async () => {
  await using made = await joined();
  expect(await made.grant()).toEqual([{ label: "h", ok: true, changed: true }]);
  const [entry] = made.book.hosts();
  expect(entry).toMatchObject({ base_url: `nats:${entry?.member?.nats_key}`, label: "h" });
  expect([entry?.token, entry?.pin]).toEqual([undefined, undefined]);
  expect(made.membership().carriers).toMatchObject([{ kind: "nats" }, { kind: "direct" }]);
  expect(await made.grant()).toEqual([{ label: "h", ok: true, changed: false }]);
});

testWith("nats-server")(
  "a host that does not come to the server keeps its address, one that is off is named, and the next attempt ends it",
  async () => {
    await using made = await joined();
    await made.book.add({ label: "off", base_url: "http://127.0.0.1:1", token: "t", tags: [] });
    await made.nats.kill();
    expect(await made.grant("all", 3)).toEqual([
      { label: "h", ok: false, error: expect.stringContaining("; its address stays: no connection") },
      { label: "off", ok: false, error: "it has not joined this desk" },
    ]);
    expect(made.book.hosts()[0]).toEqual(made.before as never);
    await made.nats.start();
    expect(await made.grant("h", 120)).toEqual([{ label: "h", ok: true, changed: true }]);
  },
);

testWith("nats-server")("a host takes nothing that its desk has not signed, and nothing old", async () => {
  await using made = await joined();
  const { host_id, nonce } = made.membership();
  const key = openSigningKey(made.desk.files.deskKey);
  using folder = temporaryFolder();
  const other = openSigningKey(`${folder.path}/key`);
  const carrier = JSON.stringify({ kind: "nats", id: "U", server: { urls: ["tls://evil:1"] }, jwt: "x" });
  const signed = "2040-01-01T00:00:00.000Z";
  const by = ({ sign }: Pick<typeof key, "sign">, about: { carrier?: string; signed: string }) => ({
    ...about,
    signature: sign(natsGrantMessage(host_id, nonce, about)),
  });
  expect((await made.send(by(other, { signed })))[0]).toBe(403);
  expect((await made.send({ ...by(key, { signed }), carrier }))[0]).toBe(403);
  expect((await made.send(by(key, { carrier, signed })))[0]).toBe(400);
  expect(made.membership().carriers).toMatchObject([{ kind: "direct" }]);
  await made.grant();
  expect(await made.send(by(key, { signed: "2020-01-01T00:00:00.000Z" }))).toEqual([
    409,
    expect.stringContaining("newer"),
  ]);
});
