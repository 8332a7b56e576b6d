/** Attack: fill the inbox of a host with files that are empty, so that no limit on bytes stops them. */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, installBinary, serveBinary } from "../support";

test("a host takes no more files and folders than it allows, and says so", async () => {
  using desk = installBinary();
  await using server = await serveBinary(["--inbox-max-files", "4"]);
  const add = Bun.spawn([BINARY, "admin", "add", "host", server.url, "--config-dir", desk.configDir], {
    stdio: [new Blob([server.token]), "ignore", "inherit"],
  });
  expect(await add.exited).toBe(0);
  mkdirSync(join(desk.path, "many"));
  for (let nth = 0; nth < 12; nth++) writeFileSync(join(desk.path, "many", `file-${nth}`), "");
  const sent = await desk.run(["sync", "many", "--to", "host", "--once"]);
  expect(sent.exitCode).toBe(1);
  expect(sent.stdout + sent.stderr).toContain("the inbox would hold more than 4 files and folders");
  const inbox = join(server.configDir, "inbox");
  const stored = readdirSync(inbox, { recursive: true, encoding: "utf8" }).filter(
    (name) => name !== ".incoming",
  );
  // The folder of the sender is one of the four.
  expect(stored).toHaveLength(4);
}, 180_000);

test("a host has limits by default", async () => {
  using host = installBinary();
  const { stdout } = await host.run(["serve", "--help"]);
  expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/--inbox-quota [^[]*\[value\] \[default: 10000000000\]/);
  expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/--inbox-max-files [^[]*\[value\] \[default: 100000\]/);
});
