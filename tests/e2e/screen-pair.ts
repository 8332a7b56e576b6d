/** A desk and a host with a display, and `svc screen proxy` of the compiled binary between them. */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, follow, runToEnd, type ServerProcess, serveBinary, until } from "../support";
import { startNats } from "../wire/nats/support";

/** How a desk reaches a host. */
export const WAYS = ["https", "link", "nats"] as const;

/** Tests ask again and again. */
const FLAGS = ["--tls", "--rate-limit", "0"];

/** Runs a subcommand of the compiled binary beside a server. @returns what it prints. */
export async function svc({ configDir, token }: ServerProcess, ...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runToEnd([BINARY, ...args], {
    env: { ...process.env, SVC_CONFIG_DIR: configDir, SVC_TOKEN: token },
  });
  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
  return stdout.trim();
}

/** `svc screen proxy` beside a server, on a free port; it ends with the scope. */
export async function startProxy({ configDir, token }: ServerProcess, ...args: string[]) {
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
export async function pairOver(way: (typeof WAYS)[number], env: NodeJS.ProcessEnv) {
  await using stack = new AsyncDisposableStack();
  const desk = stack.use(await serveBinary([...FLAGS, ...(way === "link" ? ["--hub"] : [])]));
  if (way === "nats") {
    const nats = stack.use(await startNats({ tls: true }));
    writeFileSync(join(desk.configDir, "nats.json"), JSON.stringify(await nats.part()));
  }
  const host = stack.use(await serveBinary(FLAGS, { env }));
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
