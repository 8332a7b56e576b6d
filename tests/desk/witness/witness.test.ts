/** The rules and the status codes of C2SP tlog-witness. */
import { describe, expect, spyOn, test } from "bun:test";
import { newLogStatus } from "../../../src/desk/witness/states";
import { openSigningKey } from "../../../src/lib/signing-key";
import {
  answerResponse,
  parseAnswer,
  parseSubmission,
  submissionText,
} from "../../../src/wire/witness/add-checkpoint";
import { checkEvidence, parseEvidence } from "../../../src/wire/witness/evidence";
import {
  cosignNote,
  noteOf,
  parseNote,
  parseVerifierKey,
  verifiedBy,
} from "../../../src/wire/witness/signed-note";
import { openStore, originHash } from "../../../src/wire/witness/store";
import { createWitness } from "../../../src/wire/witness/witness";
import { temporaryFolder } from "../../support";
import { type TestLog, testLog } from "./support";

function testWitness(now = () => 1_800_000_000_000) {
  const folder = temporaryFolder();
  const log = testLog(folder.path);
  const store = openStore(`${folder.path}/witness.db`);
  store.register({ ...log, epoch: 0 });
  const key = openSigningKey(`${folder.path}/witness_key`);
  const published: unknown[] = [];
  const witness = createWitness({ store, key, now, publish: (_type, data) => void published.push(data) });
  return {
    ...{ published, log },
    store,
    witness,
    folder: folder.path,
    status: async (submission: Parameters<typeof witness.add>[0]) => (await witness.add(submission)).status,
    [Symbol.dispose]() {
      store.close();
      folder[Symbol.dispose]();
    },
  };
}

describe("a witness answers", () => {
  test("200 and a cosignature with the time to a checkpoint that goes on from the one before", async () => {
    using made = testWitness();
    const { log, witness } = made;
    for (const [old, size] of [
      [0, 0],
      [0, 1],
      [1, 8],
      [8, 8],
      [8, 300],
    ] as const) {
      const answer = await witness.add(log.submission(old, size));
      if (answer.status !== 200) throw new Error(JSON.stringify(answer));
      const note = parseNote(noteOf(log.text(size), [answer.cosignatures]));
      expect(verifiedBy(note, parseVerifierKey(witness.vkey))).toEqual({
        name: witness.name,
        time: 1_800_000_000,
      });
    }
  });

  test("404 to a log that it does not know", async () => {
    using made = testWitness();
    const other = testLog(made.folder, "svc.host/ffffffffffffffff");
    expect(await made.status(other.submission(0, 5))).toBe(404);
  });

  test("403 without a signature of the log's key, and with a wrong one in its name", async () => {
    using made = testWitness();
    using elsewhere = temporaryFolder();
    const { log } = made;
    const stranger = testLog(elsewhere.path);
    expect(await made.status({ ...log.submission(0, 5), note: stranger.note(5) })).toBe(403);
    const [, line = ""] = log.note(6).split("\n\n");
    expect(await made.status({ ...log.submission(0, 5), note: noteOf(log.text(5), [line]) })).toBe(403);
    const [, good = ""] = log.note(5).split("\n\n");
    expect(await made.status({ ...log.submission(0, 5), note: noteOf(log.text(5), [good, line]) })).toBe(403);
  });

  test("200 where others have signed too", async () => {
    using made = testWitness();
    const { log } = made;
    const [, line = ""] = log.note(5).split("\n\n");
    const other = cosignNote(log.text(5), "example.com/w", openSigningKey(`${made.folder}/other`), 1);
    expect(await made.status({ ...log.submission(0, 5), note: noteOf(log.text(5), [other, line]) })).toBe(
      200,
    );
    expect(made.witness.latest(originHash(log.origin))).not.toContain("example.com/w");
  });

  test("400 to an old size that is more than that of the checkpoint, and to what is no checkpoint", async () => {
    using made = testWitness();
    const { log } = made;
    expect(await made.status({ old: 6, proof: [], note: log.note(5) })).toBe(400);
    for (const note of ["", "text\n", log.text(5), log.sign("one line\n"), log.sign(`${log.origin}\n05\n`)]) {
      expect(await made.status({ old: 0, proof: [], note })).toBe(400);
    }
  });

  test("409 and the size that it has cosigned to another old size", async () => {
    using made = testWitness();
    const { log, witness } = made;
    expect(await witness.add(log.submission(3, 5))).toEqual({ status: 409, size: 0 });
    await witness.add(log.submission(0, 5));
    expect(await witness.add(log.submission(0, 5))).toEqual({ status: 409, size: 5 });
    expect(await witness.add(log.submission(4, 9))).toEqual({ status: 409, size: 5 });
    expect(await witness.add(log.submission(0, 3))).toEqual({ status: 409, size: 5 });
  });

  test("422 to a proof where none is needed, a wrong one, and another root of the same size", async () => {
    using made = testWitness();
    const { log } = made;
    expect(await made.status({ ...log.submission(0, 5), proof: log.proof(3, 5) })).toBe(422);
    await made.witness.add(log.submission(0, 5));
    expect(await made.status({ ...log.submission(5, 9), proof: [] })).toBe(422);
    expect(await made.status({ ...log.submission(5, 9), proof: log.proof(4, 9) })).toBe(422);
    expect(await made.status(log.forkedAt(3).submission(5, 9))).toBe(422);
    expect(await made.status(log.forkedAt(3).submission(5, 5))).toBe(422);
    expect(await made.status({ ...log.submission(5, 5), proof: log.proof(3, 5) })).toBe(422);
  });

  test("422 to a log without leaves whose root is not the hash of nothing", async () => {
    using made = testWitness();
    const root = Buffer.alloc(32).toString("base64");
    const note = made.log.sign(`${made.log.origin}\n0\n${root}\n`);
    expect(await made.status({ old: 0, proof: [], note })).toBe(422);
  });
});

describe("a witness", () => {
  test("serves the newest checkpoint with the signature of the log and its own", async () => {
    using made = testWitness();
    const { log, witness } = made;
    const hash = originHash(log.origin);
    expect(witness.latest(hash)).toBeUndefined();
    await witness.add(log.submission(0, 5));
    const note = parseNote(witness.latest(hash) ?? "");
    expect(note.text).toBe(log.text(5));
    expect(verifiedBy(note, parseVerifierKey(log.vkey))).toBeDefined();
    expect(verifiedBy(note, parseVerifierKey(witness.vkey))).toBeDefined();
  });

  test("cosigns one of many checkpoints that come at once, and remembers it", async () => {
    using made = testWitness();
    const { log, witness } = made;
    const answers = await Promise.all([5, 7, 9].map((size) => witness.add(log.submission(0, size))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const size = [5, 7, 9][answers.findIndex(({ status }) => status === 200)] ?? 0;
    const again = createWitness({ store: made.store, key: openSigningKey(`${made.folder}/witness_key`) });
    expect(await again.add(log.submission(0, 5))).toEqual({ status: 409, size });
  });

  test("keeps what proves a fork, and nothing that proves none", async () => {
    using made = testWitness();
    const { log, witness, store } = made;
    await witness.add(log.submission(0, 100));
    await witness.add({ ...log.submission(100, 200), proof: [] });
    expect(store.evidence(log.origin)).toEqual([]);
    await witness.add(log.forkedAt(50).submission(100, 200));
    const [file = ""] = store.evidence(log.origin);
    expect(checkEvidence(parseEvidence(file))).toMatchObject({ origin: log.origin, sizes: [100, 200] });
    for (let at = 20; at < 50; at++) await witness.add(log.forkedAt(at).submission(100, 200));
    expect(store.evidence(log.origin)).toHaveLength(8);
  });

  test("keeps what proves a fork where both checkpoints, of one size, came at once", async () => {
    using made = testWitness();
    const { log, witness, store, published } = made;
    const both = [log, log.forkedAt(50)].map((one) => witness.add(one.submission(0, 100)));
    expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 409]);
    const [file = ""] = store.evidence(log.origin);
    expect(checkEvidence(parseEvidence(file))).toMatchObject({ sizes: [100, 100] });
    expect(published).toHaveLength(1);
  });

  test("publishes a contradiction once, however often it is shown", async () => {
    using made = testWitness();
    const { log, witness, published } = made;
    await witness.add(log.submission(0, 100));
    for (const at of [50, 50, 50, 40, 50])
      await witness.add({ ...log.submission(100, 200), ...log.forkedAt(at).submission(100, 200) });
    expect(published).toHaveLength(2);
  });

  test("keeps what proves a new fork of a log that began anew, however many it had before", async () => {
    using made = testWitness();
    const { log, witness, store } = made;
    await witness.add(log.submission(0, 100));
    for (let at = 20; at < 50; at++) await witness.add(log.forkedAt(at).submission(100, 200));
    store.register({ ...log, epoch: 1 });
    expect(store.hasEvidence(log.origin)).toBe(false);
    await witness.add(log.submission(0, 100));
    await witness.add(log.forkedAt(20).submission(100, 200));
    expect([store.hasEvidence(log.origin), store.evidence(log.origin).length]).toEqual([true, 9]);
  });

  test("that knows as many logs as it may forgets those cosigned longest ago, but no evidence and none of a host", async () => {
    using folder = temporaryFolder();
    let now = 1_800_000_000_000;
    using store = Object.assign(openStore(`${folder.path}/small.db`, 4), {
      [Symbol.dispose]: () => store.close(),
    });
    const witness = createWitness({ store, key: openSigningKey(`${folder.path}/key`), now: () => now });
    const logs = ["1", "2", "3", "4"].map((digit) => testLog(folder.path, `svc.host/${digit.repeat(16)}`));
    for (const log of logs) {
      store.register({ ...log, epoch: 0 });
      await witness.add(log.submission(0, 10));
      now += 1_000;
    }
    const [first, second, third] = logs as [TestLog, TestLog, TestLog];
    store.setStatus("1".repeat(32), { ...newLogStatus(), origin: first.origin });
    store.setStatus("2".repeat(32), {
      ...newLogStatus(),
      origin: second.origin,
      left: "2030-01-01T00:00:00Z",
    });
    await witness.add(second.forkedAt(5).submission(10, 20));
    store.register({ ...testLog(folder.path, "svc.host/5555555555555555"), epoch: 0 });
    expect([store.head(first.origin)?.size, store.log(second.origin), store.head(second.origin)]).toEqual([
      10,
      undefined,
      undefined,
    ]);
    expect([store.log(third.origin), store.evidence(second.origin).length]).toEqual([undefined, 1]);
  });

  test("begins anew with a log whose desk says so, and keeps its key", async () => {
    using made = testWitness();
    using elsewhere = temporaryFolder();
    const { log, store } = made;
    await made.witness.add(log.submission(0, 100));
    store.register({ ...log, vkey: testLog(elsewhere.path).vkey, epoch: 0 });
    expect(store.head(log.origin)?.size).toBe(100);
    store.register({ ...log, vkey: testLog(elsewhere.path).vkey, epoch: 1 });
    expect(store.head(log.origin)).toBeUndefined();
    expect(store.log(log.origin)?.vkey).toBe(log.vkey);
    expect(await made.status(log.submission(0, 50))).toBe(200);
  });

  test("writes no earlier time than before where its clock was set back by minutes", async () => {
    let now = 1_800_000_000_000;
    using made = testWitness(() => now);
    await made.witness.add(made.log.submission(0, 5));
    now -= 300_000;
    await made.witness.add(made.log.submission(5, 6));
    expect(made.store.head(made.log.origin)?.cosigned).toBe(1_800_000_000);
  });

  test("whose clock was ahead writes the right time once it is right, also for the same checkpoint", async () => {
    const right = 1_800_000_000_000;
    let now = right + 400 * 86_400_000;
    using made = testWitness(() => now);
    const { log, witness, store } = made;
    await witness.offer(log.submission(0, 5));
    now = right;
    expect(await witness.offer(log.submission(5, 5))).toMatchObject({ status: 200 });
    expect(store.head(log.origin)?.cosigned).toBe(right / 1_000);
    now += 20_000;
    await witness.offer(log.submission(5, 6));
    expect(store.head(log.origin)?.cosigned).toBe(right / 1_000 + 20);
    // Its safety is in the sizes, whatever the times are.
    expect(await made.status(log.forkedAt(3).submission(6, 9))).toBe(422);
  });
});

describe("what others offer", () => {
  test("a second time gets the same cosignature, and costs no commit", async () => {
    let now = 1_800_000_000_000;
    using made = testWitness(() => now);
    const { log, witness, store } = made;
    await witness.offer(log.submission(0, 5));
    const first = store.head(log.origin)?.note;
    using commits = spyOn(store, "commit");
    now += 9_000;
    for (let again = 0; again < 100; again++) {
      const answer = await witness.offer(log.submission(5, 5));
      expect(answer.status === 200 && first?.endsWith(answer.cosignatures)).toBe(true);
    }
    expect(commits).not.toHaveBeenCalled();
    now += 2_000;
    await witness.offer(log.submission(5, 5));
    expect(store.head(log.origin)?.cosigned).toBe(1_800_000_011);
  });

  test("is cosigned only so often for one log, and what the desk itself fetches always", async () => {
    using clock = spyOn(performance, "now").mockReturnValue(1_000);
    using made = testWitness();
    const { log, witness, store } = made;
    const other = testLog(made.folder, "svc.host/ffffffffffffffff");
    store.register({ ...other, epoch: 0 });
    for (let size = 0; size < 30; size++)
      expect(await witness.offer(log.submission(size, size + 1))).toMatchObject({ status: 200 });
    expect(await witness.offer(log.submission(30, 31))).toMatchObject({ status: 429 });
    expect(await witness.offer(other.submission(0, 31))).toMatchObject({ status: 200 });
    expect(await made.status(log.submission(30, 31))).toBe(200);
    clock.mockReturnValue(3_000);
    expect(await witness.offer(log.submission(31, 32))).toMatchObject({ status: 200 });
  });

  test("waits in a queue of limited length", async () => {
    using made = testWitness();
    const { log, witness } = made;
    const submission = log.submission(0, 5);
    const answers = await Promise.all(Array.from({ length: 1_030 }, () => witness.offer(submission)));
    expect(answers.filter(({ status }) => status === 503)).toHaveLength(6);
    expect(answers.filter(({ status }) => status === 200)).not.toHaveLength(0);
  });
});

describe("the request", () => {
  test("reads as it was written", () => {
    using made = testWitness();
    for (const [old, size] of [
      [0, 5],
      [5, 5],
      [5, 300],
    ] as const) {
      const submission = made.log.submission(old, size);
      expect(parseSubmission(submissionText(submission))).toEqual(submission);
    }
  });

  test("is refused where a line is not as the specification has it", () => {
    using made = testWitness();
    const whole = submissionText(made.log.submission(5, 300));
    const [, hash = ""] = whole.split("\n");
    const bad = [
      "",
      whole.replace("old 5", "old 05"),
      whole.replace("old 5", "old -5"),
      whole.replace("old 5", "old  5"),
      whole.replace("old 5", "Old 5"),
      whole.replace("old 5", "old 99999999999999999999"),
      whole.replace(hash, hash.slice(4)),
      whole.replace(hash, ` ${hash}`),
      whole.replace(hash, Array.from({ length: 64 }, () => hash).join("\n")),
      whole.replaceAll("\n", "\r\n"),
    ];
    for (const body of bad) expect(parseSubmission(body)).toBeUndefined();
  });

  test("has an answer that reads as it was written, a size in a type of its own", async () => {
    using made = testWitness();
    await made.witness.add(made.log.submission(0, 5));
    for (const submission of [
      made.log.submission(5, 6),
      made.log.submission(0, 6),
      made.log.forkedAt(0).submission(6, 7),
    ]) {
      const answer = await made.witness.add(submission);
      const response = answerResponse(answer);
      const type = response.headers.get("content-type");
      expect(type).toBe(answer.status === 409 ? "text/x.tlog.size" : "text/plain; charset=utf-8");
      expect(parseAnswer(response.status, await response.text())).toEqual(answer);
    }
  });
});
