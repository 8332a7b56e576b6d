/** A desk that looks at the audit logs of its hosts. */
import { Database } from "bun:sqlite";
import { describe, expect, setSystemTime, spyOn, test } from "bun:test";
import * as v from "valibot";
import { serverOf } from "../../../src/desk/fleet/host";
import { createCollector, pauseFor } from "../../../src/desk/witness/collector";
import { createFormer } from "../../../src/desk/witness/former";
import { listWitnessed, showFork } from "../../../src/desk/witness/operations";
import { newLogStatus, watchedIn } from "../../../src/desk/witness/states";
import { isSignedBy, openSigningKey } from "../../../src/lib/signing-key";
import { checkEvidence, parseEvidence } from "../../../src/wire/witness/evidence";
import { RESTORED, restoredMessage } from "../../../src/wire/witness/messages";
import {
  COSIGNATURE,
  cosignNote,
  formatVerifierKey,
  parseNote,
  parseVerifierKey,
  verifiedBy,
  verifierKey,
} from "../../../src/wire/witness/signed-note";
import { openStore, originHash } from "../../../src/wire/witness/store";
import { createWitness } from "../../../src/wire/witness/witness";
import { CALLER } from "../../host/diagnostics/support";
import { movableClock, temporaryFolder, until } from "../../support";
import { ownLog, testHost, testLog, verifyRow } from "./support";

interface Answer {
  readonly proof: string;
  readonly consistency: readonly string[];
}

/** A clock that says another time, until the scope ends. */
function clockAt(time: string): Disposable {
  setSystemTime(new Date(time));
  return { [Symbol.dispose]: () => void setSystemTime() };
}

/** A desk of so many hosts, which looks when a test says so. */
function testDesk(count: number, mostCollecting = 100) {
  const folder = temporaryFolder();
  const clock = movableClock();
  const hosts = Array.from({ length: count }, (_, at) => testHost(folder.path, `host-${at}`));
  const deskKey = openSigningKey(`${folder.path}/desk_key`);
  const happened: unknown[] = [];
  const warned: string[] = [];
  const open = (file = "desk.db") => {
    const store = openStore(`${folder.path}/${file}`);
    const witness = createWitness({ store, key: openSigningKey(`${folder.path}/desk_witness`) });
    const collector = createCollector({
      mostCollecting,
      ...{ store, witness, deskKey, verifyRow, log: { warn: (text: string) => void warned.push(text) } },
      book: { hosts: () => hosts.map(({ entry }) => entry), reach: (entry) => serverOf(entry) },
      publish(type, data) {
        happened.push([type.name, data]);
        made.onPublish();
      },
    });
    return { store, witness, collector };
  };
  let now = open();
  /** What the desk finds at the first host, or another, after some seconds. */
  const look = async (after_s = 12, at = 0) => {
    clock.advance(after_s * 1_000);
    return now.collector.lookNow(`host-${at}`);
  };
  const made = {
    clock,
    onPublish() {},
    deskKey,
    happened,
    warned,
    folder: folder.path,
    hosts,
    host: hosts[0] as (typeof hosts)[number],
    get store() {
      return now.store;
    },
    get witness() {
      return now.witness;
    },
    look,
    /** As `look`, once the log of the first host has so many rows. */
    lookAt(size: number) {
      made.host.size = size;
      return look();
    },
    /** Lets the desk look by itself. */
    start: () => now.collector.start(),
    restore: (reason: string) => now.collector.restore("host-0", reason, new AbortController().signal),
    statuses: () => now.collector.statuses(),
    forget: (label: string) => now.collector.forget(label),
    /** The first host leaves. */
    async leave() {
      const [host] = hosts.splice(0, 1);
      await now.collector.lookNow("host-1");
      return host;
    },
    /** It does, and joins again after `meanwhile`. */
    async leaveAndJoin(meanwhile = () => {}) {
      const host = await made.leave();
      meanwhile();
      if (host) hosts.unshift(host);
    },
    /** What the operations of a desk use. */
    service: {
      addressBook: async () => ({ hosts: () => hosts.map(({ entry }) => entry) }),
      watchedLogs: async () => now.collector,
      foundLogs: async () => watchedIn(now.collector.statuses()),
      existingWitness: async () => now,
    },
    /** Another process of the desk, perhaps one that has lost what it knew. */
    restart(file?: string) {
      now.collector.stop();
      now.store.close();
      now = open(file);
    },
    [Symbol.dispose]() {
      now.collector.stop();
      now.store.close();
      for (const host of hosts) host[Symbol.dispose]();
      clock[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
  return made;
}

describe("the log of a host is", () => {
  test("ok while each checkpoint goes on from the one before, also when it does not grow by itself", async () => {
    using desk = testDesk(1);
    for (const size of [10, 10, 17, 64, 64, 200]) {
      desk.host.size = Math.max(desk.host.size, size);
      expect(await desk.look()).toMatchObject({ state: "ok", reason: "" });
    }
    expect(desk.store.head(desk.host.log.origin)?.size).toBe(200);
  });

  test("shrank when it has fewer rows than the desk has cosigned, and stays so", async () => {
    using desk = testDesk(1);
    await desk.lookAt(100);
    expect(await desk.lookAt(60)).toMatchObject({ state: "shrank", reason: expect.stringContaining("60") });
    expect(await desk.lookAt(120)).toMatchObject({ state: "shrank" });
    expect(desk.happened.at(-1)).toEqual([
      "witness.changed",
      expect.objectContaining({ state: "shrank", former: "ok" }),
    ]);
  });

  for (const [size, later, at] of [
    [100, 100, 50],
    [100, 180, 99],
    [64, 180, 5],
  ] as const) {
    test(`forked when row ${at} is another than in the ${size} that were cosigned, and ${later} prove it`, async () => {
      using desk = testDesk(1);
      desk.host.growsBy = 0;
      await desk.lookAt(size);
      const { log } = desk.host;
      desk.host.log = log.forkedAt(at);
      expect(await desk.lookAt(later)).toMatchObject({ state: "forked" });
      const [file = ""] = desk.store.evidence(log.origin);
      expect(checkEvidence(parseEvidence(file))).toMatchObject({ origin: log.origin, sizes: [size, later] });
      desk.host.log = log;
      expect(await desk.look()).toMatchObject({ state: "forked" });
    });
  }

  test("of a changed key when another signs, in its own name or in that of the first", async () => {
    using desk = testDesk(1);
    using elsewhere = temporaryFolder();
    const { log } = desk.host;
    await desk.look();
    desk.host.log = testLog(elsewhere.path, log.origin);
    expect(await desk.look()).toMatchObject({
      state: "key_changed",
      reason: expect.stringContaining("signed"),
    });
    desk.restart("other.db");
    desk.host.log = log;
    await desk.look();
    desk.host.log = testLog(elsewhere.path, "svc.host/eeeeeeeeeeeeeeee");
    expect(await desk.look()).toMatchObject({
      state: "key_changed",
      reason: expect.stringContaining("name"),
    });
  });

  test("late, then silent, when the host does not answer; ok when it does", async () => {
    using desk = testDesk(1);
    expect(await desk.look()).toMatchObject({ state: "ok" });
    desk.host.isUp = false;
    expect(await desk.look()).toMatchObject({ state: "ok" });
    expect(await desk.look(30)).toMatchObject({ state: "late" });
    expect(await desk.look(30)).toMatchObject({ state: "silent" });
    desk.host.isUp = true;
    expect(await desk.look()).toMatchObject({ state: "ok", reason: "" });
  });

  test("silent when the host answers, but what the desk changes there leaves no row", async () => {
    using desk = testDesk(1);
    await desk.look();
    desk.host.growsBy = 0;
    for (let passed = 0; passed < 90; passed += 12) await desk.look();
    expect(await desk.look()).toMatchObject({ state: "silent", reason: expect.stringContaining("no row") });
    desk.host.size += 1;
    expect(await desk.look()).toMatchObject({ state: "ok" });
  });

  for (const status of [400, 404, 409, 429, 500]) {
    test(`silent when the host answers ${status} to what the desk hands back, and its log gets no row`, async () => {
      using desk = testDesk(1);
      desk.host.handBackStatus = status;
      await desk.look();
      desk.host.growsBy = 0;
      for (let passed = 0; passed < 96; passed += 12) await desk.look();
      expect(await desk.look()).toMatchObject({ state: "silent", reason: expect.stringContaining("no row") });
    });
  }

  test("silent when the host twice does not answer to what the desk hands back; ok when it does", async () => {
    using desk = testDesk(1);
    desk.host.handBackStatus = undefined;
    desk.host.growsBy = 0;
    await desk.look();
    expect(await desk.look()).toMatchObject({ state: "ok" });
    await desk.look(45);
    expect(await desk.look()).toMatchObject({ state: "silent", reason: expect.stringContaining("handed") });
    desk.host.handBackStatus = 200;
    desk.host.growsBy = 2;
    await desk.look(45);
    expect(await desk.look()).toMatchObject({ state: "ok" });
  });

  test("silent still when its log has no row, and the desk starts anew; ok once it has grown", async () => {
    using desk = testDesk(1);
    desk.host.growsBy = 0;
    for (let passed = 0; passed < 96; passed += 12) await desk.look();
    desk.restart();
    expect(await desk.look()).toMatchObject({ state: "silent", reason: expect.stringContaining("no row") });
    desk.host.size += 2;
    expect(await desk.look()).toMatchObject({ state: "ok", reason: "" });
  });

  test("silent when the host gives an old checkpoint and an error in turn", async () => {
    using desk = testDesk(1);
    await desk.look();
    desk.host.growsBy = 0;
    for (let passed = 0; passed < 60; passed += 12) await desk.look();
    for (let round = 0; round < 12; round++) {
      desk.host.isUp = round % 2 === 1;
      await desk.look();
    }
    expect(await desk.look()).toMatchObject({ state: "silent", reason: expect.stringContaining("no row") });
  });

  test("ok when the host was away while it owed a row, and has that soon after", async () => {
    using desk = testDesk(1);
    desk.host.growsBy = 0;
    await desk.look();
    desk.host.isUp = false;
    for (let passed = 0; passed < 48; passed += 12) await desk.look();
    desk.host.isUp = true;
    expect(await desk.look()).toMatchObject({ state: "ok" });
    desk.host.size += 1;
    expect(await desk.look()).toMatchObject({ state: "ok" });
  });

  test("unknown where the host has none", async () => {
    using desk = testDesk(1);
    desk.host.isUp = false;
    expect(await desk.look(100)).toMatchObject({ state: "unknown", reason: "HTTP 500: it is away" });
  });
});

describe("the reason why a log is silent says whether", () => {
  const silent = async (desk: ReturnType<typeof testDesk>) => {
    for (let passed = 0; passed < 72; passed += 12) {
      await desk.look();
      await desk.look(0, 1);
    }
    return desk.look();
  };

  test("other hosts answer this desk", async () => {
    using desk = testDesk(2);
    await desk.look();
    desk.host.stop();
    const { state, reason } = await silent(desk);
    expect([state, reason]).toEqual(["silent", expect.stringMatching(/.; other hosts answer this desk$/)]);
  });

  test("no other host does", async () => {
    using desk = testDesk(2);
    await desk.look();
    await desk.look(0, 1);
    for (const host of desk.hosts) host.stop();
    const { state, reason } = await silent(desk);
    expect([state, reason]).toEqual(["silent", expect.stringContaining("its own network may be at fault")]);
  });

  test("the host answers something, which is said as it is", async () => {
    using desk = testDesk(2);
    await desk.look();
    desk.host.shows = () => undefined;
    const { state, reason } = await silent(desk);
    expect([state, reason]).toEqual(["silent", "HTTP 503: not now"]);
  });
});

describe("the log of a host is unknown, with the reason, where", () => {
  test("its name is not that of its key", async () => {
    using desk = testDesk(1);
    using elsewhere = temporaryFolder();
    const { origin } = desk.host.log;
    desk.host.log = testLog(elsewhere.path, origin);
    const { state, reason } = await desk.look();
    expect([state, reason]).toEqual(["unknown", expect.stringContaining(`names its log ${origin}, but`)]);
    expect(desk.store.log(origin)).toBeUndefined();
  });

  test("it is that of another host, also where that one is looked at later", async () => {
    using desk = testDesk(2);
    const [host, other] = desk.hosts;
    if (other && host) Object.assign(other, { log: host.log, owner: host.owner });
    const { state, reason } = await desk.look(0, 1);
    expect([state, reason]).toEqual(["unknown", "the host shows the audit log of another host"]);
    expect(await desk.look()).toMatchObject({ state: "ok" });
  });

  test("its key is also that of another host", async () => {
    using desk = testDesk(2);
    await desk.look();
    const other = desk.hosts[1];
    if (other) other.log = desk.host.log;
    const { state, reason } = await desk.look(0, 1);
    expect([state, reason]).toEqual(["unknown", expect.stringContaining("the same log as host-0")]);
    expect(await desk.look()).toMatchObject({ state: "ok" });
  });

  test("nothing says that it is its own", async () => {
    using desk = testDesk(1);
    desk.host.owner = null;
    const { state, reason } = await desk.look();
    expect([state, reason]).toEqual(["unknown", expect.stringContaining("update svc there")]);
  });

  test("the desk's own witness does not cosign it", async () => {
    using desk = testDesk(1);
    desk.witness.add = async () => ({ status: 503, reason: "the disk is full" });
    const { state, reason } = await desk.look();
    expect([state, reason]).toEqual(["unknown", "this desk does not cosign: the disk is full"]);
  });
});

test("a log that the desk's own witness cosigns no longer is late, then silent", async () => {
  using desk = testDesk(1);
  await desk.look();
  desk.witness.add = async () => ({ status: 503, reason: "the disk is full" });
  desk.host.size += 40;
  for (const state of ["ok", "late", "silent"]) {
    expect(await desk.look(state === "ok" ? 12 : 30)).toMatchObject({ state });
  }
  expect(await desk.look()).toMatchObject({ reason: "this desk does not cosign: the disk is full" });
});

describe("cosignatures", () => {
  test("of the desk and of three peers are handed back, and are good", async () => {
    using desk = testDesk(6);
    for (let at = 0; at < 6; at++) await desk.look(0, at);
    const [{ note, witnesses } = { note: "", witnesses: [] }] = desk.host.handed;
    const known = desk.hosts.slice(1).map(({ witness }) => witness.vkey);
    expect(witnesses).toHaveLength(4);
    expect([desk.witness.vkey, ...known]).toEqual(expect.arrayContaining(witnesses));
    const signed = parseNote(note);
    for (const vkey of witnesses) expect(verifiedBy(signed, parseVerifierKey(vkey))?.time).toBeGreaterThan(0);
  });

  test("come from other peers where one does not witness", async () => {
    using desk = testDesk(6);
    await desk.look();
    const [first = ""] = (await desk.look(60)).peers;
    const peer = desk.hosts.find(({ entry }) => entry.member.host_id === first);
    if (peer) peer.witnesses = false;
    await desk.look(60);
    const { peers } = await desk.look(60);
    expect(peers).toHaveLength(3);
    expect(peers).not.toContain(first);
  });

  test("are handed back once in a while where the log grows by those rows only", async () => {
    using desk = testDesk(1);
    for (let passed = 0; passed < 600; passed += 12) await desk.look();
    expect(desk.host.handed.length).toBeLessThan(16);
    expect(desk.host.handed.length).toBeGreaterThan(9);
    desk.host.size += 30;
    const before = desk.host.handed.length;
    await desk.look();
    expect(desk.host.handed.length).toBe(before + 1);
  });
});

describe("peers", () => {
  test("object where the log shows them another face than a desk that has lost what it knew", async () => {
    using desk = testDesk(4);
    await desk.lookAt(100);
    desk.restart("empty.db");
    const { log } = desk.host;
    desk.host.log = log.forkedAt(50);
    expect(await desk.lookAt(150)).toMatchObject({
      state: "forked",
      reason: expect.stringMatching(/from the 100 leaves that host-\d has cosigned/),
    });
    const [file = ""] = desk.store.evidence(log.origin);
    expect(checkEvidence(parseEvidence(file))).toMatchObject({ sizes: [100, 150] });
  });

  test("object where the log has shrunk", async () => {
    using desk = testDesk(4);
    await desk.lookAt(100);
    desk.restart("empty.db");
    expect(await desk.lookAt(60)).toMatchObject({
      state: "shrank",
      reason: expect.stringMatching(/host-\d has cosigned 100/),
    });
  });
});

describe("where peers have cosigned 100 leaves and the desk has lost what it knew, the log is", () => {
  const forgetful = async () => {
    const desk = testDesk(4);
    await desk.lookAt(100);
    desk.restart("empty.db");
    return desk;
  };

  test("shrank, whatever size the host says beside its checkpoint", async () => {
    using desk = await forgetful();
    desk.host.size = 60;
    desk.host.shows = (answer) => ({ ...answer, size: 1_000_000 });
    expect(await desk.look()).toMatchObject({
      state: "shrank",
      reason: expect.stringMatching(/60 leaves, but host-\d has cosigned 100/),
    });
  });

  test("forked where the host gives no proof that it goes on from these, or a wrong one", async () => {
    for (const proof of [null, [], ["AAAA"]]) {
      using desk = await forgetful();
      desk.host.log = desk.host.log.forkedAt(50);
      desk.host.size = 150;
      desk.host.shows = (answer) => (answer.old === 0 ? answer : { ...answer, proof });
      expect(await desk.look()).toMatchObject({ state: "forked", peers: [] });
    }
  });

  test("in doubt, which is said, where the host does not answer about these; its peers are asked on", async () => {
    using desk = await forgetful();
    desk.host.log = desk.host.log.forkedAt(50);
    desk.host.size = 150;
    desk.host.shows = (answer) => (answer.old === 0 || answer.old === 150 ? answer : undefined);
    const { state, claims } = await desk.look();
    expect([state, claims.length]).toEqual(["ok", 3]);
    expect(claims[0]).toMatch(/^host-\d has cosigned 100 leaves, and the host does not show/);
    desk.host.shows = (answer) => answer;
    expect(await desk.look(60)).toMatchObject({ state: "forked" });
  });
});

test("a size that a peer does not prove is said, and breaks nothing", async () => {
  using desk = testDesk(4);
  const liar = desk.hosts[1];
  if (liar) liar.claims = 5_000;
  const { state, claims, peers } = await desk.look();
  expect([state, claims, peers.length]).toEqual([
    "ok",
    ["host-1 reports 5000 leaves, but shows no checkpoint of them"],
    2,
  ]);
  if (liar) liar.claims = undefined;
  expect(await desk.look(60)).toMatchObject({ state: "ok", claims: [] });
});

/** Seconds since 1970. */
const now = () => Math.floor(Date.now() / 1_000);

/** What a peer answers that signs with the key in `file`. */
const signer = (file: string, name: string, time: number) => (_lines: string, submission: string) => {
  const { text } = parseNote(submission.slice(submission.indexOf("\n\n") + 2));
  return cosignNote(text, name, openSigningKey(file), time);
};

describe("what a hostile peer answers voids no cosignature of others, and is said, where it", () => {
  type Desk = ReturnType<typeof testDesk>;
  type Lie = (desk: Desk, liar: Desk["host"]) => Partial<Desk["host"]>;
  const lies: ReadonlyArray<readonly [string, Lie, RegExp]> = [
    [
      "names the key of the log as its own",
      ({ host }) => ({ witnessKey: host.log.vkey }),
      /that of a witness/,
    ],
    [
      "has a key with another name, which may be long",
      ({ folder }) => {
        const name = `svc.witness/${"x".repeat(300)}`;
        const { publicKey } = openSigningKey(`${folder}/liar`);
        const witnessKey = formatVerifierKey(verifierKey(name, COSIGNATURE, publicKey));
        return { witnessKey, cosigns: signer(`${folder}/liar`, name, now()) };
      },
      /that of a witness/,
    ],
    [
      "shows a false signature",
      () => ({ cosigns: (lines) => lines.replace(/(....)==?\n$/, (end) => `AAAA${end.slice(4)}`) }),
      /no good cosignature/,
    ],
    [
      "signs for a year to come",
      ({ folder }, { witness }) => ({
        cosigns: signer(`${folder}/host-1-witness`, witness.name, now() + 31_536_000),
      }),
      /its time is 3153\d{4} s after the clock of this desk/,
    ],
    [
      "signs for 1970",
      ({ folder }, { witness }) => ({ cosigns: signer(`${folder}/host-1-witness`, witness.name, 0) }),
      /its time is \d+ s before the clock/,
    ],
    [
      "shows a cosignature of the desk as its own",
      ({ folder, witness }) => ({
        witnessKey: witness.vkey,
        cosigns: signer(`${folder}/desk_witness`, witness.name, now()),
      }),
      /same key as another witness/,
    ],
  ];
  for (const [what, lie, said] of lies) {
    test(what, async () => {
      using desk = testDesk(3);
      const [, liar, honest] = desk.hosts;
      if (!liar || !honest) throw new Error("too few hosts");
      Object.assign(liar, lie(desk, liar));
      const { state, peers, claims } = await desk.look();
      expect([state, peers]).toEqual(["ok", [honest.entry.member.host_id]]);
      expect(claims).toEqual([expect.stringMatching(said)]);
      expect(desk.host.handed[0]?.witnesses).toEqual([desk.witness.vkey, honest.witness.vkey]);
    });
  }

  test("adds lines: those of others, of the desk, and many", async () => {
    using desk = testDesk(2);
    const [host, liar] = desk.hosts;
    if (!host || !liar) throw new Error("too few hosts");
    const false_ = cosignNote(
      "another text\n",
      desk.witness.name,
      openSigningKey(`${desk.folder}/desk_witness`),
      1,
    );
    const padding = cosignNote("text\n", "x".repeat(800), openSigningKey(`${desk.folder}/liar`), 1);
    liar.cosigns = (lines) => `${lines}${false_}${padding.repeat(50)}`;
    expect(await desk.look()).toMatchObject({ state: "ok", claims: [], peers: [liar.entry.member.host_id] });
    const [{ note, witnesses } = { note: "", witnesses: [] }] = host.handed;
    expect(witnesses).toEqual([desk.witness.vkey, liar.witness.vkey]);
    const names = parseNote(note).signatures.map(({ name }) => name);
    expect(names).toEqual([host.log.origin, desk.witness.name, liar.witness.name]);
  });
});

test("a host that keeps no cosignatures is said, with its answer", async () => {
  using desk = testDesk(1);
  desk.host.handBackStatus = 403;
  expect((await desk.look()).claims).toEqual(["the host keeps no cosignatures: HTTP 403"]);
  desk.host.handBackStatus = 200;
  expect((await desk.look(60)).claims).toEqual([]);
});

describe("while a peer does not answer", () => {
  const slow = async (mostCollecting?: number) => {
    const desk = testDesk(3, mostCollecting);
    const [, peer] = desk.hosts;
    if (!peer) throw new Error("too few hosts");
    const asked = Promise.withResolvers<void>();
    peer.cosigns = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const over = new AbortController();
    const timers = spyOn(AbortSignal, "timeout").mockReturnValueOnce(over.signal);
    const looking = desk.look();
    await asked.promise;
    timers.mockRestore();
    const end = () => {
      peer.cosigns = (lines) => lines;
      over.abort(new DOMException("it is late", "TimeoutError"));
      return looking;
    };
    return Object.assign(desk, { peer, end });
  };

  test("the others' cosignatures are handed back in time, and it is not asked for a while", async () => {
    using desk = await slow();
    const hash = originHash(desk.host.log.origin);
    const other = desk.hosts[2];
    await until("the other has cosigned", () => other?.witness.latest(hash) !== undefined);
    // What it answered before is here then.
    for (let turn = 0; turn < 3; turn++) await fetch(`${other?.entry.base_url}/witness/${hash}/checkpoint`);
    desk.clock.advance(6_000);
    expect(await desk.end()).toMatchObject({ state: "ok", peers: [other?.entry.member.host_id] });
    expect(desk.host.handed[0]?.witnesses).toHaveLength(2);
    expect((await desk.look(48)).peers).not.toContain(desk.peer.entry.member.host_id);
  });

  test("and the host took the time, it is asked again", async () => {
    using desk = await slow();
    await desk.end();
    expect((await desk.look(48)).peers).toHaveLength(2);
  });

  test("other hosts are looked at, but of so many at a time no peers are asked", async () => {
    using desk = await slow(1);
    expect(await desk.look(0, 2)).toMatchObject({ state: "ok", peers: [] });
    expect(desk.hosts[2]?.handed).toEqual([]);
    await desk.end();
    expect(await desk.look(0, 2)).toMatchObject({ state: "ok" });
    expect(desk.hosts[2]?.handed).toHaveLength(1);
  });
});

describe("a host that has found rows of its log altered", () => {
  const rows = (...ids: Array<number | null>) => ({
    verified_at: "2030-01-01T00:00:00.000Z",
    altered: ids.map((id) => ({ id, reason: "it was edited" })),
  });

  test("says so with its checkpoint: its log is forked until an operator accepts those rows", async () => {
    using desk = testDesk(1);
    const show = (...ids: Array<number | null>) => {
      desk.host.shows = (answer) => ({ ...answer, rows: rows(...ids) });
    };
    show();
    expect(await desk.look()).toMatchObject({
      state: "ok",
      verified: "2030-01-01T00:00:00.000Z",
      altered: [],
    });
    show(5);
    const reason = "the host has found row 5 altered: it was edited";
    expect(await desk.look()).toMatchObject({ state: "forked", reason, altered: [5] });
    // Whoever puts the row back has altered it all the same.
    show();
    expect(await desk.look()).toMatchObject({ state: "forked", reason });
    show(5, 7);
    await desk.look();
    await desk.restore("we have edited them");
    expect(await desk.look()).toMatchObject({ state: "restored", accepted: [5, 7] });
    show(5, 7, null);
    expect(await desk.look()).toMatchObject({
      state: "forked",
      reason: "the host has found its log altered: it was edited",
    });
  });

  test("and says nonsense about them, shows no checkpoint", async () => {
    using desk = testDesk(1);
    await desk.look();
    desk.host.shows = (answer) => ({ ...answer, rows: { verified_at: "yesterday", altered: [] } });
    expect(await desk.look(70)).toMatchObject({ state: "silent" });
  });
});

describe("a restored log", () => {
  test("is accepted with a row that the desk has signed, and is watched from there on, by peers too", async () => {
    using desk = testDesk(4);
    await desk.lookAt(100);
    desk.host.log = desk.host.log.forkedAt(50);
    expect(await desk.lookAt(60)).toMatchObject({ state: "shrank" });
    await desk.restore("the disk was replaced");
    const { signature, ...about } = v.parse(RESTORED, desk.host.restored[0]);
    expect(about).toMatchObject({ former_size: 100, size: 60, reason: "the disk was replaced" });
    expect(
      isSignedBy(desk.deskKey.publicKey, restoredMessage(desk.host.entry.member, about), signature),
    ).toBe(true);
    const after = await desk.look(60);
    expect(after).toMatchObject({ state: "restored", reason: "the disk was replaced", size: 61 });
    expect(after.peers).toHaveLength(3);
    expect(await desk.lookAt(40)).toMatchObject({ state: "shrank" });
  });

  test("is accepted again by a desk that has lost what it knew, and by its peers, and after the host left", async () => {
    using desk = testDesk(4);
    const breakAndRestore = async (size: number) => {
      desk.host.size = size;
      expect(await desk.look(60)).toMatchObject({ state: "shrank" });
      await desk.restore("once more");
      const after = await desk.look(60);
      expect(after).toMatchObject({ state: "restored", size: size + 1 });
      expect(after.peers).toHaveLength(3);
    };
    await desk.lookAt(100);
    await breakAndRestore(80);
    await desk.leaveAndJoin();
    await breakAndRestore(60);
    desk.restart("empty.db");
    await breakAndRestore(40);
  });

  test("has a head at once, which has the row: a log that forks before the next look is found", async () => {
    using desk = testDesk(1);
    await desk.lookAt(100);
    await desk.lookAt(60);
    await desk.restore("a backup");
    const { origin } = desk.host.log;
    expect(desk.store.head(origin)?.size).toBe(61);
    const head = parseNote(desk.store.note(originHash(origin)) ?? "");
    expect(verifiedBy(head, parseVerifierKey(desk.witness.vkey))).toBeDefined();
    desk.host.log = desk.host.log.forkedAt(20);
    expect(await desk.lookAt(90)).toMatchObject({ state: "forked" });
  });

  test("has an end to the look that is under way, and one restore at a time", async () => {
    using desk = testDesk(1);
    await desk.lookAt(100);
    await desk.lookAt(60);
    const asked = Promise.withResolvers<void>();
    const { shows } = desk.host;
    desk.host.shows = async () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const looking = desk.look();
    await asked.promise;
    desk.host.shows = shows;
    const [first, second] = await Promise.allSettled([desk.restore("one"), desk.restore("two")]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
    expect(second).toMatchObject({ reason: { message: expect.stringContaining("being restored already") } });
    await looking;
    expect(await desk.look()).toMatchObject({ state: "restored", reason: "one" });
  });

  for (const [what, proves] of [
    ["answers as an older svc", () => ({})],
    ["gives no proof of the row", ({ consistency }: Answer) => ({ consistency, proof: "something" })],
    [
      "gives the proof of another row",
      ({ proof, consistency }: Answer) => ({
        consistency,
        proof: proof.replace(/^extra .*$/m, (line) => `extra ${Buffer.from(line).toString("base64")}`),
      }),
    ],
    [
      "does not show that it goes on from what is accepted",
      ({ proof }: Answer) => ({ proof, consistency: ["AAAA"] }),
    ],
  ] as const) {
    test(`is not accepted where the host ${what}`, async () => {
      using desk = testDesk(1);
      await desk.lookAt(100);
      await desk.lookAt(60);
      desk.host.proves = proves;
      await expect(desk.restore("a backup")).rejects.toThrow(/older svc|does not prove|changed again/);
      expect(await desk.look()).toMatchObject({ state: "shrank" });
      desk.host.proves = (answer) => answer;
      await desk.restore("a backup");
      expect(await desk.look()).toMatchObject({ state: "restored" });
    });
  }

  test("may have another key", async () => {
    using desk = testDesk(1);
    using elsewhere = temporaryFolder();
    await desk.look();
    desk.host.log = ownLog(elsewhere.path);
    await desk.look();
    await desk.restore("a new machine");
    expect(await desk.look()).toMatchObject({ state: "restored", origin: desk.host.log.origin });
  });
});

describe("nothing is accepted", () => {
  test("where the log is not broken, which a look shows first", async () => {
    using desk = testDesk(1);
    await desk.lookAt(100);
    await expect(desk.restore("the wrong label")).rejects.toThrow(
      "the log of host-0 is ok: no break to accept",
    );
    expect([desk.host.restored, desk.store.head(desk.host.log.origin)?.size]).toEqual([[], 102]);
    desk.host.size = 60;
    expect(await desk.restore("a backup")).toMatchObject({ state: "restored", size: 61 });
  });

  test("of a host that leaves meanwhile", async () => {
    using desk = testDesk(2);
    await desk.lookAt(100);
    await desk.lookAt(60);
    const { host } = desk;
    const left = Promise.withResolvers<void>();
    host.provesOnce = () => left.promise;
    const restoring = desk.restore("a backup");
    await until("the restore is under way", () => host.restored.length > 0);
    await desk.leave();
    left.resolve();
    await expect(restoring).rejects.toThrow("host-0 has left this desk meanwhile");
    const { left: gone } = await listWitnessed.run(desk.service, {}, CALLER);
    expect(gone).toMatchObject([{ label: "host-0", state: "shrank" }]);
    desk.hosts.unshift(host);
    expect(await desk.look()).toMatchObject({ state: "shrank" });
  });
});

test("a peer whose store was put back is assigned the restored log anew, and raises no alarm", async () => {
  using desk = testDesk(2);
  await desk.lookAt(100);
  const peer = desk.hosts[1];
  const { origin } = desk.host.log;
  const head = peer?.witnessStore.head(origin);
  await desk.lookAt(60);
  await desk.restore("a backup");
  expect((await desk.look(60)).peers).toHaveLength(1);
  using db = new Database(`${desk.folder}/host-1.db`);
  db.query("UPDATE logs SET epoch = 0").run();
  db.query("UPDATE heads SET size = ?, root = ?, note = ?").run(
    head?.size ?? 0,
    head?.root ?? "",
    head?.note ?? "",
  );
  expect(await desk.look(60)).toMatchObject({ state: "restored", claims: [], peers: [expect.any(String)] });
});

test("evidence is stored before anybody hears of the fork", async () => {
  using desk = testDesk(1);
  await desk.lookAt(100);
  const { origin } = desk.host.log;
  let found = 0;
  desk.onPublish = () => {
    found = desk.store.evidence(origin).length;
  };
  desk.host.log = desk.host.log.forkedAt(50);
  expect(await desk.lookAt(150)).toMatchObject({ state: "forked" });
  expect(found).toBe(1);
});

test("a peer that can prove a fork cosigns no more, which is said with the way to the proof", async () => {
  using desk = testDesk(2);
  await desk.lookAt(100);
  const peer = desk.hosts[1];
  const { log } = desk.host;
  expect(await peer?.witness.offer(log.forkedAt(50).submission(100, 150))).toMatchObject({ status: 422 });
  const { state, claims } = await desk.look(60);
  expect([state, claims]).toEqual(["ok", [expect.stringContaining(`svc admin witness-fork ${log.origin}`)]]);
  const there = {
    ...desk.service,
    existingWitness: async () => ({ store: peer?.witnessStore ?? desk.store, witness: desk.witness }),
  };
  const { file } = await showFork.run(there, { label: log.origin }, CALLER);
  expect(checkEvidence(parseEvidence(file))).toMatchObject({ sizes: [100, 150] });
});

describe("evidence of a fork is found by the label", () => {
  const forked = async () => {
    const desk = testDesk(2);
    await desk.lookAt(100);
    desk.host.log = desk.host.log.forkedAt(50);
    await desk.lookAt(150);
    return desk;
  };
  const sizesOf = async (desk: Awaited<ReturnType<typeof forked>>, label: string) =>
    checkEvidence(parseEvidence((await showFork.run(desk.service, { label }, CALLER)).file))?.sizes;

  test("also after a restore with another key", async () => {
    using desk = await forked();
    using elsewhere = temporaryFolder();
    desk.host.log = ownLog(elsewhere.path);
    await desk.restore("another key");
    expect(await sizesOf(desk, "host-0")).toEqual([100, 150]);
    const { hosts } = await listWitnessed.run(desk.service, {}, CALLER);
    expect(hosts).toMatchObject([{ state: "restored", evidence: 1 }, {}]);
  });

  test("or the id of a host that has left, also where another host has got its label", async () => {
    using desk = await forked();
    const { host_id } = desk.host.entry.member;
    await desk.leave();
    const other = desk.hosts[0];
    if (other) Object.assign(other.entry, { label: "host-0" });
    await desk.look();
    expect(await sizesOf(desk, "host-0")).toEqual([100, 150]);
    expect(await sizesOf(desk, host_id)).toEqual([100, 150]);
  });
});

test("the name that a host gives its log is printable in what the desk says of it", async () => {
  using desk = testDesk(1);
  using elsewhere = temporaryFolder();
  desk.host.log = testLog(elsewhere.path, `\u202e\u009b${"x".repeat(20_000)}`, undefined, "key");
  const { reason } = await desk.look();
  expect(reason).toMatch(/names its log .*u202e.*x9b/);
  expect(reason.length).toBeLessThan(400);
});

test("a host that is busy does not make the desk look for work again and again", () => {
  const busy = { ended: Promise.resolve(), stop: undefined };
  expect(pauseFor([{ busy, due: 0 }], 5_000)).toBe(1_000);
  expect(
    pauseFor(
      [
        { busy, due: 0 },
        { busy: undefined, due: 5_400 },
      ],
      5_000,
    ),
  ).toBe(400);
});

test("a desk stops where it cannot store what it finds, and says so", async () => {
  using desk = testDesk(1);
  await desk.look();
  desk.store.commit = () => {
    throw new Error("database or disk is full");
  };
  desk.restart();
  expect(desk.warned).toEqual([expect.stringContaining("is not stored: database or disk is full")]);
});

describe("a host that leaves while its log is broken", () => {
  const broken = async () => {
    const desk = testDesk(2);
    await desk.lookAt(100);
    await desk.lookAt(60);
    return desk;
  };

  test("finds it broken when it joins again, also where it has grown and the desk was restarted", async () => {
    using desk = await broken();
    await desk.leaveAndJoin(() => desk.restart());
    expect(await desk.lookAt(120)).toMatchObject({
      state: "shrank",
      reason: expect.stringContaining("cosigned 100"),
    });
  });

  test("finds another key there, where it made one meanwhile", async () => {
    using desk = testDesk(2);
    using elsewhere = temporaryFolder();
    await desk.look();
    await desk.leaveAndJoin();
    desk.host.log = ownLog(elsewhere.path);
    expect(await desk.look()).toMatchObject({ state: "key_changed" });
  });

  test("is remembered with its label, and can be asked for the proof", async () => {
    using desk = testDesk(2);
    desk.host.growsBy = 0;
    await desk.lookAt(100);
    desk.host.log = desk.host.log.forkedAt(50);
    await desk.lookAt(150);
    await desk.leave();
    const { hosts, left } = await listWitnessed.run(desk.service, {}, CALLER);
    expect(hosts.map(({ label }) => label)).toEqual(["host-1"]);
    expect(left).toMatchObject([{ label: "host-0", state: "forked", evidence: 1 }]);
    const { file } = await showFork.run(desk.service, { label: "host-0" }, CALLER);
    expect(checkEvidence(parseEvidence(file))).toMatchObject({ sizes: [100, 150] });
  });

  test("counts as broken until an operator has it forgotten, which keeps the proof", async () => {
    using desk = await broken();
    await desk.leave();
    const states = () => [...watchedIn(desk.statuses()).values()].map(({ standing }) => standing);
    expect(states().toSorted()).toEqual(["broken", "good"]);
    expect(() => desk.forget("host-1")).toThrow("no host has left with a broken log");
    desk.forget("host-0");
    expect(states()).toEqual(["good"]);
    desk.restart();
    expect((await listWitnessed.run(desk.service, {}, CALLER)).left).toEqual([]);
  });
});

test("hosts that nobody has looked at are listed", async () => {
  using desk = testDesk(1);
  const service = { ...desk.service, foundLogs: async () => new Map(), watchedLogs: async () => null };
  const { hosts } = await listWitnessed.run(service, {}, CALLER);
  expect(hosts).toMatchObject([{ label: "host-0", state: "unknown", standing: "unseen" }]);
});

test("of hosts that have left, those of good logs are forgotten first, and of these the ones that left first", () => {
  using folder = temporaryFolder();
  const store = openStore(`${folder.path}/desk.db`);
  const former = createFormer(store, 3);
  const status = { ...newLogStatus(), state: "ok" as const };
  former.leave([{ hostId: "broken", status: { ...status, state: "forked" } }]);
  for (const [day, hostId] of ["b", "a", "c"].entries()) {
    using _clock = clockAt(`2030-01-0${day + 1}T00:00:00Z`);
    former.leave([{ hostId, status }]);
  }
  expect([...store.statuses().keys()].sort()).toEqual(["a", "broken", "c"]);
  expect([former.take("b"), former.take("a")?.state]).toEqual([undefined, "ok"]);
  store.close();
});

test("a fork after a restore is found where the clock of the desk was set back meanwhile", async () => {
  using desk = testDesk(1);
  await desk.lookAt(100);
  await desk.lookAt(60);
  await desk.restore("a backup");
  await desk.look();
  using _clock = clockAt("2001-01-01T00:00:00Z");
  const { log } = desk.host;
  const { size = 0 } = desk.store.head(log.origin) ?? {};
  expect(await desk.witness.add(log.forkedAt(20).submission(size, 200))).toMatchObject({ status: 422 });
  expect(await desk.look()).toMatchObject({ state: "forked" });
});

test("what a desk has found outlives its process", async () => {
  using desk = testDesk(1);
  await desk.lookAt(100);
  await desk.lookAt(60);
  desk.restart();
  expect(await desk.lookAt(120)).toMatchObject({
    state: "shrank",
    reason: expect.stringContaining("cosigned 100"),
  });
});

test("a desk that starts anew, hosts and peers that come and go, and a clock that jumps raise no alarm", async () => {
  using desk = testDesk(4);
  const jumps = [0, -3_600_000, 86_400_000, 1];
  const real = Date.now;
  try {
    for (let round = 0; round < 50; round++) {
      const [host] = desk.hosts;
      if (round % 5 === 0) desk.restart();
      if (host) host.isUp = round % 7 !== 0;
      const peer = desk.hosts[1 + (round % 3)];
      if (peer) peer.witnesses = round % 2 === 0;
      Date.now = () => real() + (jumps[round % 4] ?? 0);
      if (host) host.size = Math.min(290, host.size + (round % 3));
      expect(["ok", "unknown"]).toContain((await desk.look(3)).state);
    }
  } finally {
    Date.now = real;
  }
});

test("a desk that cannot store what it finds says so once, as long as that is so", async () => {
  using desk = testDesk(1);
  const { commit } = desk.store;
  let failed = 0;
  desk.store.commit = () => {
    failed++;
    throw new Error("database or disk is full");
  };
  desk.start();
  await until("it has failed to store three times", () => failed >= 3);
  desk.store.commit = commit;
  expect(desk.warned.filter((text) => text.includes("is not stored"))).toHaveLength(1);
});
