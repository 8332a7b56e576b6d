/** `svc sync` between compiled binaries: what arrives, what is printed, and what survives a kill. */
import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, runToEnd, serveBinary, TOKEN, temporaryFolder, testWith } from "../support";

/** A host with an address book, and a folder to send from. */
function sender() {
  const home = temporaryFolder();
  const folder = join(home.path, "outbox");
  const configDir = join(home.path, "config");
  mkdirSync(folder);
  const run = async (args: readonly string[], stdin = "") => {
    return runToEnd([BINARY, ...args, "--config-dir", configDir], { cwd: home.path, stdin });
  };
  const add = (label: string, url: string, token = TOKEN) => run(["admin", "add", label, url], token);
  const once = (label: string, ...flags: string[]) =>
    run(["sync", folder, "--to", label, "--once", ...flags]);
  return { folder, configDir, run, add, once, [Symbol.dispose]: () => home[Symbol.dispose]() };
}

/** The inbox folder of the only sender. */
function inboxOf(configDir: string): string {
  const [name = ""] = readdirSync(join(configDir, "inbox")).filter((entry) => !entry.startsWith("."));
  return join(configDir, "inbox", name);
}

test("sends what the other side has not got, and nothing twice", async () => {
  await using receiver = await serveBinary();
  using host = sender();
  await host.add("lab", receiver.url);
  mkdirSync(join(host.folder, "sub"));
  const large = randomBytes(5_000_000);
  writeFileSync(join(host.folder, "large"), large);
  writeFileSync(join(host.folder, "sub", "small"), "one");

  const dry = await host.run([
    "sync",
    host.folder,
    "--to",
    "lab",
    "--include-subdirs",
    "--dry-run",
    "--json",
  ]);
  expect(JSON.parse(dry.stdout).files).toHaveLength(2);
  const first = await host.once("lab", "--include-subdirs");
  expect(first.stdout.split("\n").sort()).toEqual([
    "",
    "2 files sent, 4.8 MiB",
    "sent   large",
    "sent   sub/small",
  ]);
  expect(first.exitCode).toBe(0);
  const inbox = inboxOf(receiver.configDir);
  expect(readFileSync(join(inbox, "large")).equals(large)).toBe(true);
  expect(readFileSync(join(inbox, "sub", "small"), "utf8")).toBe("one");

  writeFileSync(join(inbox, "sub", "small"), "edited by the receiver");
  writeFileSync(join(host.folder, "sub", "small"), "two");
  rmSync(join(host.folder, "large"));
  expect((await host.once("lab", "--include-subdirs")).stdout).toBe(
    "sent   sub/small\n1 file sent, 0.0 MiB\n",
  );
  expect(readFileSync(join(inbox, "sub", "small"), "utf8")).toBe("edited by the receiver");
  expect(readdirSync(join(inbox, "sub"))).toHaveLength(2);
  expect(readdirSync(inbox).sort()).toEqual(["large", "sub"]);
}, 180_000);

test("says why nothing was sent, and ends with 1", async () => {
  using host = sender();
  await host.add("dead", "http://127.0.0.1:1");
  writeFileSync(join(host.folder, "file"), "x");
  const unknown = await host.once("nobody");
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, "svc: no host is labelled nobody\n"]);
  const missing = await host.run(["sync", join(host.folder, "missing"), "--to", "dead", "--once"]);
  expect(missing.exitCode).toBe(2);
  const own = await host.run(["sync", host.configDir, "--to", "dead", "--once"]);
  expect([own.exitCode, own.stderr]).toEqual([2, expect.stringContaining("holds svc's own files")]);
}, 180_000);

testWith("/usr/lib/python3/dist-packages/aiortc")(
  "a peer of other make takes files over the same channel",
  async () => {
    using host = sender();
    const peer = Bun.spawn(
      ["/usr/bin/python3", join(import.meta.dir, "..", "host", "peers", "foreign-peer.py")],
      {
        stdout: "pipe",
        stderr: "inherit",
      },
    );
    try {
      const lines = readLines(peer.stdout);
      const port = (await lines.next()).value;
      await host.add("foreign", `http://127.0.0.1:${port}`, "foreign");
      const content = randomBytes(300_000);
      writeFileSync(join(host.folder, "file"), content);
      expect((await host.once("foreign")).exitCode).toBe(0);
      const digest = new Bun.CryptoHasher("sha256").update(content).digest("hex");
      expect((await lines.next()).value).toBe(`file 300000 ${digest}`);
    } finally {
      peer.kill("SIGKILL");
      await peer.exited;
    }
  },
  180_000,
);

testWith("/usr/lib/python3/dist-packages/aiortc")(
  "a peer of other make that calls sends files over the same channel",
  async () => {
    await using receiver = await serveBinary();
    const script = join(import.meta.dir, "..", "host", "peers", "foreign-caller.py");
    const peer = Bun.spawn(["/usr/bin/python3", script, receiver.url, TOKEN], { stderr: "inherit" });
    expect(await peer.exited).toBe(0);
    const content = Buffer.from(Uint8Array.from({ length: 102_400 }, (_, at) => at));
    expect(readFileSync(join(inboxOf(receiver.configDir), "file")).equals(content)).toBe(true);
  },
  180_000,
);

async function* readLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const [...lines] = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
