/** What svc does on any Linux, as short tests of the binary for another one than this machine's. */
import { afterAll, beforeAll, describe, expect, type test as Test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { startDisplay } from "../host/desktop/support";
import { post } from "../support";
import { folderOn, type Machine, run, type Server, serve, statusesOf, thisMachine } from "./machine";

/** What the tests need beside the programs that run the binary. */
export const PROGRAMS = ["Xvfb", "openbox", "xdotool"] as const;

/**
 * Tests of a machine that `start` gives, beside this one, both on one display.
 *
 * @param test that is skipped where a program is missing, as `isReady` says; then nothing is started.
 */
export function smoke(
  test: typeof Test,
  isReady: boolean,
  start: (env: NodeJS.ProcessEnv) => Promise<Machine & AsyncDisposable>,
): void {
  const stack = new AsyncDisposableStack();
  let display: Awaited<ReturnType<typeof startDisplay>>;
  let other: Machine;
  let native: Machine;
  let server: Server;
  let here: Server;
  beforeAll(async () => {
    if (!isReady) return;
    display = stack.use(await startDisplay());
    native = stack.use(thisMachine(display.env));
    other = stack.use(await start(display.env));
    server = stack.use(await serve(other));
    here = stack.use(await serve(native));
  }, 600_000);
  afterAll(() => stack.disposeAsync(), 120_000);

  describe("it", () => {
    test("says its version", async () => {
      const { stdout, exitCode } = await run(other, ["--version"]);
      const words = new RegExp(`^svc ${RegExp.escape(version)} \\(`);
      expect([stdout, exitCode]).toEqual([expect.stringMatching(words), 0]);
    });

    test("moves the pointer, as the X server has it", async () => {
      const moved = await server.call("/execute", post({ actions: [["AC_set_mouse_position", [222, 244]]] }));
      expect(await moved.json()).toMatchObject({ ok: true });
      const { stdout } = Bun.spawnSync(["xdotool", "getmouselocation"], { env: display.env });
      expect(`${stdout}`).toMatch(/^x:222 y:244 /);
    });

    test("answers each GET with the status that the binary of this machine answers it with", async () => {
      for (const one of [server, here]) {
        await one.call("/execute", post({ actions: [["AC_screen_size"], ["AC_list_usb_devices"]] }));
      }
      const values = { name: "AC_sleep" };
      const [found, expected] = await statusesOf({ server, values }, { server: here, values });
      expect(found).toEqual(expected);
    });

    test("keeps an audit log that verifies", async () => {
      const verified = await run(other, ["audit", "verify"], { configDir: server.configDir });
      expect(verified).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/^Chain OK \([1-9]\d* rows\)\n/),
      });
    });

    test("sends a folder, and takes one", async () => {
      for (const [from, to] of [
        [other, here],
        [native, server],
      ] as const) {
        const folder = folderOn(from, "outbox");
        const content = randomBytes(1_000_000);
        writeFileSync(join(folder, "file"), content);
        expect(await run(from, ["admin", "add", "other", to.url], { stdin: to.token })).toMatchObject({
          exitCode: 0,
        });
        const line = ["sync", from.named(folder), "--to", "other", "--once"];
        expect(await run(from, line)).toMatchObject({ exitCode: 0 });
        const inbox = join(to.configDir, "inbox");
        const [name = ""] = readdirSync(inbox).filter((entry) => !entry.startsWith("."));
        expect(readFileSync(join(inbox, name, "file")).equals(content)).toBe(true);
      }
    });
  });
}
