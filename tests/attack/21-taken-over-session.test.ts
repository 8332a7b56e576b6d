// The native library of a session is taken over: its process reads and writes files outside its folder, and runs a program.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { closeSync, mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionList } from "../../src/core/answer-schemas";
import type { Answer } from "../../src/host/peers/operations";
import { PROTOCOL } from "../../src/host/peers/session";
import type { SessionCalls, SessionEvents } from "../../src/host/peers/worker";
import { startChild } from "../../src/lib/child";
import { silentLog } from "../../src/lib/log";
import { syscall } from "../../src/lib/syscall";
import { takeOver } from "../lib/support";
import { BINARY, post, serveBinary, temporaryFolder, until } from "../support";

/** Only root may take a descriptor of another process. */
const asRoot = test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0);

const ICE = { servers: [], relayOnly: false };
const EXTRAS = { acks: true, blocks: true };

/** The process of a session, as the server starts it; `trouble` has what it reported. */
function startSession(reads: readonly string[], writes: readonly string[]) {
  const trouble: string[] = [];
  const opened = Promise.withResolvers<void>();
  const events: SessionEvents = {
    open: opened.resolve,
    closed() {},
    stats() {},
    progress() {},
    received() {},
    trouble: (text) => trouble.push(text),
    unconfined: (missing) => trouble.push(missing),
  };
  const command = [BINARY, "session-child", JSON.stringify({ reads, writes })];
  const child = startChild<SessionCalls, SessionEvents>({
    ...{ command, what: "it", log: silentLog, protocol: PROTOCOL, events },
    env: { TMPDIR: process.env.TMPDIR ?? "/tmp" },
  });
  return { child, calls: child.calls(), trouble, opened: opened.promise };
}

test.skipIf(process.platform !== "linux")(
  "a session reads and writes in its own folder only, and every thread is confined",
  async () => {
    using home = temporaryFolder();
    const at = (name: string) => join(home.path, name);
    for (const name of ["outbox", "inbox", "sync", ".ssh"]) mkdirSync(at(name));
    for (const name of ["outbox/file", ".ssh/id"]) writeFileSync(at(name), name);
    const place = {
      folder: at("inbox"),
      index: at("sync/inbox.db"),
      sender: "peer",
      quota: 0,
      maxFiles: 0,
      minFree: 0,
    };
    const from = startSession([at("outbox")], []);
    const to = startSession([], [at("inbox"), at("sync")]);
    await using _from = from.child;
    await using _to = to.child;
    const answer = await to.calls.answer(ICE, await from.calls.offer(ICE), place, EXTRAS);
    await from.calls.accept(answer, EXTRAS);
    await Promise.all([from.opened, to.opened]);

    await from.calls.send(1, at("outbox/file"), "file");
    expect(readFileSync(at("inbox/peer/file"), "utf8")).toBe("outbox/file");
    expect(from.calls.send(2, at(".ssh/id"), "id")).rejects.toThrow("EACCES");
    await from.calls.send(3, at("outbox/file"), "file");
    expect(readdirSync(at("inbox/peer"))).toEqual(["file"]);
    expect([from.trouble, to.trouble]).toEqual([[], []]);

    for (const { pid } of [from.child, to.child]) {
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
        // Root keeps those by which it reads and writes the files of others.
        expect(status).toMatch(/CapEff:\t0{15}[0e]\n.*NoNewPrivs:\t1\n.*Seccomp:\t2\n/s);
      }
      expect(readFileSync(`/proc/${pid}/limits`, "utf8")).toMatch(/core file size +0 +0/);
      const names = readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .map((line) => line.split("=")[0]);
      expect(names.filter((name) => name && name !== "TMPDIR" && !name.startsWith("NODE_CHANNEL_"))).toEqual(
        [],
      );
    }
  },
  20_000,
);

test.skipIf(process.platform !== "linux")(
  "a session writes to no other folder, whatever its process receives",
  async () => {
    using home = temporaryFolder();
    const at = (name: string) => join(home.path, name);
    for (const name of ["outbox", "inbox", "sync"]) mkdirSync(at(name));
    writeFileSync(at("outbox/file"), "x");
    const place = {
      folder: at("elsewhere"),
      index: at("sync/inbox.db"),
      sender: "peer",
      quota: 0,
      maxFiles: 0,
      minFree: 0,
    };
    const from = startSession([at("outbox")], []);
    const to = startSession([], [at("inbox"), at("sync")]);
    await using _from = from.child;
    await using _to = to.child;
    const answer = await to.calls.answer(ICE, await from.calls.offer(ICE), place, EXTRAS);
    await from.calls.accept(answer, EXTRAS);
    await expect(from.calls.send(1, at("outbox/file"), "file")).rejects.toThrow("the peer refused it");
    expect(to.trouble.join()).toContain("EACCES");
    expect(readdirSync(home.path).sort()).toEqual(["inbox", "outbox", "sync"]);
  },
  20_000,
);

test.skipIf(process.platform !== "linux")(
  "code in a confined process of the binary reaches nothing else",
  async () => {
    const { writeInside, readInside, udp, interfaces, allThreads, ...others } = await takeOver(
      "alone",
      BINARY,
    );
    expect([writeInside, readInside, udp, interfaces, allThreads]).toEqual([true, true, true, true, true]);
    expect(Object.entries(others).filter(([, done]) => done)).toEqual([]);
  },
);

describe("what the process of a session sends to the server", () => {
  const LIES: Readonly<Record<string, string>> = {
    "that its session has ended, and was another token's": JSON.stringify({
      event: "stats",
      args: [
        {
          ...{ id: "x", state: "closed", token: "another", peer: "another" },
          ...{ rtt_ms: 1, bytes_sent: 1, bytes_received: 1, route: null },
        },
      ],
    }),
    "something that is no message": "7",
    "something that is no JSON": "\u0007{",
  };
  for (const [what, line] of Object.entries(LIES)) {
    asRoot(
      `neither harms it nor keeps the session: ${what}`,
      async () => {
        using home = temporaryFolder();
        await using server = await serveBinary();
        await using from = startSession([home.path], []).child;
        const sdp = await from.calls().offer(ICE);
        const offer = { type: "offer", sdp, viewer_id: "peer", features: [] };
        const answered = await server.call("/sessions/offer", post(offer));
        const { session_id }: Answer = JSON.parse(await answered.text());
        const channel = channelOf(server.pid);
        writeSync(channel, `${line}\n`);
        closeSync(channel);
        const sessions = async (): Promise<SessionList["sessions"]> =>
          JSON.parse(await (await server.call("/sessions")).text()).sessions;
        const seen = await until("what it makes of that", async () => {
          const all = await sessions();
          return all[0]?.bytes_sent === 0 ? undefined : all;
        });
        for (const session of seen) {
          expect(session).toMatchObject({ id: session_id, peer: "peer", token: null });
          expect((await server.call("/sessions/close", post({ id: session_id }))).status).toBe(200);
        }
        await until("its end", async () => (await sessions()).length === 0);
      },
      15_000,
    );
  }
});

asRoot(
  "an index of the inboxes that never ends does not stop the server",
  async () => {
    using home = temporaryFolder();
    await using server = await serveBinary();
    await using from = startSession([home.path], []).child;
    const offer = { type: "offer", sdp: await from.calls().offer(ICE), viewer_id: "peer", features: [] };
    expect((await server.call("/sessions/offer", post(offer))).status).toBe(200);
    for (const folder of ["sync", "inbox-index"]) {
      const path = join(server.configDir, folder, "inbox.db");
      mkdirSync(dirname(path), { recursive: true });
      using index = new Database(path);
      index.run(`DROP TABLE IF EXISTS incoming; CREATE TABLE IF NOT EXISTS used (bytes, entries, search_at);
        CREATE VIEW incoming AS WITH RECURSIVE n(path, size) AS (SELECT 'x', 1 UNION ALL SELECT path, size + 1 FROM n)
          SELECT path, size FROM n WHERE size < 0;
        CREATE TRIGGER i INSTEAD OF INSERT ON incoming BEGIN SELECT 1; END`);
    }
    process.kill(sessionOf(server.pid), "SIGKILL");
    await until(
      "its end",
      async () => (await (await server.call("/sessions")).text()).includes('"sessions":[]'),
      { seconds: 10 },
    );
  },
  15_000,
);

/** The channel of the one session of the server with this pid, as code in its process has it. */
function channelOf(server: number): number {
  const pidfd = syscall("pidfd_open", 434, sessionOf(server), 0);
  return syscall("pidfd_getfd", 438, pidfd, 3, 0);
}

/** The process of that session. */
function sessionOf(server: number): number {
  const children = readFileSync(`/proc/${server}/task/${server}/children`, "utf8").trim().split(" ");
  const isSession = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("session-child");
  return Number(children.find(isSession));
}
