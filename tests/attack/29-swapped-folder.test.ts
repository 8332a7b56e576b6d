/** Attack: replace a folder that a sync watches by a link to files that are not meant for the other host. */
import { expect, test } from "bun:test";
import {
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { SyncInfo } from "../../src/host/sync/operations";
import { BINARY, installBinary, post, serveBinary, until } from "../support";

test("a sync sends nothing of a folder that a link leads to meanwhile, and says so", async () => {
  await using host = await serveBinary();
  // The state is asked for all the time.
  await using desk = await serveBinary(["--rate-limit", "0"]);
  const add = Bun.spawn([BINARY, "admin", "add", "host", host.url, "--config-dir", desk.configDir], {
    stdio: [new Blob([host.token]), "ignore", "inherit"],
  });
  expect(await add.exited).toBe(0);
  const at = (name: string) => join(desk.configDir, "..", name);
  for (const name of ["watched", "secrets"]) mkdirSync(at(name));
  const start = { dir: at("watched"), to: "host", interval_s: 0.25 };
  expect((await desk.call("/sync/start", post(start))).status).toBe(200);
  const status = async () => {
    const { syncs } = (await (await desk.call("/sync/status")).json()) as { syncs: SyncInfo[] };
    return syncs[0];
  };
  writeFileSync(at("watched/first"), "x");
  await until("the first file", async () => (await status())?.sent_files === 1);
  renameSync(at("watched"), at("before"));
  writeFileSync(at("secrets/rest_token"), "secret");
  symlinkSync(at("secrets"), at("watched"));
  const error = await until("an error", async () => (await status())?.error);
  expect(error).toBe(`"${at("watched")}" is a link now, or below one: start the sync again`);
  rmSync(at("watched"));
  renameSync(at("before"), at("watched"));
  writeFileSync(at("watched/second"), "x");
  await until("the second file", async () => (await status())?.sent_files === 2);
  const received = readdirSync(join(host.configDir, "inbox"), { recursive: true, encoding: "utf8" });
  expect(received.map((name) => basename(name))).not.toContain("rest_token");
}, 60_000);

test.skipIf(process.getuid?.() !== 0)(
  "root sends no folder of somebody else's, or through a link of theirs",
  async () => {
    using desk = installBinary();
    const at = (name: string) => join(desk.path, name);
    mkdirSync(at("theirs"));
    mkdirSync(at("of-root"));
    symlinkSync("of-root", at("link"));
    for (const name of ["theirs", "link"]) {
      lchownSync(at(name), 4_242, 4_242);
      const { exitCode, stderr } = await desk.run(["sync", name, "--to", "host", "--once"]);
      expect([exitCode, stderr]).toEqual([
        2,
        expect.stringContaining(`dir: "${at(name)}" belongs to uid 4242: run svc as that user, not as root`),
      ]);
    }
    expect(existsSync(at("config/sync"))).toBe(false);
  },
);
