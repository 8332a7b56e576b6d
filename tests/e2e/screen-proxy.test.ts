/** `svc screen proxy` of the compiled binary, with TigerVNC's viewer: whatever way leads to the host. */
import { expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startTiger, TEXT, TIGER } from "../desktop/screen/tiger";
import { openTerminal, PROGRAMS, startDisplay } from "../desktop/support";
import { startNats } from "../nats/support";
import { BINARY, follow, type ServerProcess, serveBinary, testWith, until } from "../support";

setDefaultTimeout(300_000);

/** Runs a subcommand beside a server. */
async function svc({ configDir, token }: ServerProcess, ...args: string[]): Promise<string> {
  const child = Bun.spawn([BINARY, ...args], {
    env: { ...process.env, SVC_CONFIG_DIR: configDir, SVC_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect([await child.exited, stderr]).toEqual([0, expect.any(String)]);
  return stdout.trim();
}

/** `svc screen proxy` beside a server, on a free port; it ends with the scope. */
async function startProxy({ configDir, token }: ServerProcess, ...args: string[]) {
  const child = Bun.spawn([BINARY, "screen", "proxy", ...args, "--listen", "0", "--json"], {
    env: { ...process.env, SVC_CONFIG_DIR: configDir, SVC_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = [follow(child.stdout), follow(child.stderr)];
  await out.says("\n");
  const { port } = JSON.parse(out.text());
  return {
    port: Number(port),
    says: err.says,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

/** A desk and a host with a display; the desk knows it as `lab one`. */
async function pairOver(way: "https" | "link" | "nats", env: NodeJS.ProcessEnv) {
  await using stack = new AsyncDisposableStack();
  const desk = stack.use(await serveBinary(way === "link" ? ["--hub", "--tls"] : ["--tls"]));
  if (way === "nats") {
    const nats = stack.use(await startNats({ tls: true }));
    writeFileSync(join(desk.configDir, "nats.json"), JSON.stringify(await nats.part()));
  }
  const host = stack.use(await serveBinary(["--tls"], { env }));
  const string = join(host.configDir, "string");
  writeFileSync(string, await svc(desk, "join-token"));
  await svc(host, "join", "--file", string, "--label", "lab one");
  const [entry] = JSON.parse(await svc(desk, "admin", "list", "--json"));
  expect(entry.base_url).toStartWith(way === "https" ? "https://" : `${way}:`);
  await until("the host", async () => {
    const polled = (await (await desk.call("/admin/poll")).json()) as Array<{ healthy: boolean }>;
    return polled[0]?.healthy;
  });
  const rest = stack.move();
  return { desk, host, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}

const WAYS = ["https", "link", "nats"] as const;
const needed = { https: [], link: [], nats: ["nats-server"] } as const;

for (const way of WAYS)
  testWith(
    ...PROGRAMS,
    ...TIGER,
    ...needed[way],
  )(
    `over ${way}, a VNC viewer at the desk shows the screen of a host; what is typed into it arrives exactly`,
    async () => {
      await using display = await startDisplay();
      await using pair = await pairOver(way, display.env);
      await using terminal = openTerminal(display.env, "editor", "80x20+0+0");
      await using proxy = await startProxy(pair.desk, "lab one", "--control");
      await using tiger = await startTiger(proxy.port);
      await proxy.says("is connected");
      const state = async () =>
        (await (await pair.host.call("/screen/state")).json()) as { viewers: Array<{ control: boolean }> };
      await until("control", async () => (await state()).viewers[0]?.control);
      const window = await tiger.shows("TigerVNC|uses pointer");
      await tiger.click(window, 100, 100);
      await tiger.type(TEXT);
      await tiger.enter();
      expect(await terminal.typed(1)).toBe(`${TEXT}\n`);
      const { viewers } = await state();
      expect(viewers).toMatchObject([{ state: "open", carrier: way === "https" ? "proxy" : "channel" }]);
    },
  );
