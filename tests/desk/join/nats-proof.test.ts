/** A host that joins under an NKey has that key. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { addDesk, newOperator } from "../../../src/desk/nats/operator";
import { makeKey } from "../../../src/trust/certificate";
import { hostIdOf, openSigningKey } from "../../../src/trust/identity";
import { parseJoinString } from "../../../src/wire/join/join-string";
import { natsKeyMessage } from "../../../src/wire/join/messages";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { temporaryFolder } from "../../support";
import { joinString, joinWith, madeUpRequest, sendJoin, tlsServer } from "./support";

/** A desk with `nats.json`, and a host that makes its request up. */
async function deskWithNats() {
  const desk = await tlsServer();
  const { part } = addDesk(newOperator(makeKey()), "desk", true, { urls: ["tls://127.0.0.1:1"] });
  writeFileSync(desk.files.nats, JSON.stringify({ svc_nats: 1, ...part }));
  const folder = temporaryFolder();
  const keyFile = join(folder.path, "host_key");
  const { join_string } = await joinString(desk, { uses: 9 });
  const { pin } = parseJoinString(join_string);
  const id = hostIdOf(openSigningKey(keyFile).publicKey);
  let time = Date.now();
  return {
    ...{ desk, join_string, id },
    /** Joins under `nats_key`, with what `signer` signs of the host with that id. */
    joinAs(nats_key: string, signer: ReturnType<typeof newNKey>, host = id) {
      time += 1;
      const proof = signer.sign(Buffer.from(natsKeyMessage(pin, host, String(time)))).toString("base64url");
      return sendJoin(desk, {
        ...madeUpRequest(join_string, keyFile, { dials: true, nats_key, time }),
        nats_proof: proof,
      });
    },
    bare: (nats_key: string) =>
      sendJoin(desk, madeUpRequest(join_string, keyFile, { dials: true, nats_key, time: ++time })),
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

test("a host that does not prove that it has the key, or proves it for another host, is refused", async () => {
  await using made = await deskWithNats();
  const [own, other] = [newNKey("U"), newNKey("U")];
  const refused = {
    status: 403,
    body: { error: expect.stringContaining("nats_proof is not the signature of nats_key") },
  };
  expect(await made.joinAs(other.id, own)).toMatchObject(refused);
  expect(await made.joinAs(own.id, own, "0".repeat(32))).toMatchObject(refused);
  expect(await made.bare(own.id)).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("nats_proof: missing") },
  });
  expect((await made.desk.service.addressBook()).hosts()).toEqual([]);
  expect(await made.joinAs(own.id, own)).toMatchObject({ status: 200 });
});

test("svc join proves it", async () => {
  await using made = await deskWithNats();
  await using host = await tlsServer();
  await joinWith(host, made.join_string);
  const [entry] = (await made.desk.service.addressBook()).hosts();
  expect(entry?.base_url).toBe(`nats:${(await host.service.natsKey()).id}`);
});
