/** What passes between the WebSocket of a viewer and the desktop's child process. */
import { expect, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Socket } from "../../../../src/core/socket";
import { viewerSocket } from "../../../../src/host/desktop/screen/socket";
import { temporaryFolder, until } from "../../../support";

const MIB = 1_048_576;

/** A viewer whose connection lets `unsent` bytes wait, in front of a child that sends `length` bytes. */
async function opened(length: number) {
  const folder = temporaryFolder();
  const path = join(folder.path, "rfb");
  const child = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(new Uint8Array(length)));
  });
  await new Promise<void>((resolve) => child.listen(path, () => resolve()));
  const client = { sent: 0, unsent: 0, reads: true };
  const socket: Socket = {
    send(message) {
      client.sent += message.length;
      if (!client.reads) client.unsent += message.length;
    },
    unsent: () => client.unsent,
    ...{ close() {}, terminate() {}, accept() {}, refuse() {} },
  };
  const closed = new Promise<never>(() => {});
  const { handlers } = viewerSocket({
    admit: async () => ({ id: "v", path, key: "0".repeat(64), closed }),
    end: async () => {},
    grant: { name: null, scopes: [] },
  });
  return {
    ...{ client, handlers, open: () => handlers.opened(socket) },
    [Symbol.dispose]() {
      handlers.closed(1_000);
      child.close();
      folder[Symbol.dispose]();
    },
  };
}

test("a client that has read a part of what waits is sent nothing more, until it has read nearly all", async () => {
  using made = await opened(16 * MIB);
  const { client, handlers } = made;
  client.reads = false;
  made.open();
  await until("more than may wait", () => client.unsent > 65_536);
  // Bun reports each part that the client has read.
  for (let nth = 0; nth < 300; nth++) {
    client.unsent -= 100;
    handlers.drained?.();
    await new Promise(setImmediate);
  }
  expect(client.sent).toBeLessThan(2 * MIB);
  client.reads = true;
  client.unsent = 0;
  handlers.drained?.();
  await until("all of it", () => client.sent === 16 * MIB);
});
