/** A desktop whose child process is a local socket that greets as RFB does, and sends back what it gets. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInputLock } from "../../../../src/host/desktop/input-lock";
import type { ScreenDesktop } from "../../../../src/host/desktop/screen/screens";

export const GREETING = "RFB 003.008\n";

export function standIn() {
  const folder = mkdtempSync(join(tmpdir(), "svc-test-"));
  const path = join(folder, "rfb");
  const calls: string[] = [];
  const streams = new Map<string, Socket>();
  const keys = new Map<string, string>();
  const viewerListeners: ScreenDesktop["viewerListeners"] = new Set();
  const report = (id: string, state: "open" | "closed", reason: string) => {
    for (const listener of viewerListeners) listener.viewer(id, state, reason);
  };
  const server = createServer((socket) => {
    socket.once("data", (bytes: Buffer) => {
      const id = keys.get(bytes.subarray(0, 64).toString());
      if (id === undefined) return void socket.destroy();
      keys.delete(bytes.subarray(0, 64).toString());
      streams.set(id, socket);
      socket.write(GREETING);
      socket.on("data", (more) => void socket.write(more));
      socket.on("error", () => {});
      socket.on("close", () => streams.delete(id) && report(id, "closed", "the viewer has gone"));
      report(id, "open", "");
    });
  });
  const listening = new Promise<void>((resolve) => server.listen(path, resolve));
  const inputLock = createInputLock(join(folder, "input.lock"), async () => void calls.push("releaseAll"));
  const desktop: ScreenDesktop = {
    inputLock,
    viewerListeners,
    async openViewer({ id, control }) {
      await listening;
      calls.push(`open ${control}`);
      const key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex");
      keys.set(key, id);
      return { path, key };
    },
    async controlViewer(_id, control) {
      calls.push(`control ${control}`);
    },
    async closeViewer(id, reason) {
      calls.push(`close ${reason}`);
      if (!streams.has(id)) return;
      streams.get(id)?.destroy();
      streams.delete(id);
      report(id, "closed", reason);
    },
    async nameScreen(text) {
      calls.push(`name ${text.replace(/^[^:]*/, "HOST")}`);
    },
  };
  return {
    desktop,
    inputLock,
    calls,
    report,
    streams,
    [Symbol.dispose]() {
      server.close();
      for (const socket of streams.values()) socket.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
