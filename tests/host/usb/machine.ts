/**
 * A machine with USB devices that come and go: umockdev shows a program its devices, and the test is its udev.
 */
import { cpSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FIXTURES = join(import.meta.dir, "..", "..", "fixtures", "usb");

/** Before a command line: it sees two devices, on ports 1 and 2 of bus 1. */
export const TWO_DEVICES = ["umockdev-run", "-d", join(FIXTURES, "two.umockdev"), "--"];

/**
 * Runs `command` (for bash) in `path`, in a network namespace of its own, where udev's messages can be sent.
 *
 * @param env added to that of the test.
 */
export async function startMachine(path: string, command: string, env: NodeJS.ProcessEnv = {}) {
  const script = `echo "$UMOCKDEV_DIR"
    ip link set lo up
    env -u LD_PRELOAD python3 '${join(FIXTURES, "uevent.py")}' <&0 &
    exec ${command}`;
  const child = Bun.spawn(["unshare", "-rn", ...TWO_DEVICES, "bash", "-c", script], {
    cwd: path,
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const lines = linesOf(child.stdout);
  const sys = join((await lines.next()).value ?? "", "sys");
  const devpath = (port: number) => `/devices/pci0000:00/0000:00:14.0/usb1/1-${port}`;
  const folder = (port: number) => join(sys, devpath(port));
  const link = (port: number) => join(sys, "bus/usb/devices", `1-${port}`);
  const report = (action: string, port: number, address: number) => {
    child.stdin.write(`${action} ${devpath(port)} 001 00${address}\n`);
    child.stdin.flush();
  };
  return {
    pid: child.pid,
    /** What the command says. */
    lines,
    log: linesOf(child.stderr),
    plug(port: number, address: number) {
      cpSync(folder(1), folder(port), { recursive: true });
      writeFileSync(join(folder(port), "devpath"), `${port}\n`);
      writeFileSync(join(folder(port), "devnum"), `${address}\n`);
      symlinkSync(`../../..${devpath(port)}`, link(port));
      report("add", port, address);
    },
    unplug(port: number, address: number) {
      rmSync(link(port));
      rmSync(folder(port), { recursive: true });
      report("remove", port, address);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      child.stdin.end();
      await child.exited;
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
