/** Checkpoints, cosignatures and proofs of a log; and what they show of one that was made anew. */
import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { openAuditLog } from "../../../../src/host/audit/log";
import { verifyDatabase } from "../../../../src/host/audit/verify";
import { openAuditKey } from "../../../../src/host/audit/witness/key";
import { verifyProof } from "../../../../src/host/audit/witness/proof";
import { scanTree } from "../../../../src/host/audit/witness/scan";
import { silentLog } from "../../../../src/lib/log";
import { parseCheckpoint, parseHash } from "../../../../src/wire/witness/checkpoint";
import { isConsistent } from "../../../../src/wire/witness/merkle";
import { noteOf, parseNote, parseVerifierKey, verifiedBy } from "../../../../src/wire/witness/signed-note";
import { until } from "../../../support";
import { event, noteOf as headNoteOf, testLog, withDatabase } from "../support";
import { makeAnew, newKey, newWitness } from "./support";

/** A log with some rows, and its witness. */
async function witnessedLog(rows = 5) {
  const made = await testLog();
  for (let nth = 1; nth <= rows; nth++) await made.log.append(event({ detail: `row ${nth}` }));
  const witness = newWitness("svc.witness/desk");
  const seen = await made.log.witness();
  const { note, size } = await seen.sign();
  return { ...made, seen, witness, note, size };
}

const hashesOf = (lines: readonly string[] | null) =>
  (lines ?? []).map((line) => parseHash(line) ?? new Uint8Array());

describe("checkpoints", () => {
  test("are signed by a key of their own, which is made once and private", async () => {
    await using made = await witnessedLog();
    const file = join(dirname(made.path), "audit_key");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { vkey, verifier } = made.seen.key();
    expect(openAuditKey(file).vkey).toBe(vkey);
    expect(verifier.name).toMatch(/^svc\.host\/[0-9a-f]{16}$/);
    const note = parseNote(made.note);
    expect(verifiedBy(note, parseVerifierKey(vkey))).toEqual({ name: verifier.name, time: null });
    expect(parseCheckpoint(note.text)).toMatchObject({ origin: verifier.name, size: 5 });
  });

  test("go on from each other, and the proof says so", async () => {
    await using made = await witnessedLog(7);
    const old = parseCheckpoint(parseNote(made.note).text);
    await Promise.all(Array.from({ length: 300 }, () => made.log.append(event())));
    await made.seen.sign();
    const { note, size, proof } = await made.seen.checkpoint(7);
    const { root } = parseCheckpoint(parseNote(note).text);
    expect(size).toBe(307);
    expect(isConsistent(7, old.root, size, root, hashesOf(proof))).toBeTrue();
    expect((await made.seen.checkpoint(308)).proof).toBeNull();
    expect((await made.seen.checkpoint(0)).proof).toEqual([]);
  });

  test("are as they were while no row joins", async () => {
    await using made = await witnessedLog();
    expect((await made.seen.sign()).note).toBe(made.note);
    expect(await made.seen.current()).toMatchObject({ nth: 1, note: made.note });
  });

  test("never contradict each other, whichever processes sign at the same time", async () => {
    await using made = await witnessedLog();
    const others = await Promise.all([1, 2, 3].map(() => openAuditLog({ path: made.path, log: silentLog })));
    const roots = new Map<number, string>();
    for (let round = 0; round < 10; round++) {
      const signed = await Promise.all(
        [made.log, ...others].map(async (log) => {
          await log.append(event());
          return (await log.witness()).sign();
        }),
      );
      for (const { size, note } of signed) {
        const { text } = parseNote(note);
        expect(roots.get(size) ?? text).toBe(text);
        roots.set(size, text);
      }
    }
    for (const log of others) await log.close();
    expect(roots.size).toBeGreaterThan(5);
  });

  test("are signed by themselves after 256 rows", async () => {
    await using made = await testLog();
    await made.log.keepCheckpoints();
    await Promise.all(Array.from({ length: 256 }, () => made.log.append(event())));
    const count = () =>
      withDatabase(made.path, (db) =>
        db.query<{ size: number }, []>("SELECT size FROM svc_checkpoints").get(),
      );
    await until("a checkpoint", count);
    expect(count()?.size).toBeGreaterThanOrEqual(256);
  });

  test("are kept for two minutes, then the newest 64, the first cosigned one and the newest", async () => {
    await using made = await witnessedLog(1);
    const cosign = (note: string) => made.seen.cosigned(made.witness.cosign(note), [made.witness.vkey]);
    await cosign(made.note);
    for (let nth = 0; nth < 70; nth++) {
      await made.log.append(event());
      const { note } = await made.seen.sign();
      if (nth === 2) await cosign(note);
    }
    const sizes = () =>
      withDatabase(made.path, (db) =>
        db.query<{ size: number }, []>("SELECT size FROM svc_checkpoints ORDER BY nth").all(),
      ).map(({ size }) => size);
    expect(sizes()).toHaveLength(71);
    withDatabase(made.path, (db) => db.run("UPDATE svc_checkpoints SET made = made - 180000"));
    await made.log.append(event());
    await made.seen.sign();
    expect(sizes()).toEqual([1, 4, ...Array.from({ length: 64 }, (_, at) => at + 9)]);
  });

  test("have another name after the key was lost", async () => {
    await using made = await witnessedLog();
    rmSync(join(dirname(made.path), "audit_key"));
    const log = await openAuditLog({ path: made.path, log: silentLog });
    const { note } = await (await log.witness()).sign();
    await log.close();
    expect(parseNote(note).text.split("\n")[0]).not.toBe(parseNote(made.note).text.split("\n")[0]);
    expect(readdirSync(dirname(made.path))).toContain("audit_key");
  });
});

describe("cosignatures", () => {
  test("are kept beside their checkpoint, and say how far the log is witnessed", async () => {
    await using made = await witnessedLog();
    expect(await made.log.witnessed()).toBeNull();
    const peer = newWitness("svc.witness/peer");
    const both = peer.cosign(made.witness.cosign(made.note, 1_790_000_000), 1_790_000_005);
    const keys = [made.witness.vkey, peer.vkey];
    expect(await made.seen.cosigned(both, keys)).toBe(2);
    expect(await made.seen.cosigned(both, keys)).toBe(0);
    expect(await made.log.witnessed()).toEqual({
      size: 5,
      row_id: 5,
      by: [
        { name: "svc.witness/desk", time: "2026-09-21T14:13:20.000Z" },
        { name: "svc.witness/peer", time: "2026-09-21T14:13:25.000Z" },
      ],
      since: "2026-09-21T14:13:20.000Z",
    });
    expect((await made.seen.checkpoint(0)).note).toBe(both);
  });

  test("of other keys are left out, and so are wrong ones; those of other checkpoints are refused", async () => {
    await using made = await witnessedLog();
    const other = newWitness("svc.witness/other");
    const cosigned = made.witness.cosign(made.note);
    expect(await made.seen.cosigned(cosigned, [other.vkey])).toBe(0);
    const swapped = cosigned.replace("svc.witness/desk", "svc.witness/other");
    expect(await made.seen.cosigned(swapped, [other.vkey])).toBe(0);
    const [line = ""] = parseNote(made.witness.cosign(made.note.replace("\n5\n", "\n4\n")))
      .signatures.slice(-1)
      .map((one) => one.line);
    const { text, signatures } = parseNote(made.note);
    const wrong = noteOf(text, [...signatures.map((one) => one.line), line]);
    expect(await made.seen.cosigned(wrong, [made.witness.vkey])).toBe(0);
    const stranger = made.witness.cosign(made.note.replace("\n5\n", "\n4\n"));
    await expect(made.seen.cosigned(stranger, [made.witness.vkey])).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await made.seen.cosigned(cosigned, [made.seen.key().vkey])).toBe(0);
    expect(await made.log.witnessed()).toBeNull();
  });

  test("of a peer that signs wrongly, or with a time that no date has, keep no other from being kept", async () => {
    await using made = await witnessedLog();
    const [peer, desk] = [newWitness("svc.witness/peer"), parseVerifierKey(made.witness.vkey)];
    const late = peer.cosign(made.note, 9_000_000_000_000);
    const { text, signatures } = parseNote(made.witness.cosign(late));
    const [false1] = parseNote(newWitness(desk.name).cosign(made.note)).signatures.slice(-1);
    const renamed = Buffer.concat([Buffer.from(desk.id, "hex"), false1?.bytes ?? new Uint8Array()]);
    const line = `\u2014 ${desk.name} ${renamed.toString("base64")}\n`;
    const note = noteOf(text, [line, ...signatures.map((one) => one.line)]);
    expect(await made.seen.cosigned(note, [peer.vkey, made.seen.key().vkey, made.witness.vkey])).toBe(1);
    expect(await made.log.witnessed()).toMatchObject({ by: [{ name: "svc.witness/desk" }] });
  });
});

describe("a proof", () => {
  test("shows a row to whoever trusts the keys of the log and its witness", async () => {
    await using made = await witnessedLog();
    await made.seen.cosigned(made.witness.cosign(made.note), [made.witness.vkey]);
    const { verifier: key } = made.seen.key();
    const proof = await made.seen.proof(3);
    const witnesses = [parseVerifierKey(made.witness.vkey)];
    expect(verifyProof(proof, { key, witnesses })).toEqual({
      ok: true,
      reason: null,
      origin: key.name,
      size: 5,
      index: 2,
      row: expect.objectContaining({ id: 3, detail: "row 3" }),
      witnesses: [{ name: "svc.witness/desk", time: "2026-09-21T14:13:20.000Z" }],
    });
    const refused = (text: string, more = {}) => verifyProof(text, { key, witnesses, ...more }).reason;
    const encoded = /extra (\S+)/.exec(proof)?.[1] ?? "";
    const edited = Buffer.from(Buffer.from(encoded, "base64").toString().replace("row 3", "row 4")).toString(
      "base64",
    );
    expect(refused(proof.replace(encoded, edited))).toContain("its row was edited");
    expect(refused(proof.replace("index 2", "index 3"))).toContain("not in the tree");
    expect(refused(proof.replace("\n5\n", "\n6\n"))).toContain("is not that of this note");
    expect(refused(proof, { witnesses: [parseVerifierKey(newWitness("svc.witness/x").vkey)] })).toContain(
      "svc.witness/x has not cosigned",
    );
    expect(refused(proof, { key: { ...key, name: "svc.host/0" } })).toContain("not of svc.host/0");
    const stolen = { ...key, publicKey: newKey().publicKey };
    expect(refused(proof, { key: stolen })).toContain("is not that of this note");
    for (const bad of [
      "",
      "c2sp.org/tlog-proof@v1\n",
      proof.replace("index 2", "index 02"),
      proof.replace("v1", "v2"),
    ])
      expect(() => verifyProof(bad, { key, witnesses })).toThrow(/proof: expected|note: expected/);
  });

  test("of a row that was pruned takes its hash from the archive", async () => {
    await using made = await witnessedLog();
    const { hash } = withDatabase(made.path, (db) =>
      db.query<{ hash: string }, []>("SELECT row_hash AS hash FROM events WHERE id = 2").get(),
    ) ?? { hash: "" };
    await made.log.clear("test");
    const proof = await made.seen.proof(2);
    const { verifier: key } = made.seen.key();
    expect(() => verifyProof(proof, { key, witnesses: [] })).toThrow("hash: expected the row_hash");
    expect(verifyProof(proof, { key, witnesses: [], hash })).toMatchObject({ ok: true, row: null });
    expect(verifyProof(proof, { key, witnesses: [], hash: "0".repeat(64) }).ok).toBeFalse();
  });

  test("is there at once for a new row, also of another program, and never for one that was not", async () => {
    await using made = await witnessedLog();
    await made.log.append(event());
    withDatabase(made.path, (db) => db.run("INSERT INTO events (ts, event_type) VALUES ('2026', 'other')"));
    expect(await made.seen.proof(6)).toContain("index 5\n");
    expect(await made.seen.proof(7)).toContain("index 6\n");
    await expect(made.seen.proof(8)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("verification of a witnessed log", () => {
  /** What a person who may write the file does, and what is then found. */
  const TAMPERED: ReadonlyArray<[what: string, tree: boolean, sql: string, reason: string]> = [
    [
      "edits a row and computes the chain again",
      false,
      "UPDATE events SET detail = 'x' WHERE id = 2",
      "it was made anew",
    ],
    ["computes chain and tree again", true, "UPDATE events SET detail = 'x' WHERE id = 2", "was made anew"],
    [
      "deletes the end, and sets all marks back",
      true,
      "DELETE FROM events WHERE id > 3; UPDATE sqlite_sequence SET seq = 3 WHERE name = 'events'",
      "its end is gone",
    ],
    [
      "edits a node",
      false,
      "UPDATE svc_tiles SET hashes = zeroblob(512) WHERE place = 0",
      "that is in the tree",
    ],
    ["removes a tile", false, "DELETE FROM svc_tiles", "is damaged"],
    ["gives another row a leaf", false, "UPDATE svc_runs SET first_id = 2", "it is not in the tree"],
    [
      "edits a checkpoint",
      false,
      "UPDATE svc_checkpoints SET note = replace(note, char(10) || '5' || char(10), char(10) || '4' || char(10))",
      "is not that of this note",
    ],
  ];

  for (const [what, tree, sql, reason] of TAMPERED) {
    test(`shows who ${what}`, async () => {
      await using made = await witnessedLog();
      await made.seen.cosigned(made.witness.cosign(made.note), [made.witness.vkey]);
      const { vkey } = made.seen.key();
      expect(scanTree(made.path, vkey)).toMatchObject({ fault: null, witnessed: { size: 5, row_id: 5 } });
      await made.log.close();
      withDatabase(made.path, (db) => {
        db.run(sql);
        makeAnew(db, tree);
      });
      rmSync(headNoteOf(made.path));
      // The chain alone shows nothing.
      expect(verifyDatabase(made.path)).toMatchObject({ ok: true });
      const { fault, witnessed } = scanTree(made.path, vkey);
      expect(fault?.reason).toContain(reason);
      expect(witnessed).toBeNull();
    });
  }

  test("fails with what is wrong with the tree, in the process that verifies the chain", async () => {
    await using made = await witnessedLog();
    withDatabase(made.path, (db) => db.run("UPDATE svc_runs SET first_id = 2"));
    const [found, chain] = await Promise.all([made.log.verifyWitnessed(), made.log.verify()]);
    expect(found).toMatchObject({ ok: false, broken_at_id: 1, total_rows: 5, head: null, witnessed: null });
    expect(found.reason).toBe("it is not in the tree: it was put there later");
    expect(chain.ok).toBeTrue();
  });

  test("finds nothing wrong after clearing, pruning and more rows", async () => {
    await using made = await witnessedLog(40);
    await made.seen.cosigned(made.witness.cosign(made.note), [made.witness.vkey]);
    await made.log.prune({
      what: { keep: 10 },
      archive: { folder: join(dirname(made.path), "a") },
      by: "test",
    });
    expect(await made.log.verifyWitnessed()).toMatchObject({ ok: true, witnessed: { size: 40 } });
    await made.log.clear("test");
    await made.log.append(event());
    await made.seen.sign();
    expect(await made.log.verifyWitnessed()).toMatchObject({ ok: true, witnessed: { size: 40, row_id: 40 } });
  });
});
