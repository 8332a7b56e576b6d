/** A bundle that cannot be written: the next attempt writes one of the same keys. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runToEnd, SVC, temporaryFolder } from "../../support";

test("svc nats can be run again after a folder that cannot be written", async () => {
  using folder = temporaryFolder();
  const write = async (to: string) => {
    const words = ["nats", "--operator", "lab", "--url", "tls://nats.example.org", "--output-dir", to];
    const { stdout, stderr } = await runToEnd([
      ...SVC,
      ...words,
      "--json",
      "--config-dir",
      join(folder.path, "config"),
    ]);
    return stdout + stderr;
  };
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  expect(await write(join(file, "bundle"))).toContain("cannot be written to");
  const to = join(folder.path, "bundle");
  expect(JSON.parse(await write(to))).toMatchObject({
    ...{ desk: { name: "desk" }, folder: to, new_keys: false },
    files: expect.arrayContaining(["nats-server.conf"]),
  });
});
