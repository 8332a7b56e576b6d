/** `svc demo` by the compiled binary, as a newcomer runs it. */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { installBinary, testWith, until } from "../support";

setDefaultTimeout(120_000);

/** The demo in a folder of its own. */
async function demo(here: ReturnType<typeof installBinary>) {
  const child = Bun.spawn(["./svc", "demo", "--json"], {
    cwd: here.path,
    env: { ...process.env, DISPLAY: "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { value } = await child.stdout.getReader().read();
  const ready: { url: string; folder: string; hosts: string[] } = JSON.parse(new TextDecoder().decode(value));
  return { child, ...ready };
}

/** The processes whose command line names the folder. */
const processesIn = (folder: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(folder);
    } catch {
      return false;
    }
  });

testWith(
  "Xvfb",
  "openbox",
  "xterm",
)(
  "svc demo: three hosts have joined a desk, each with a program on a desktop, and Ctrl-C leaves nothing",
  async () => {
    using here = installBinary();
    const { child, folder, hosts } = await demo(here);
    const desk = { env: { SVC_CONFIG_DIR: `${folder}/desk` } };
    const polled = await here.run(["admin", "poll"], desk);
    expect(polled.stdout).toContain(`${hosts.length} of ${hosts.length} healthy`);
    const windows = await here.run(["tree", "--desktop", "main"], {
      env: { SVC_CONFIG_DIR: `${folder}/term-01` },
    });
    expect(windows.exitCode).toBe(0);

    child.kill("SIGINT");

    // As a program that a signal has ended.
    expect(await child.exited).toBe(130);
    expect(existsSync(folder)).toBe(false);
    expect(processesIn(folder)).toEqual([]);
  },
);

testWith(
  "Xvfb",
  "openbox",
  "xterm",
)("svc demo that is killed leaves no process", async () => {
  using here = installBinary();
  const { child, folder } = await demo(here);
  child.kill("SIGKILL");
  await child.exited;
  await until("its servers to end", () => processesIn(folder).length === 0);
});
