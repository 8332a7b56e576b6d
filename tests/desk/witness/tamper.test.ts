/**
 * Twelve ways to tamper with the audit log of a host, and who notices: the host itself, its desk, and peers that show a desk which
 * has lost what it knew. `docs/audit.md` has the same table.
 */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync } from "node:fs";
import { type Host, serverOf } from "../../../src/desk/fleet/host";
import { createCollector } from "../../../src/desk/witness/collector";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { openSigningKey } from "../../../src/lib/signing-key";
import { createService } from "../../../src/service/service";
import { parseCheckpoint } from "../../../src/wire/witness/checkpoint";
import { checkEvidence, parseEvidence } from "../../../src/wire/witness/evidence";
import type { State } from "../../../src/wire/witness/log-state";
import { parseNote } from "../../../src/wire/witness/signed-note";
import { openStore } from "../../../src/wire/witness/store";
import { createWitness } from "../../../src/wire/witness/witness";
import { makeAnew } from "../../host/audit/witness/support";
import { movableClocks, TOKEN, temporaryFolder } from "../../support";
import { joinDesk, testHost, testLog, verifyRow } from "./support";

/** A host with a log of its own, three peers with witnesses, and their desk. */
async function fleet() {
  const folder = temporaryFolder();
  const clocks = movableClocks();
  const configDir = `${folder.path}/host`;
  const files = configFiles(configDir);
  const start = async () => {
    const service = createService({ configDir, log: silentLog });
    const server = await (await service.rest()).start({ port: 0, token: TOKEN, rate_limit: 0 });
    return { service, url: server.url };
  };
  let host = await start();
  const peers = ["peer-1", "peer-2", "peer-3"].map((label) => testHost(folder.path, label));
  const member = { host_id: "0".repeat(32), host_key: "key", nonce: "N".repeat(22) };
  const deskKey = openSigningKey(`${folder.path}/desk_key`);
  joinDesk(configDir, deskKey, member);
  const entries = (): Host[] => [
    { label: "host", base_url: host.url, token: TOKEN, tags: [], member },
    ...peers.map(({ entry }) => entry),
  ];
  const desk = (file: string) => {
    const store = openStore(`${folder.path}/${file}`);
    const witness = createWitness({ store, key: openSigningKey(`${folder.path}/desk_witness`) });
    const collector = createCollector({
      ...{ store, witness, deskKey, verifyRow, log: { warn() {} } },
      ...{ book: { hosts: entries, reach: (entry: Host) => serverOf(entry) }, publish() {} },
    });
    const look = async (after_s = 12) => {
      clocks.advance(after_s * 1_000);
      return collector.lookNow("host");
    };
    const stop = () => {
      collector.stop();
      store.close();
    };
    return { store, witness, collector, look, stop };
  };
  const own = desk("desk.db");
  const append = async (count: number) => {
    const log = await host.service.audit();
    for (let at = 0; at < count; at++)
      await log?.append({ event_type: "test", host_id: null, viewer_id: null, detail: `row ${at}` });
  };
  await append(20);
  await own.look();
  await append(20);
  return {
    ...{ folder: folder.path, files, append },
    own: {
      ...own,
      /** What it has cosigned of the host. */
      head() {
        const origin = [...own.collector.statuses().values()].find(({ size }) => size >= 20)?.origin ?? "";
        const head = own.store.head(origin);
        if (!head) throw new Error("nothing was cosigned");
        return head;
      },
    },
    /** Lets somebody at the files of the host while it is stopped. */
    async whileStopped(act: () => void) {
      await host.service.stop();
      act();
      host = await start();
    },
    /** From now on the host answers nobody. */
    refuse: () => {
      host = { ...host, url: "http://127.0.0.1:1" };
    },
    /** Lets somebody at the database. */
    edit(act: (db: Database) => void) {
      const db = new Database(files.auditLog);
      act(db);
      db.close();
    },
    verify: async () => (await host.service.audit())?.verify({}),
    /** What a desk finds that has lost what it knew, but has the same peers. */
    async findsAnew() {
      const other = desk("empty.db");
      try {
        return (await other.look()).state;
      } finally {
        other.stop();
      }
    },
    async [Symbol.asyncDispose]() {
      own.stop();
      await host.service.stop().catch(() => {});
      for (const peer of peers) peer[Symbol.dispose]();
      clocks[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

type Fleet = Awaited<ReturnType<typeof fleet>>;

/** As somebody does who knows svc: with every hash, the tree and the marks made anew. */
function thoroughly(made: Fleet, act: (db: Database) => void): void {
  made.edit((db) => {
    act(db);
    makeAnew(db, true);
    db.run("DELETE FROM svc_checkpoints");
    db.run("UPDATE sqlite_sequence SET seq = (SELECT max(id) FROM events) WHERE name = 'events'");
  });
  rmSync(made.files.auditHead, { force: true });
}

const thorough = (made: Fleet, act: (db: Database) => void) => made.whileStopped(() => thoroughly(made, act));

/** Rows in the place of those that are missing at the end. */
function addRows(db: Database, count: number): void {
  for (let at = 0; at < count; at++)
    db.run(`INSERT INTO events SELECT id + 1, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash
      FROM events ORDER BY id DESC LIMIT 1`);
}

function removeLog({ files }: Fleet): void {
  for (const file of [files.auditLog, `${files.auditLog}-wal`, `${files.auditLog}-shm`, files.auditHead])
    rmSync(file, { force: true });
}

interface Way {
  readonly way: string;
  /** Whether the log verifies on the host itself afterwards. */
  readonly verifies: boolean;
  readonly desk: State;
  readonly peers: State;
  tamper(made: Fleet): Promise<unknown>;
}

const WAYS: readonly Way[] = [
  {
    way: "edit a row",
    ...{ verifies: true, desk: "forked", peers: "forked" },
    tamper: (made) => thorough(made, (db) => db.run("UPDATE events SET detail = 'x' WHERE id = 5")),
  },
  {
    way: "delete a row",
    ...{ verifies: true, desk: "forked", peers: "forked" },
    tamper: (made) =>
      thorough(made, (db) => {
        db.run("DELETE FROM events WHERE id = 5");
        db.run("UPDATE events SET id = 1 - id WHERE id > 5");
        db.run("UPDATE events SET id = -id WHERE id < 0");
        addRows(db, 3);
      }),
  },
  {
    way: "insert a row",
    ...{ verifies: true, desk: "forked", peers: "forked" },
    tamper: (made) =>
      thorough(made, (db) => {
        db.run("UPDATE events SET id = -1 - id WHERE id > 5");
        db.run("UPDATE events SET id = -id WHERE id < 0");
        db.run(`INSERT INTO events SELECT 6, ts, event_type, host_id, viewer_id, 'never', prev_hash, row_hash
          FROM events WHERE id = 5`);
      }),
  },
  {
    way: "reorder rows",
    ...{ verifies: true, desk: "forked", peers: "forked" },
    tamper: (made) =>
      thorough(made, (db) => {
        db.run("UPDATE events SET id = -5 WHERE id = 5");
        db.run("UPDATE events SET id = 5 WHERE id = 6");
        db.run("UPDATE events SET id = 6 WHERE id = -5");
      }),
  },
  {
    way: "cut off the end",
    ...{ verifies: true, desk: "shrank", peers: "shrank" },
    tamper: (made) => thorough(made, (db) => db.run("DELETE FROM events WHERE id > 10")),
  },
  {
    way: "put an old copy of the files back",
    ...{ verifies: true, desk: "shrank", peers: "shrank" },
    async tamper(made) {
      const files = [made.files.auditLog, made.files.auditHead];
      await made.whileStopped(() => {
        for (const file of files) copyFileSync(file, `${file}.old`);
      });
      await made.append(30);
      await made.own.look(60);
      await made.whileStopped(() => {
        removeLog(made);
        for (const file of files) copyFileSync(`${file}.old`, file);
      });
    },
  },
  {
    way: "put an empty log in the place of the file",
    ...{ verifies: true, desk: "shrank", peers: "shrank" },
    tamper: (made) => made.whileStopped(() => removeLog(made)),
  },
  {
    way: "make every row anew",
    ...{ verifies: true, desk: "forked", peers: "forked" },
    tamper: (made) => thorough(made, (db) => db.run("UPDATE events SET detail = 'all is well'")),
  },
  {
    way: "mute it by a trigger",
    ...{ verifies: false, desk: "silent", peers: "unknown" },
    async tamper(made) {
      made.edit((db) =>
        db.run("CREATE TRIGGER mute BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END"),
      );
      for (let passed = 0; passed < 84; passed += 12) await made.own.look();
    },
  },
  {
    way: "fork it and show two faces",
    ...{ verifies: true, desk: "forked", peers: "forked" },
    async tamper(made) {
      await made.whileStopped(() => {
        copyFileSync(made.files.auditLog, `${made.files.auditLog}.good`);
      });
      await thorough(made, (db) => db.run("UPDATE events SET detail = 'another' WHERE id = 30"));
      await made.own.look();
      await made.whileStopped(() => {
        removeLog(made);
        copyFileSync(`${made.files.auditLog}.good`, made.files.auditLog);
        thoroughly(made, (db) => db.run("UPDATE events SET detail = 'third' WHERE id = 20"));
      });
    },
  },
  {
    way: "sign another log with a stolen key",
    ...{ verifies: true, desk: "forked", peers: "ok" },
    async tamper(made) {
      const head = made.own.head();
      const { origin } = parseCheckpoint(parseNote(head.note).text);
      copyFileSync(made.files.auditKey, `${made.folder}/${origin.replaceAll("/", "-")}`);
      const other = testLog(made.folder, origin);
      expect(await made.own.witness.add(other.submission(head.size, 200))).toMatchObject({ status: 422 });
    },
  },
  {
    way: "stop writing",
    ...{ verifies: true, desk: "silent", peers: "unknown" },
    async tamper(made) {
      made.refuse();
      for (let passed = 0; passed < 72; passed += 12) await made.own.look();
    },
  },
];

describe("who notices it to", () => {
  for (const { way, verifies, desk, peers, tamper } of WAYS) {
    test(way, async () => {
      await using made = await fleet();
      const before = await made.own.look(60);
      expect(before.state).toBe("ok");
      expect(before.peers).toHaveLength(3);
      await tamper(made);
      expect((await made.verify())?.ok).toBe(verifies);
      const found = await made.own.look();
      expect([found.state, await made.findsAnew()]).toEqual([desk, peers]);
      for (const file of made.own.store.evidence(found.origin ?? "")) {
        expect(checkEvidence(parseEvidence(file))?.origin).toBe(found.origin ?? "");
      }
      if (desk === "forked") expect(made.own.store.evidence(found.origin ?? "")).not.toEqual([]);
    });
  }
});

test("a host that stops and starts, and clocks that jump, raise no alarm", async () => {
  await using made = await fleet();
  for (let round = 0; round < 10; round++) {
    await made.append(round % 4);
    await made.whileStopped(() => {});
    expect((await made.own.look(round % 3 === 0 ? 1 : 12)).state).toBe("ok");
  }
});
