/**
 * Two hosts with no route between them, and a third with the relay that `svc turn` configures: each in a network
 * namespace of its own. Signalling goes through a TCP forwarder on the third. The addresses look public, as the relay
 * demands of peers, and exist in these namespaces only.
 */
import { expect } from "bun:test";
import { createHash } from "node:crypto";
import {
  closeSync,
  createReadStream,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { $, type Subprocess } from "bun";
import { BINARY, TOKEN, temporaryFolder, testWith, until } from "../support";

/** 2 GiB where everything is required; elsewhere just enough to cut the link while it travels. */
const LARGE_BYTES = process.env.SVC_TEST_REQUIRE === "all" ? 2 ** 31 : 2 ** 28;
const SMALL_FILES = 1_000;
const MEMORY_BYTES = 200 * 1_048_576;

// Names for this run alone: another may use the same machine.
const [SENDER, RELAY, RECEIVER] = ["sender", "relay", "receiver"].map(
  (what) => `svc-${what}-${process.pid}`,
) as [string, string, string];

testWith("ip", "turnserver")(
  "files reach a host behind a relay, whole, though the link is cut three times and the receiver killed",
  async () => {
    using home = temporaryFolder();
    await using network = await makeNetwork();
    const at = (name: string) => join(home.path, name);
    const outbox = at("outbox");
    mkdirSync(outbox);
    for (let i = 0; i < SMALL_FILES; i++) writeFileSync(join(outbox, `small-${i}`), `content of ${i}\n`);
    const digest = writeLarge(join(outbox, "large"));

    await $`${BINARY} turn --realm relay.test --user lab --secret - --output-dir ${at("turn")} --config-dir ${at("turn-config")} < ${Buffer.from("relay-secret")}`.quiet();
    const log = Bun.file(at("coturn.log"));
    network.run(RELAY, ["turnserver", "-c", join(at("turn"), "turnserver.conf"), "--verbose"], {
      stdout: log,
    });
    await network.started(RELAY, [
      process.execPath,
      join(import.meta.dir, "forward.ts"),
      "20.0.1.1",
      "9939",
      "20.0.2.2",
      "9939",
    ]);
    for (const [config, relay] of [
      ["sender", "20.0.1.1"],
      ["receiver", "20.0.2.1"],
    ] as const) {
      mkdirSync(at(config), { mode: 0o700 });
      const server = { urls: `turn:${relay}`, username: "lab", credential: "relay-secret" };
      writeFileSync(
        at(`${config}/ice.json`),
        JSON.stringify({ ice_servers: [server], transport_policy: "relay" }),
      );
    }
    writeFileSync(
      at("sender/admin_hosts.json"),
      JSON.stringify({ hosts: [{ label: "lab", base_url: "http://20.0.1.1:9939", token: TOKEN, tags: [] }] }),
    );
    const serve = (space: string, config: string, address: string) =>
      network.started(space, [
        BINARY,
        "serve",
        "--json",
        "--host",
        address,
        "--port",
        "9939",
        "--config-dir",
        at(config),
        "--rate-limit",
        "0",
        "--insecure-http",
      ]);
    await serve(SENDER, "sender", "20.0.1.2");
    let receiver = await serve(RECEIVER, "receiver", "20.0.2.2");

    const sync = network.run(
      SENDER,
      [
        BINARY,
        "sync",
        outbox,
        "--to",
        "lab",
        "--resume",
        "--interval",
        "1",
        "--json",
        "--config-dir",
        at("sender"),
      ],
      { stdout: Bun.file(at("sync.out")) },
    );
    const memory = watchMemory(sync.pid);
    const arrived = () => bytesOfLarge(at("receiver"));
    const wait = (what: string, done: () => boolean | Promise<boolean>) =>
      until(
        what,
        () => {
          if (sync.exitCode !== null) throw new Error(`svc sync ended with ${sync.exitCode}`);
          return done();
        },
        { seconds: 240, everyMs: 50 },
      );

    await wait("more of the large file", () => arrived() > LARGE_BYTES * 0.05);
    receiver.kill("SIGKILL");
    await receiver.exited;
    const before = arrived();
    receiver = await serve(RECEIVER, "receiver", "20.0.2.2");
    await wait("the large file to go on", () => arrived() > before);
    const ask = async (path: string, from = SENDER, url = "http://20.0.1.2:9939") =>
      JSON.parse(
        await $`ip netns exec ${from} curl -sf -H ${`Authorization: Bearer ${TOKEN}`} ${url + path}`.text(),
      );
    /** Whether the receiver measured a second in which nothing arrived. */
    const isSilent = async () => {
      const { metrics } = await ask("/inspector/summary", RECEIVER, "http://20.0.2.2:9939");
      return metrics.bitrate_kbps.last < 1;
    };
    for (const share of [0.1, 0.2, 0.3]) {
      await wait("more of the large file", () => arrived() > LARGE_BYTES * share);
      await network.cut(() => wait("the line to fall silent", isSilent));
    }
    const { sessions } = await ask("/sessions", RECEIVER, "http://20.0.2.2:9939");
    const [session] = sessions.filter((each: { state: string }) => each.state === "open");
    expect(session.route).toMatch(/relay/);
    const there = await ask(`/inspector/summary?session=${session.id}`, RECEIVER, "http://20.0.2.2:9939");
    expect(there.metrics.rtt_ms.last).toBeNumber();
    expect(there.metrics.bitrate_kbps.max).toBeGreaterThan(1_000);

    await wait("the small files", () => sentNames(at("sync.out")).size === SMALL_FILES + 1);
    const here = await ask("/inspector/summary");
    expect(here.metrics.rtt_ms.avg).toBeNumber();
    expect(here.metrics.bitrate_kbps.max).toBeGreaterThan(1_000);
    sync.kill("SIGINT");
    expect(await sync.exited).toBe(130);

    const inbox = inboxOf(at("receiver"));
    expect(readdirSync(inbox)).toHaveLength(SMALL_FILES + 1);
    for (let i = 0; i < SMALL_FILES; i++)
      expect(readFileSync(join(inbox, `small-${i}`), "utf8")).toBe(`content of ${i}\n`);
    expect(await sha256(join(inbox, "large"))).toBe(digest);
    expect(memory.most()).toBeLessThanOrEqual(MEMORY_BYTES);
    expect(await log.text()).toMatch(/ALLOCATE processed, success/);
  },
  20 * 60_000,
);

/** The namespaces, and what runs in them; all of it goes when the scope ends. */
async function makeNetwork() {
  const running: Subprocess[] = [];
  const remove = async () => {
    for (const space of [SENDER, RELAY, RECEIVER]) await $`ip netns del ${space}`.quiet().nothrow();
  };
  await remove();
  for (const space of [SENDER, RELAY, RECEIVER]) {
    await $`ip netns add ${space}`;
    await $`ip -n ${space} link set lo up`;
  }
  for (const [space, net] of [
    [SENDER, "20.0.1"],
    [RECEIVER, "20.0.2"],
  ]) {
    const [end, other] = [`${net}.2/24`, `${net}.1/24`];
    const name = space === SENDER ? "a" : "b";
    await $`ip link add eth0 netns ${space} type veth peer name eth-${name} netns ${RELAY}`;
    await $`ip -n ${space} addr add ${end} dev eth0`;
    await $`ip -n ${space} link set eth0 up`;
    await $`ip -n ${RELAY} addr add ${other} dev eth-${name}`;
    await $`ip -n ${RELAY} link set eth-${name} up`;
  }
  const run = (space = "", command: readonly string[], { stdout = "pipe" as "pipe" | Bun.BunFile } = {}) => {
    const child = Bun.spawn(["ip", "netns", "exec", space, ...command], {
      env: { ...process.env, SVC_TOKEN: TOKEN },
      stdio: ["ignore", stdout, "inherit"],
    });
    running.push(child);
    return child;
  };
  return {
    run,
    /** Runs a program and waits for its first line. */
    async started(space: string | undefined, command: readonly string[]) {
      const child = run(space, command);
      if (child.stdout instanceof ReadableStream) await child.stdout.getReader().read();
      return child;
    },
    /** Takes the sender's link down until `noticed` has resolved. */
    async cut(noticed: () => Promise<unknown>) {
      await $`ip -n ${SENDER} link set eth0 down`;
      await noticed();
      await $`ip -n ${SENDER} link set eth0 up`;
    },
    async [Symbol.asyncDispose]() {
      for (const child of running) child.kill("SIGKILL");
      await Promise.all(running.map((child) => child.exited));
      await remove();
    },
  };
}

/** Writes bytes that do not repeat to `path`; their SHA-256. */
function writeLarge(path: string): string {
  const block = Buffer.alloc(2 ** 20, "0123456789abcdef");
  const hash = createHash("sha256");
  const file = openSync(path, "w");
  for (let written = 0; written < LARGE_BYTES; written += block.length) {
    block.writeBigUInt64LE(BigInt(written), 0);
    hash.update(block);
    writeSync(file, block);
  }
  closeSync(file);
  return hash.digest("hex");
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** How much of the large file is on its way in. */
function bytesOfLarge(configDir: string): number {
  const incoming = join(configDir, "inbox", ".incoming");
  try {
    return Math.max(0, ...readdirSync(incoming).map((name) => statSync(join(incoming, name)).size));
  } catch {
    return 0;
  }
}

function inboxOf(configDir: string): string {
  const [name = ""] = readdirSync(join(configDir, "inbox")).filter((entry) => !entry.startsWith("."));
  return join(configDir, "inbox", name);
}

function sentNames(path: string): Set<string> {
  const lines = readFileSync(path, "utf8").trim().split("\n");
  const events = lines.filter(Boolean).map((line): { event?: string; name?: string } => JSON.parse(line));
  return new Set(events.flatMap(({ event, name }) => (event === "sent" && name ? [name] : [])));
}

/** The most memory that the process and its children had at once, bytes. */
function watchMemory(pid: number) {
  let most = 0;
  const timer = setInterval(() => {
    const read = (path: string) => {
      try {
        return readFileSync(path, "utf8");
      } catch {
        // It has ended.
        return "";
      }
    };
    const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(" ");
    const sizes = [pid, ...children].map(
      (each) => Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${each}/status`))?.[1] ?? 0) * 1_024,
    );
    most = Math.max(
      most,
      sizes.reduce((a, b) => a + b),
    );
  }, 500);
  return {
    most() {
      clearInterval(timer);
      return most;
    },
  };
}
