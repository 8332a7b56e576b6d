/**
 * The local socket at which the carriers of viewers' streams come in: each shows the key of its viewer first.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How long a key is good, and how long a carrier may take to show one, in milliseconds. */
const PATIENCE_MS = 10_000;
const KEY_LENGTH = 64;
/** How many may stand at the door with no key shown. */
const MAX_STRANGERS = 32;

/** The socket, and those who wait for a carrier at it. */
export interface Door {
  readonly path: string;
  /** Makes the key of a viewer. @param stayAway called when nobody came with it in time. */
  expect(id: string, come: Expectation["come"], stayAway: () => void): string;
  /** Forgets a viewer that nobody has come for. @returns whether there was one. */
  forget(id: string): boolean;
  close(): void;
}

/** A viewer whose carrier is to come with its key. */
interface Expectation {
  readonly key: Buffer;
  readonly timer: Timer;
  readonly come: (socket: Socket, rest: Buffer) => void;
}

export async function openDoor(): Promise<Door> {
  const folder = process.platform === "win32" ? undefined : mkdtempSync(join(tmpdir(), "svc-screen-"));
  if (folder) chmodSync(folder, 0o700);
  const path = folder ? join(folder, "rfb") : `\\\\.\\pipe\\svc-screen-${randomBytes(16).toString("hex")}`;
  const expected = new Map<string, Expectation>();
  const strangers = new Set<Socket>();

  const server = createServer((socket) => {
    if (strangers.size >= MAX_STRANGERS) return void socket.destroy();
    strangers.add(socket);
    let shown = Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MS);
    const gone = () => {
      clearTimeout(timer);
      strangers.delete(socket);
    };
    const look = (chunk: Buffer) => {
      shown = Buffer.concat([shown, chunk]);
      if (shown.length < KEY_LENGTH) return;
      socket.off("data", look);
      socket.off("close", gone);
      // What it sends before somebody listens again would be lost.
      socket.pause();
      gone();
      const found = take(shown.subarray(0, KEY_LENGTH));
      if (found) found.come(socket, shown.subarray(KEY_LENGTH));
      else socket.destroy();
    };
    socket.on("error", () => {});
    socket.on("close", gone);
    socket.on("data", look);
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(path, () => resolve());
  await listening;

  /** The one whose key it is; it is good once. */
  function take(key: Buffer): Expectation | undefined {
    for (const [id, one] of expected) {
      if (!timingSafeEqual(one.key, key)) continue;
      clearTimeout(one.timer);
      expected.delete(id);
      return one;
    }
    return undefined;
  }

  return {
    path,
    expect(id, come, stayAway) {
      const key = randomBytes(KEY_LENGTH / 2).toString("hex");
      const late = () => {
        expected.delete(id);
        stayAway();
      };
      const timer = setTimeout(late, PATIENCE_MS);
      expected.set(id, { key: Buffer.from(key), timer, come });
      return key;
    },
    forget(id) {
      clearTimeout(expected.get(id)?.timer);
      return expected.delete(id);
    },
    close() {
      server.close();
      for (const socket of strangers) socket.destroy();
      for (const { timer } of expected.values()) clearTimeout(timer);
      expected.clear();
      if (folder) rmSync(folder, { recursive: true, force: true });
    },
  };
}
