/** The attack: a peer takes the name of another peer, and replaces a script that this one has sent and that a job runs. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { BINARY, installBinary, type ServerProcess, serveBinary } from "../support";
import { addToken } from "./raw";

/** A desk that sends to `host` with a token of its own; without a name, with the owner's. */
async function peer(host: ServerProcess, name?: string) {
  const desk = installBinary();
  const token = name === undefined ? host.token : await addToken(host, name, { scope: "sync" });
  const add = Bun.spawn([BINARY, "admin", "add", "host", host.url, "--config-dir", desk.configDir], {
    stdio: [new Blob([token]), "ignore", "inherit"],
  });
  expect(await add.exited).toBe(0);
  mkdirSync(join(desk.path, "out"));
  return {
    id: configFiles(desk.configDir).viewerId,
    async send(script: string, name = "nightly.json") {
      writeFileSync(join(desk.path, "out", name), script);
      const sent = await desk.run(["sync", "out", "--to", "host", "--once"]);
      expect(sent.exitCode).toBe(0);
    },
    [Symbol.dispose]: () => desk[Symbol.dispose](),
  };
}

test.concurrent("the file of a peer is replaced by that peer alone, whatever name another one takes", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  using anna = await peer(host, "anna");
  using mallory = await peer(host, "mallory");
  await anna.send('[["AC_sleep", [0]]]');
  const id = readFileSync(anna.id, "utf8").trim();
  writeFileSync(mallory.id, id);
  await mallory.send('[["AC_shell_command", ["id"]]]');
  const inbox = join(host.configDir, "inbox", id);
  const script = () => readFileSync(join(inbox, "nightly.json"), "utf8");
  expect(script()).toBe('[["AC_sleep", [0]]]');
  expect(readdirSync(inbox)).toHaveLength(2);
  await anna.send('[["AC_sleep", [1]]]');
  expect(script()).toBe('[["AC_sleep", [1]]]');
}, 180_000);

test.concurrent("the file of a token that was removed is not replaced by the next one of its name", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  using before = await peer(host, "bob");
  await before.send("of bob");
  const id = readFileSync(before.id, "utf8").trim();
  const removed = Bun.spawn([BINARY, "token", "remove", "bob", "--config-dir", host.configDir], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect(await removed.exited).toBe(0);
  using after = await peer(host, "bob");
  writeFileSync(after.id, id);
  await after.send("of another bob");
  const inbox = join(host.configDir, "inbox", id);
  expect([readFileSync(join(inbox, "nightly.json"), "utf8"), readdirSync(inbox).length]).toEqual([
    "of bob",
    2,
  ]);
}, 180_000);

test.concurrent("the file that came with the owner's token is replaced with that token alone, whatever is in the index", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  using owner = await peer(host);
  using mallory = await peer(host, "mallory");
  await owner.send("of the owner");
  const id = readFileSync(owner.id, "utf8").trim();
  writeFileSync(mallory.id, id);
  await mallory.send("of mallory", "weekly.json");
  await mallory.send("of mallory");
  await owner.send("of the owner", "weekly.json");
  await mallory.send("of mallory, again", "weekly.json");
  const inbox = join(host.configDir, "inbox", id);
  const scripts = () =>
    ["nightly.json", "weekly.json"].map((name) => readFileSync(join(inbox, name), "utf8"));
  const kept = ["of the owner", "of the owner"];
  expect([scripts(), readdirSync(inbox).length]).toEqual([kept, 4]);
  {
    // As a build without tokens in its index left it.
    using index = new Database(configFiles(host.configDir).inboxIndex);
    for (const kind of ["DELETE", "UPDATE"]) index.run(`DROP TRIGGER IF EXISTS token_of_${kind}`);
    for (const table of ["tokens", "writers"]) index.run(`DROP TABLE IF EXISTS ${table}`);
  }
  await mallory.send("of mallory, later");
  expect([scripts(), readdirSync(inbox).length]).toEqual([kept, 5]);
}, 180_000);
