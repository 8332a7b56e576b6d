import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as v from "valibot";
import type { SESSION } from "../../../src/core/answer-schemas";
import { loadLibrary } from "../../../src/host/peers/connection";
import type { IceConfig } from "../../../src/host/peers/ice";
import { clearIncoming } from "../../../src/host/peers/inbox";
import { ACKS_FEATURE } from "../../../src/host/peers/messages";
import type { Offer } from "../../../src/host/peers/operations";
import { linkSample } from "../../../src/host/peers/session";
import { createSessions, type Sessions } from "../../../src/host/peers/sessions";
import { silentLog } from "../../../src/lib/log";
import { temporaryFolder, until } from "../../support";

type SessionRecord = v.InferInput<typeof SESSION>;

/** Two hosts that know of each other: what `viewer` offers, `host` answers. */
function twoPeers(
  home: string,
  { most = 16, ice = { servers: [], relayOnly: false } }: { most?: number; ice?: IceConfig } = {},
) {
  const logged: string[] = [];
  const published: unknown[][] = [];
  const measured = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
  const make = (name: "a" | "b") =>
    createSessions({
      most,
      log: { ...silentLog, warn: (text) => logged.push(text) },
      ice: () => ice,
      identity: (role) => `${name}-${role}`,
      knownHostId: () => null,
      inbox: async (sender) => ({
        folder: join(home, name, "inbox"),
        index: join(home, name, "sync", "inbox.db"),
        sender,
        quota: 0,
        maxFiles: 0,
        minFree: 0,
      }),
      publish: ({ name: type }, data) => void published.push([name, type, (data as SessionRecord).state]),
      record(sample) {
        if (sample.rtt_ms !== null && sample.bitrate_kbps !== null) measured[name].resolve();
      },
    });
  const [a, b] = [make("a"), make("b")];
  return {
    a,
    b,
    logged,
    published,
    measured: [measured.a.promise, measured.b.promise],
    inbox: join(home, "b", "inbox", "a-viewer"),
  };
}

const connect = (from: Sessions, to: Sessions) => from.connect((offer) => to.answer(offer), tmpdir());

describe("a session", () => {
  test("publishes that it began, that it is open, and that it ended", async () => {
    using home = temporaryFolder();
    const { a, b, published } = twoPeers(home.path);
    const session = await connect(a, b);
    await session.close("done");
    await session.closed;
    const ofA = published.filter(([name]) => name === "a").map(([, type, state]) => [type, state]);
    expect(ofA[0]).toEqual(["session.opened", "connecting"]);
    expect(ofA).toContainEqual(["session.changed", "open"]);
    expect(ofA.at(-1)).toEqual(["session.closed", "closed"]);
    const ofB = () => published.filter(([name]) => name === "b").at(-1)?.[1];
    await until("the other side has published the end", () => ofB() === "session.closed");
  });

  test("carries files into the other side's inbox for this sender", async () => {
    using home = temporaryFolder();
    const { a, b, inbox } = twoPeers(home.path);
    const session = await connect(a, b);
    const content = randomBytes(3_000_000);
    writeFileSync(join(home.path, "file"), content);
    await Promise.all(
      ["sub/file", "empty", "three", "four", "five", "six"].map((name) => {
        if (name !== "empty") return session.send({ path: join(home.path, "file"), name });
        writeFileSync(join(home.path, "empty"), "");
        return session.send({ path: join(home.path, "empty"), name });
      }),
    );
    expect(readFileSync(join(inbox, "sub/file")).equals(content)).toBe(true);
    expect(readFileSync(join(inbox, "six")).equals(content)).toBe(true);
    expect(readFileSync(join(inbox, "empty"))).toHaveLength(0);
    // The sender may hear of a file before the receiver's own process has said so.
    await until("all files to be counted", () => b.report().sessions?.[0]?.files_received === 6);
    expect(b.report().sessions).toMatchObject([{ role: "host", peer: "a-viewer", state: "open" }]);
    expect(a.report().sessions).toMatchObject([{ role: "viewer", peer: "b-host", state: "open" }]);
    await Promise.all([a.stop(), b.stop()]);
  });

  /** Features of a peer of before blocks. */
  const old = { features: [ACKS_FEATURE] };
  test.each<
    [string, (from: Sessions, to: Sessions, home: string) => ReturnType<Sessions["connect"]>, boolean]
  >([
    ["the changed parts of a large file", (a, b, home) => a.connect((offer) => b.answer(offer), home), true],
    [
      "whole files to a peer that does not know blocks",
      (a, b, home) =>
        a.connect(async (offer) => ({ ...(await b.answer({ ...offer, ...old })), ...old }), home),
      false,
    ],
    [
      "whole files from a peer that does not know blocks",
      (a, b, home) => a.connect(async (offer) => ({ ...(await b.answer(offer)), ...old }), home),
      false,
    ],
  ])(
    "carries %s",
    async (_what, connectTo, inBlocks) => {
      using home = temporaryFolder();
      const { a, b, inbox } = twoPeers(home.path);
      const session = await connectTo(a, b, home.path);
      const content = randomBytes(3_000_000);
      const path = join(home.path, "file");
      writeFileSync(path, content);
      await session.send({ path, name: "file" });
      content.write("changed", 2_500_000);
      writeFileSync(path, content);
      const progress: number[] = [];
      await session.send({ path, name: "file", progress: (bytes) => progress.push(bytes) });
      expect(readFileSync(join(inbox, "file")).equals(content)).toBe(true);
      expect((progress[0] ?? 0) > 2_000_000).toBe(inBlocks);
      expect(progress.at(-1)).toBe(content.length);
      await Promise.all([a.stop(), b.stop()]);
    },
    180_000,
  );

  test("goes on within a file after the receiving process was killed", async () => {
    using home = temporaryFolder();
    const { a, b, inbox } = twoPeers(home.path);
    const content = randomBytes(20_000_000);
    const path = join(home.path, "file");
    writeFileSync(path, content);
    const session = await a.connect((offer) => b.answer(offer), home.path);
    const [{ pid } = { pid: 0 }] = b.list();
    let isKilled = false;
    const sending = session.send({
      path,
      name: "file",
      progress(bytes) {
        if (isKilled || bytes < 10_000_000) return;
        isKilled = true;
        process.kill(pid, "SIGKILL");
      },
    });
    sending.catch(() => {});
    await until("the other side to notice", () => b.list().length === 0);
    await session.close("the peer was killed");
    await expect(sending).rejects.toThrow("the peer was killed");
    clearIncoming(join(home.path, "b", "inbox"), pid);
    const progress: number[] = [];
    const next = await a.connect((offer) => b.answer(offer), home.path);
    await next.send({ path, name: "file", progress: (bytes) => progress.push(bytes) });
    expect(readFileSync(join(inbox, "file")).equals(content)).toBe(true);
    expect(progress[0]).toBeGreaterThan(5_000_000);
    await Promise.all([a.stop(), b.stop()]);
  }, 180_000);

  test("reports the round trip and the bitrate of its link, on both sides", async () => {
    using home = temporaryFolder();
    const { a, b, measured } = twoPeers(home.path);
    await connect(a, b);
    await Promise.all(measured);
    await Promise.all([a.stop(), b.stop()]);
  });

  test("ends on both sides when one closes it", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const session = await connect(a, b);
    const [other] = b.list();
    await session.close("done");
    expect(await other?.closed).toBe("the peer is gone");
    expect([a.list(), b.list()]).toEqual([[], []]);
  });

  test("has the name of the token that opened it, and ends when that is revoked", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const session = await a.connect((offer) => b.answer(offer, "anna"), tmpdir());
    expect(b.report().sessions).toMatchObject([{ token: "anna" }]);
    await b.endRevoked((token) => (token === "anna" ? null : "was revoked"));
    expect(b.list()).toHaveLength(1);
    const host = b.list()[0];
    await b.endRevoked(() => "was revoked");
    expect(await host?.closed).toBe("its token anna was revoked");
    await session.closed;
  });

  test("fails its transfers with the reason why it was closed", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const session = await connect(a, b);
    writeFileSync(join(home.path, "large"), "");
    truncateSync(join(home.path, "large"), 100_000_000);
    const progress = () => void session.close("done");
    await expect(session.send({ path: join(home.path, "large"), name: "large", progress })).rejects.toThrow(
      /^done$/,
    );
    await b.stop();
  });

  test("fails its transfers and ends when its process is killed; the next one works", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const session = await connect(a, b);
    writeFileSync(join(home.path, "large"), "");
    truncateSync(join(home.path, "large"), 100_000_000);
    const sending = session.send({
      path: join(home.path, "large"),
      name: "large",
      progress: () => process.kill(session.pid, "SIGKILL"),
    });
    expect(sending).rejects.toThrow("the process of the session was killed by SIGKILL during the call");
    expect(await session.closed).toBe("its process ended");
    expect(a.list()).toEqual([]);
    await connect(a, b);
    await Promise.all([a.stop(), b.stop()]);
  });

  test("with an invalid offer is refused, and no session stays open", async () => {
    using home = temporaryFolder();
    const { b } = twoPeers(home.path);
    for (const sdp of ["", "v=0", "x".repeat(1_000)]) {
      expect(b.answer({ type: "offer", sdp, viewer_id: "someone", features: [] })).rejects.toThrow(
        "sdp: expected",
      );
    }
    while (b.list().length > 0) await b.list()[0]?.closed;
  });

  test("reads no file outside the folder that it was opened for", async () => {
    using home = temporaryFolder();
    const { a, b, inbox } = twoPeers(home.path);
    const outbox = join(home.path, "outbox");
    mkdirSync(outbox);
    const session = await a.connect((offer) => b.answer(offer), outbox);
    for (const name of ["outbox/file", "key"]) writeFileSync(join(home.path, name), name);
    await session.send({ path: join(outbox, "file"), name: "file" });
    const planted = session.send({ path: join(home.path, "key"), name: "key" });
    if (process.platform === "linux") await expect(planted).rejects.toThrow("EACCES");
    expect(readdirSync(inbox)).toEqual(["file"]);
    await Promise.all([a.stop(), b.stop()]);
  });

  test.each(["outbox", "b/inbox"])(
    "ends when its folder %s is replaced, and the next one works",
    async (name) => {
      using home = temporaryFolder();
      const { a, b, inbox } = twoPeers(home.path);
      const outbox = join(home.path, "outbox");
      const fill = () => {
        mkdirSync(outbox, { recursive: true });
        writeFileSync(join(outbox, "file"), "x");
        return { path: join(outbox, "file"), name: "file" };
      };
      fill();
      const deliver = (offer: Offer) => b.answer(offer);
      const session = await a.connect(deliver, outbox);
      await session.send(fill());
      renameSync(join(home.path, name), join(home.path, "old"));
      const [host] = b.list();
      await session.send(fill()).catch(() => {});
      expect(await (name === "outbox" ? session : host)?.closed).toContain("replaced");
      const next = await a.connect(deliver, outbox);
      await next.send(fill());
      expect(readdirSync(inbox)).toContain("file");
      await Promise.all([a.stop(), b.stop()]);
    },
  );

  test("leaves the handshake to the caller, who connects last over a relay", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const said: string[] = [];
    await a.connect(async (offer) => {
      const answer = await b.answer(offer);
      said.push(
        ...`${offer.sdp}\n${answer.sdp}`.split(/\r?\n/).filter((line) => line.startsWith("a=setup:")),
      );
      return answer;
    }, home.path);
    expect(said).toEqual(["a=setup:actpass", "a=setup:passive"]);
    await Promise.all([a.stop(), b.stop()]);
  });

  test("survives offers that were tampered with: each is refused or answered", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path, { most: 16 });
    let offer = "";
    await a
      .connect(async ({ sdp }) => {
        offer = sdp;
        throw new Error("only the offer is wanted");
      }, home.path)
      .catch(() => {});
    const lines = offer.split("\r\n");
    const tampered = [
      lines.filter((line) => !line.startsWith("a=fingerprint")),
      lines.filter((line) => !line.startsWith("a=ice-ufrag")),
      lines.map((line) => line.replace("actpass", "passive")),
      lines.map((line) => line.replace("m=application", "m=audio")),
      lines.map((line) => line.replace(/sctp-port:\d+/, "sctp-port:99999999")),
      lines.map((line) => line.replace(/sha-256 .*/, "sha-256 00")),
      [...lines, ...Array(500).fill("a=candidate:1 1 UDP 1 127.0.0.1 9 typ host")],
      lines.map((line) => `${line}\u0000`),
    ];
    const outcomes = await Promise.all(
      tampered.map((sdp) =>
        b.answer({ type: "offer", sdp: sdp.join("\r\n"), viewer_id: "hostile-peer", features: [] }).then(
          () => "answered",
          (error: Error) => error.name,
        ),
      ),
    );
    expect(outcomes.every((outcome) => outcome === "answered" || outcome === "Failure")).toBe(true);
    await Promise.all([a.stop(), b.stop()]);
  });

  test.concurrent("ends within a minute when the peer vanishes", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const session = await connect(a, b);
    const [other] = b.list();
    process.kill(session.pid, "SIGKILL");
    expect(await other?.closed).toBe("the peer is gone");
    expect(b.list()).toEqual([]);
  }, 180_000);

  test.concurrent("fails a file when the peer never gets ready for files", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const deaf = await a.connect(
      async (offer) => ({
        ...(await b.answer({ ...offer, features: [] })),
        features: [ACKS_FEATURE],
      }),
      home.path,
    );
    writeFileSync(join(home.path, "file"), "x");
    await expect(deaf.send({ path: join(home.path, "file"), name: "file" })).rejects.toThrow(
      "the peer does not accept files",
    );
    await Promise.all([a.stop(), b.stop()]);
  }, 180_000);

  test.concurrent("whose caller never connects is gone within seconds", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path);
    const answered = a.connect(async (offer) => {
      await b.answer(offer);
      throw new Error("the caller goes");
    }, home.path);
    // `rejects` would hold this up until those beside it are over.
    expect(await answered.catch(({ message }: Error) => message)).toBe("the caller goes");
    expect(await b.list()[0]?.closed).toBe("the two hosts could not connect within 15 seconds");
    expect(b.list()).toEqual([]);
  }, 180_000);

  test("that allows only relays fails at once when no relay answers", async () => {
    using home = temporaryFolder();
    const relay = {
      // What is sent to everybody is refused by the system at once.
      hostname: "255.255.255.255",
      port: 3478,
      username: "u",
      password: "s",
      relayType: "TurnUdp" as const,
    };
    const { a } = twoPeers(home.path, { ice: { servers: [relay], relayOnly: true } });
    const delivered = a.connect(async () => {
      throw new Error("an offer that nobody can answer was sent");
    }, home.path);
    await expect(delivered).rejects.toThrow("no TURN server answered");
  }, 180_000);

  test("logs the stderr of a process that crashed", async () => {
    using home = temporaryFolder();
    const { a, b, logged } = twoPeers(home.path);
    const session = await connect(a, b);
    process.kill(session.pid, "SIGABRT");
    await session.closed;
    expect(logged.join("\n")).toContain("the process of the session was killed by SIGABRT");
    await Promise.all([a.stop(), b.stop()]);
  });

  test("without the library fails with a message that has no path", async () => {
    const load = () => Promise.reject(new Error("/home/kiosk 1/.bun-0.node: failed to map segment"));
    await expect(loadLibrary(load)).rejects.toThrow(
      /^WebRTC is not available here: \.bun-0\.node: failed to/,
    );
  });

  test("over the limit is refused", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path, { most: 1 });
    await connect(a, b);
    expect(connect(a, b)).rejects.toThrow("there are 1 sessions already, which is the limit");
    await Promise.all([a.stop(), b.stop()]);
  });

  test("over the limit of its client is refused, and leaves room for others until that client has room again", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path, { most: 2 });
    const by = (client: string) => a.connect((offer) => b.answer(offer, client), home.path);
    const first = await by("one");
    await expect(by("one")).rejects.toThrow("this client has 1 sessions already");
    await by("two");
    const gone = b.list()[0]?.closed;
    await first.close("done");
    await gone;
    await by("one");
    await Promise.all([a.stop(), b.stop()]);
  });

  test("over the share of its token is refused, whatever the addresses; the owner has none", async () => {
    using home = temporaryFolder();
    const { a, b } = twoPeers(home.path, { most: 4 });
    const by = (token: string | null, address: string) =>
      a.connect((offer) => b.answer(offer, token, address), home.path);
    for (const nth of [1, 2, 3]) await by("one", `10.0.0.${nth}`);
    await expect(by("one", "10.0.0.4")).rejects.toThrow(
      "the token one has 3 sessions already, and leaves the rest to others",
    );
    await by(null, "10.0.0.1");
    await Promise.all([a.stop(), b.stop()]);
  });

  test("to another host counts in the share of the token that opened it, and ends with that token", async () => {
    using home = temporaryFolder();
    const [{ a, b }, other] = [twoPeers(home.path, { most: 4 }), twoPeers(home.path)];
    const by = (token: string | null) => a.connect((offer) => other.b.answer(offer), home.path, { token });
    for (let nth = 0; nth < 3; nth++) await by("one");
    await expect(by("one")).rejects.toThrow("the token one has 3 sessions already");
    const owners = await by(null);
    await a.endRevoked((token) => (token === "one" ? "was revoked" : null));
    expect(a.list()).toEqual([owners]);
    await Promise.all([a.stop(), b.stop(), other.b.stop()]);
  });

  test("whose offer cannot be delivered leaves nothing behind", async () => {
    using home = temporaryFolder();
    const { a } = twoPeers(home.path);
    const failing = a.connect(async () => {
      throw new Error("no route");
    }, home.path);
    expect(failing).rejects.toThrow("no route");
    await failing.catch(() => {});
    expect(a.list()).toEqual([]);
  });
});

describe("link statistics", () => {
  const at = (ms: number, bytes_sent: number, bytes_received = 0) => ({
    at: ms,
    rtt_ms: 5,
    bytes_sent,
    bytes_received,
  });

  test("are the bits of both directions over the time between two readings", () => {
    expect(linkSample(at(0, 0, 0), at(2_000, 1_000, 250))).toEqual({
      rtt_ms: 5,
      bitrate_kbps: 5,
      fps: null,
      packet_loss_pct: null,
      jitter_ms: null,
    });
  });

  test("have no bitrate at the first reading, nor after a counter decreased", () => {
    expect(linkSample(at(0, 500), at(1_000, 100)).bitrate_kbps).toBeNull();
    expect(linkSample(at(0, 0, 500), at(1_000, 900, 100)).bitrate_kbps).toBeNull();
    expect(linkSample(null, at(1_000, 100)).bitrate_kbps).toBeNull();
  });
});
