/** Desktops by name: of the server on the folder, from a process beside it. */
import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import type { Desktop } from "../../src/host/desktop/desktop";
import { MARK } from "../../src/host/desktops/keeper";
import { createNamedDesktops } from "../../src/service/desktops";
import type { ServiceParts } from "../../src/service/parts";
import { post, runToEnd, SOURCE, serveSource, testWith, until } from "../support";

testWith("Xvfb", "openbox")(
  "a process beside the server lets go of a desktop that was started again, and enters the new one",
  async () => {
    const user = process.getuid?.() === 0 ? ["--desktop-user", "root"] : [];
    await using host = await serveSource(user, { env: { ...process.env, DISPLAY: "" } });
    await host.call("/desktops/start", post({ name: "orders" }));
    const [left, folders]: [string[], string[]] = [[], []];
    const shared = { configDir: host.configDir, isBeside: true } as ServiceParts;
    const desktops = createNamedDesktops(
      shared,
      // svc's own hands are not what is tested.
      async ({ env }, file) => {
        folders.push(`${env[MARK]}`);
        return { stop: async () => void left.push(file) } as unknown as Desktop;
      },
    );
    const first = await desktops.named("orders");
    expect(await desktops.named("orders")).toBe(first);
    const view = async () => (await host.call("/desktops/orders")).json();

    process.kill(serverOf(folders[0]), "SIGKILL");
    await until("it to be started again", async () => Object(await view()).restarts === 1);

    const second = await desktops.named("orders");
    expect([second === first, left.length]).toEqual([false, 1]);
    await desktops.stop();
    expect(new Set(left).size).toBe(2);
  },
);

testWith("Xvfb", "openbox")(
  "`svc diagnose` beside the server says what the desktops of the server may hold, and which holds most",
  async () => {
    const user = process.getuid?.() === 0 ? ["--desktop-user", "root"] : [];
    const env = { ...process.env, DISPLAY: "" };
    await using host = await serveSource(["--desktop-disk", "64MiB", ...user], { env });
    const found = async () => {
      const command = ["diagnose", "--only", "desktops", "--config-dir", host.configDir];
      return (await runToEnd([...SOURCE, ...command], { env })).stdout;
    };
    expect(await found()).toContain("each holds at most 64 MiB of files");
    await host.call("/desktops/start", post({ name: "orders" }));
    expect(await found()).toContain("most has orders");
  },
);

/** The X server of the desktop whose folder that is. */
function serverOf(folder: string | undefined): number {
  const pid = readdirSync("/proc").find((one) => {
    try {
      const comm = readFileSync(`/proc/${one}/comm`, "utf8");
      return (
        comm === "Xvfb\n" && readFileSync(`/proc/${one}/environ`, "latin1").includes(`${MARK}=${folder}`)
      );
    } catch {
      return false;
    }
  });
  return Number(pid);
}
