/**
 * A local socket for one connection of a child of this process: a stream of bytes between the two.
 *
 * Promise: only who knows its key gets it, and nobody but the owner of this process can reach it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The key: 32 random bytes, as hexadecimal digits. */
const KEY_DIGITS = 64;

interface LocalEnd extends Disposable {
  /** Its path, and the key that the other side sends first. */
  readonly end: { readonly path: string; readonly key: string };
  /** The stream, once the other side has sent the key. @throws where it does not. */
  readonly stream: Promise<Socket>;
}

/** Its disposal takes no further connection; what is connected stays. */
export async function openLocalEnd(): Promise<LocalEnd> {
  const key = crypto.getRandomValues(new Uint8Array(KEY_DIGITS / 2)).toHex();
  const isWindows = process.platform === "win32";
  // Others may not enter it.
  const folder = isWindows ? undefined : mkdtempSync(join(tmpdir(), "svc-screen-"));
  const path = folder === undefined ? `\\\\.\\pipe\\svc-screen-${crypto.randomUUID()}` : join(folder, "s");
  const { promise: stream, resolve, reject } = Promise.withResolvers<Socket>();
  stream.catch(() => {});
  const server = createServer((socket) => {
    server.close();
    let before = Buffer.alloc(0);
    const take = (bytes: Buffer) => {
      before = Buffer.concat([before, bytes]);
      if (before.length < KEY_DIGITS) return;
      socket.off("data", take).pause();
      if (before.subarray(0, KEY_DIGITS).toString("latin1") !== key) {
        socket.destroy();
        return reject(new Error("the key of a local socket was wrong"));
      }
      socket.unshift(before.subarray(KEY_DIGITS));
      resolve(socket);
    };
    socket.on("data", take).on("error", () => {});
    socket.once("close", () => reject(new Error("the local socket was closed")));
  });
  const dispose = () => {
    server.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  await new Promise<void>((listening, failed) => {
    server.once("listening", listening);
    server.once("error", (error) => {
      dispose();
      failed(error);
    });
    server.listen(path);
  });
  return { end: { path, key }, stream, [Symbol.dispose]: dispose };
}
