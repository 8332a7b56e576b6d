/** A witness over HTTP: without a token, and on record only where it refuses. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import * as v from "valibot";
import { configFiles } from "../../../src/lib/paths";
import { openSigningKey } from "../../../src/lib/signing-key";
import { submissionText } from "../../../src/wire/witness/add-checkpoint";
import { parseCheckpoint, parseHash } from "../../../src/wire/witness/checkpoint";
import { handedText } from "../../../src/wire/witness/cosignatures";
import { isConsistent } from "../../../src/wire/witness/merkle";
import {
  assignmentMessage,
  type RestoreStatement,
  restoredMessage,
} from "../../../src/wire/witness/messages";
import { restoredDetail } from "../../../src/wire/witness/restore-row";
import { parseNote, parseVerifierKey, toBase64, verifiedBy } from "../../../src/wire/witness/signed-note";
import { originHash } from "../../../src/wire/witness/store";
import { withDatabase } from "../../host/audit/support";
import { newWitness } from "../../host/audit/witness/support";
import { post, SVC, temporaryFolder, testServer } from "../../support";
import { joinDesk, testLog, verifyRow } from "./support";

/** A host that has joined a desk, whose key is in `folder`. */
async function joinedHost() {
  const folder = temporaryFolder();
  const host = await testServer();
  const deskKey = openSigningKey(`${folder.path}/desk_key`);
  const membership = { host_id: "a".repeat(32), nonce: "N".repeat(22) };
  joinDesk(host.configDir, deskKey, membership);
  const log = testLog(folder.path);
  const open = (path: string, body?: string) =>
    fetch(host.server.url + path, { ...(body !== undefined && { method: "POST", body }) });
  return {
    ...host,
    ...{ deskKey, membership, log, open },
    assign(signer = deskKey, signed = new Date().toISOString(), nonce = membership.nonce) {
      const about = { logs: [{ origin: log.origin, vkey: log.vkey, epoch: 0 }], signed };
      const signature = signer.sign(assignmentMessage({ ...membership, nonce }, about));
      return host.call("/witness/logs", post({ ...about, signature }));
    },
    rows: async () => (await (await host.service.audit())?.list({ limit: 100 }))?.map(({ detail }) => detail),
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

describe("a host that witnesses nothing", () => {
  test("answers 404, and makes no files", async () => {
    await using host = await joinedHost();
    const asked = await host.open("/witness/add-checkpoint", submissionText(host.log.submission(0, 5)));
    expect(asked.status).toBe(404);
    expect((await host.open(`/witness/${originHash(host.log.origin)}/checkpoint`)).status).toBe(404);
    expect((await host.call("/witness/key")).status).toBe(404);
    const { witness, witnessKey } = configFiles(host.configDir);
    expect([witness, witnessKey].map((file) => existsSync(file))).toEqual([false, false]);
  });
});

describe("a peer", () => {
  test("cosigns the logs that its desk has named, without a token", async () => {
    await using host = await joinedHost();
    expect((await host.assign()).status).toBe(200);
    const answer = await host.open("/witness/add-checkpoint", submissionText(host.log.submission(0, 5)));
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringMatching(/^— svc\.witness\/\w{16} /),
    ]);
    const conflict = await host.open("/witness/add-checkpoint", submissionText(host.log.submission(0, 7)));
    expect([conflict.status, conflict.headers.get("content-type"), await conflict.text()]).toEqual([
      409,
      "text/x.tlog.size",
      "5\n",
    ]);
    const note = await host.open(`/witness/${originHash(host.log.origin)}/checkpoint`);
    expect(await note.text()).toStartWith(host.log.text(5));
  });

  test("leaves a row where it refuses, and none where it cosigns", async () => {
    await using host = await joinedHost();
    await host.assign();
    const before = (await host.rows())?.length ?? 0;
    for (const [old, size] of [[0, 5], [5, 9], [9, 9]] as const) // biome-ignore format: one line
      await host.open("/witness/add-checkpoint", submissionText(host.log.submission(old, size)));
    expect(await host.rows()).toHaveLength(before);
    await host.open("/witness/add-checkpoint", "something else");
    expect((await host.rows())?.[0]).toBe("POST /witness/add-checkpoint -> failed:400");
  });

  test("refuses a request that is too large, and one that is not text", async () => {
    await using host = await joinedHost();
    await host.assign();
    expect((await host.open("/witness/add-checkpoint", "x".repeat(16_385))).status).toBe(413);
    const bytes = Buffer.concat([Buffer.from(submissionText(host.log.submission(0, 5))), Buffer.of(0xff)]);
    const init = { method: "POST", body: bytes };
    expect((await fetch(`${host.server.url}/witness/add-checkpoint`, init)).status).toBe(400);
  });

  test("takes logs from its own desk only, for this membership; what was signed before changes nothing", async () => {
    await using host = await joinedHost();
    using elsewhere = temporaryFolder();
    const stranger = openSigningKey(`${elsewhere.path}/key`);
    const later = new Date(Date.now() + 1_000).toISOString();
    expect((await host.assign(stranger)).status).toBe(403);
    expect((await host.assign(host.deskKey, later, "M".repeat(22))).status).toBe(403);
    expect(existsSync(configFiles(host.configDir).witness)).toBe(false);
    expect((await host.assign(host.deskKey, later)).status).toBe(200);
    await host.open("/witness/add-checkpoint", submissionText(host.log.submission(0, 5)));
    const before = await host.rows();
    expect((await host.assign(host.deskKey, new Date(0).toISOString())).status).toBe(200);
    expect((await host.rows())?.slice(1)).toEqual(before ?? []);
    const again = await host.open("/witness/add-checkpoint", submissionText(host.log.submission(0, 5)));
    expect([again.status, await again.text()]).toEqual([409, "5\n"]);
  });
});

describe("a host", () => {
  /** What its desk accepts: the log as it is now. */
  async function acceptable(host: Awaited<ReturnType<typeof joinedHost>>) {
    const log = await host.service.audit();
    await log?.log("test", { detail: "a row" });
    const { origin } = v.parse(
      v.object({ origin: v.string() }),
      await (await host.call("/audit/key")).json(),
    );
    const { note } = v.parse(
      v.object({ note: v.string() }),
      await (await host.call("/audit/checkpoint")).json(),
    );
    const { size, root } = parseCheckpoint(parseNote(note).text);
    const about: RestoreStatement = {
      ...{ former_origin: origin, former_size: 100, origin, size, root: toBase64(root) },
      ...{ reason: "the disk was replaced", signed: new Date().toISOString() },
    };
    return { ...about, signature: host.deskKey.sign(restoredMessage(host.membership, about)) };
  }
  const restoreIn = async (host: Awaited<ReturnType<typeof joinedHost>>) =>
    v.parse(
      v.object({ restored: v.nullable(v.looseObject({})) }),
      await (await host.call("/audit/verify?witnessed=true")).json(),
    ).restored;

  test("puts on record that its desk accepts a break, when the desk has signed that, and proves the row", async () => {
    await using host = await joinedHost();
    const about = await acceptable(host);
    const send = (body: object) => host.call("/audit/restored", post(body));
    expect((await send({ ...about, size: about.size + 1 })).status).toBe(403);
    const { signature: _, ...accepted } = { ...about, root: toBase64(new Uint8Array(32)) };
    const signature = host.deskKey.sign(restoredMessage(host.membership, accepted));
    expect((await send({ ...accepted, signature })).status).toBe(409);
    expect(await restoreIn(host)).toBeNull();
    const { proof, consistency } = v.parse(
      v.object({ proof: v.string(), consistency: v.array(v.string()) }),
      await (await send(about)).json(),
    );
    const { vkey } = v.parse(v.object({ vkey: v.string() }), await (await host.call("/audit/key")).json());
    const proven = await verifyRow(proof, vkey);
    expect(proven).toMatchObject({ ok: true, row: { event_type: "audit_restored" } });
    expect(proven.row?.detail).toContain("the disk was replaced");
    const { size, root } = parseCheckpoint(parseNote(proof.slice(proof.indexOf("\n\n") + 2)).text);
    const hashes = consistency.map((line) => parseHash(line) ?? new Uint8Array());
    const former = parseHash(about.root) ?? new Uint8Array();
    expect(isConsistent(about.size, former, size, root, hashes)).toBe(true);
    const first = await restoreIn(host);
    expect(first).toMatchObject({ size: about.size, by_own_desk: true, fault: null });
    // Sent once more, it is the same row.
    expect((await send(about)).status).toBe(200);
    expect(await restoreIn(host)).toEqual(first);
  });

  test("says what is wrong with the chain or the tree before what is wrong with a restore", async () => {
    await using host = await joinedHost();
    const about = await acceptable(host);
    await host.call("/audit/restored", post(about));
    const verify = async () => {
      const env = { ...process.env, SVC_CONFIG_DIR: host.configDir };
      return new Response(Bun.spawn([...SVC, "audit", "verify", "--witnessed"], { env }).stdout).text();
    };
    const path = `${host.configDir}/audit.db`;
    withDatabase(path, (db) => db.run("DELETE FROM svc_tiles"));
    expect(await verify()).toContain("Chain broken: the tree of the audit log is damaged");
    withDatabase(path, (db) =>
      db.run("UPDATE events SET detail = replace(detail, 'the disk', 'a disk') WHERE event_type = ?", [
        "audit_restored",
      ]),
    );
    expect(await verify()).toContain("Chain broken at row id");
  });

  test("finds a restore that nobody has signed, that is of another log, or that it cannot read", async () => {
    await using host = await joinedHost();
    const { signature, ...about } = await acceptable(host);
    const joined = { ...host.membership, desk_key: host.deskKey.publicKey };
    const other = { ...about, root: toBase64(new Uint8Array(32)) };
    const log = await host.service.audit();
    for (const [detail, fault] of [
      ["something", "not what svc writes"],
      [restoredDetail(joined, { ...about, reason: "another" }, signature), "has not signed it"],
      [
        restoredDetail(joined, other, host.deskKey.sign(restoredMessage(host.membership, other))),
        `another root at ${about.size} leaves`,
      ],
    ] as const) {
      await log?.log("audit_restored", { detail });
      expect(await restoreIn(host)).toMatchObject({ fault: expect.stringContaining(fault) });
    }
    await log?.log("audit_restored", { detail: restoredDetail(joined, about, signature) });
    expect(await restoreIn(host)).toMatchObject({ fault: null });
  });
});

test("a host keeps cosignatures of the witnesses that its desk has asked, and of nobody else with a token", async () => {
  await using host = await joinedHost();
  using elsewhere = temporaryFolder();
  const checkpoint = v.object({ note: v.string() });
  const { note } = v.parse(checkpoint, await (await host.call("/audit/checkpoint")).json());
  const [peer, invented] = [newWitness("svc.witness/peer"), newWitness("svc.witness/invented")];
  const handed = { note: invented.cosign(peer.cosign(note)), witnesses: [peer.vkey] };
  const send = async (body: string) =>
    (await host.call("/audit/cosignatures", { method: "POST", body })).status;
  const text = handedText(host.deskKey, host.membership, handed);
  const both = JSON.stringify({ ...JSON.parse(text), witnesses: [peer.vkey, invented.vkey] });
  const stranger = openSigningKey(`${elsewhere.path}/key`);
  const former = { ...host.membership, nonce: "M".repeat(22) };
  expect(await send(both)).toBe(403);
  expect(await send(handedText(stranger, host.membership, handed))).toBe(403);
  expect(await send(handedText(host.deskKey, former, handed))).toBe(403);
  expect(await send(text)).toBe(200);
  expect(await (await host.service.audit())?.witnessed()).toMatchObject({
    by: [{ name: "svc.witness/peer" }],
  });
});

test("the key of the audit log says of which host it is, once that has joined", async () => {
  await using joined = await joinedHost();
  await using alone = await testServer();
  const ask = async ({ call }: Pick<typeof alone, "call">) =>
    v.parse(
      v.object({ vkey: v.string(), owner: v.nullable(v.string()) }),
      await (await call("/audit/key")).json(),
    );
  const { vkey, owner } = await ask(joined);
  const note = parseNote(owner ?? "");
  expect(note.text).toBe(`svc-audit-log-of-v1\n${joined.membership.host_id}\n`);
  expect(verifiedBy(note, parseVerifierKey(vkey))).toBeDefined();
  expect((await ask(alone)).owner).toBeNull();
});
