import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectForLines, listenForLines } from "../../src/lib/lines";
import { connectToOwner, listenAsOwner } from "../../src/lib/owner-socket";
import { temporaryFolder } from "../support";

const MAX = 10_000;

/** An owner that answers each line with the same line. */
function echo(folder: string, run = "run") {
  mkdirSync(join(folder, run), { recursive: true, mode: 0o700 });
  const file = join(folder, run, "owner.json");
  const owner = listenAsOwner(file, async (connection) => {
    const line = await connection.next(MAX);
    if (line !== undefined) await connection.send(line);
    connection.end();
  });
  return { file, socket: join(folder, run, "svc.sock"), [Symbol.dispose]: owner.stop };
}

async function say(file: string, text: string) {
  const connection = await connectToOwner(file);
  if (!connection) return undefined;
  await connection.send(text);
  const answer = await connection.next(MAX);
  connection.end();
  return answer;
}

describe("the owner of a folder", () => {
  test("greets who can read its key, and takes what it says", async () => {
    using folder = temporaryFolder();
    using owner = echo(folder.path);
    const connection = await connectToOwner(owner.file);
    expect(connection?.owner).toMatchObject({ protocol: 1, pid: process.pid });
    connection?.cut();
    expect(await say(owner.file, "hello")).toBe("hello");
  });

  test("has a socket and a key that are private to its user, and takes both with it", async () => {
    using folder = temporaryFolder();
    const mask = process.umask(0o022);
    {
      using owner = echo(folder.path);
      const modes = [owner.file, owner.socket].map((path) => statSync(path).mode & 0o777);
      expect(modes).toEqual([0o600, 0o600]);
    }
    process.umask(mask);
    expect(readdirSync(join(folder.path, "run"))).toEqual([]);
  });

  test("does not take who lacks the key", async () => {
    using folder = temporaryFolder();
    using owner = echo(folder.path);
    const connection = await connectForLines(owner.socket);
    await connection.next(MAX);
    await connection.send(JSON.stringify({ nonce: "0", proof: "0".repeat(64) }));
    expect(await connection.next(MAX)).toBeUndefined();
  });

  test("takes who has the key beside a thousand who say nothing", async () => {
    using folder = temporaryFolder();
    using owner = echo(folder.path);
    const silent = [];
    for (let nth = 0; nth < 1_000; nth++) silent.push(await connectForLines(owner.socket));
    const cut = silent.slice(0, 700).map(({ closed }) => closed);
    expect(await say(owner.file, "hello")).toBe("hello");
    const began = performance.now();
    await Promise.all(cut);
    // All would go after two seconds.
    expect(performance.now() - began).toBeLessThan(1_500);
    for (const one of silent) one.cut();
  });

  test("is not who answers without the key", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "run"), { mode: 0o700 });
    const file = join(folder.path, "run", "owner.json");
    writeFileSync(file, JSON.stringify({ path: "svc.sock", key: "ab".repeat(32), pid: 1 }));
    const listener = listenForLines(join(folder.path, "run", "svc.sock"), async (connection) => {
      await connection.send(JSON.stringify({ svc: "1", build: "x", protocol: 1, pid: 1, nonce: "0" }));
      await connection.next(MAX);
      await connection.send(JSON.stringify({ proof: "0".repeat(64) }));
    });
    await expect(connectToOwner(file)).rejects.toMatchObject({
      code: "unavailable",
      message: "who answers for the server (svc 1) does not have the key of its folder",
    });
    listener.stop(true);
  });

  test("is not who greets as no owner does, whose connection ends", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "run"), { mode: 0o700 });
    const file = join(folder.path, "run", "owner.json");
    writeFileSync(file, JSON.stringify({ path: "svc.sock", key: "ab".repeat(32), pid: 1 }));
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const listener = listenForLines(join(folder.path, "run", "svc.sock"), async (connection) => {
      await connection.send("{}");
      await connection.closed;
      resolve();
    });
    try {
      expect(await connectToOwner(file)).toBeUndefined();
      await ended;
    } finally {
      listener.stop(true);
    }
  });

  test("is asked again where it has begun to listen, and its key is still that of the owner before it", async () => {
    using folder = temporaryFolder();
    using owner = echo(folder.path);
    const current = readFileSync(owner.file, "utf8");
    const former = { ...JSON.parse(current), key: "ab".repeat(32) };
    writeFileSync(owner.file, JSON.stringify(former));
    const said = say(owner.file, "hello");
    await Bun.sleep(50);
    writeFileSync(owner.file, current);
    expect(await said).toBe("hello");
  });

  test("that stops cuts who has not proved that it has the key, and calls nothing for it", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "run"), { mode: 0o700 });
    const calls: string[] = [];
    const owner = listenAsOwner(join(folder.path, "run", "owner.json"), async () => void calls.push("call"));
    const stranger = await connectForLines(join(folder.path, "run", "svc.sock"));
    await stranger.next(MAX);
    owner.stop();
    await stranger.closed;
    expect(calls).toEqual([]);
  });

  test("of another protocol is told apart", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "run"), { mode: 0o700 });
    const file = join(folder.path, "run", "owner.json");
    writeFileSync(file, JSON.stringify({ path: "svc.sock", key: "ab".repeat(32), pid: 1 }));
    const listener = listenForLines(join(folder.path, "run", "svc.sock"), (connection) => {
      void connection.send(JSON.stringify({ svc: "9.0.0", build: "x", protocol: 2, pid: 1, nonce: "0" }));
    });
    await expect(connectToOwner(file)).rejects.toThrow(
      /^the server is svc 9\.0\.0 \(x\), this is svc .*: restart/,
    );
    listener.stop(true);
  });

  test("that hangs is known by its silence", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "run"), { mode: 0o700 });
    const file = join(folder.path, "run", "owner.json");
    writeFileSync(file, JSON.stringify({ path: "svc.sock", key: "ab".repeat(32), pid: 77 }));
    const listener = listenForLines(join(folder.path, "run", "svc.sock"), () => {});
    await expect(connectToOwner(file)).rejects.toMatchObject({
      code: "unavailable",
      message: "the server (pid 77) does not answer within 2 s: restart it",
    });
    listener.stop(true);
  });

  test("that was killed is none, and the next one takes its place", async () => {
    using folder = temporaryFolder();
    const program = `
      import { listenAsOwner } from ${JSON.stringify(join(import.meta.dir, "../../src/lib/owner-socket"))};
      listenAsOwner(${JSON.stringify(join(folder.path, "run", "owner.json"))}, async () => {});
      console.log("listens");`;
    mkdirSync(join(folder.path, "run"), { mode: 0o700 });
    const killed = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
    await killed.stdout.getReader().read();
    killed.kill("SIGKILL");
    await killed.exited;
    const file = join(folder.path, "run", "owner.json");
    expect(existsSync(join(folder.path, "run", "svc.sock"))).toBe(true);
    expect(await connectToOwner(file)).toBeUndefined();
    using owner = echo(folder.path);
    expect(await say(owner.file, "hello")).toBe("hello");
  });

  test("is reached in a folder with a long path", async () => {
    using folder = temporaryFolder();
    using owner = echo(folder.path, join(...Array.from({ length: 12 }, () => "x".repeat(40))));
    expect(await say(owner.file, "hello")).toBe("hello");
  });

  test("is reached where the folder takes no socket, by one in a temporary folder", async () => {
    using folder = temporaryFolder();
    // Nothing but a socket is ever taken away.
    mkdirSync(join(folder.path, "run", "svc.sock"), { recursive: true, mode: 0o700 });
    let elsewhere = "";
    {
      using owner = echo(folder.path);
      elsewhere = JSON.parse(readFileSync(owner.file, "utf8")).path;
      expect(statSync(join(elsewhere, "..")).mode & 0o777).toBe(0o700);
      expect(await say(owner.file, "hello")).toBe("hello");
    }
    expect(existsSync(join(elsewhere, ".."))).toBe(false);
    expect(existsSync(join(folder.path, "run", "svc.sock"))).toBe(true);
  });

  test("is none where no file says so", async () => {
    using folder = temporaryFolder();
    expect(await connectToOwner(join(folder.path, "run", "owner.json"))).toBeUndefined();
    expect(existsSync(join(folder.path, "run"))).toBe(false);
  });
});
