/** What the command line says when a desk moves. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { SVC, temporaryFolder } from "../support";

test("desk export names what stays, of what the desk has", async () => {
  using desk = temporaryFolder();
  mkdirSync(join(desk.path, "images"));
  const svc = async (...words: string[]) => {
    const child = Bun.spawn([...SVC, ...words], {
      env: { ...process.env, SVC_CONFIG_DIR: desk.path, SVC_PASSPHRASE: "a passphrase" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    return child.stderr.text();
  };
  await svc("join-token", "--advertise", "10.0.0.5:9939");
  const said = await svc("desk", "export", join(desk.path, "desk.age"));
  expect(said).toContain("not in the bundle, stays on this machine: ");
  expect(said).toContain("audit.db (the audit log");
  expect(said).toContain("images (pictures");
  expect(said).not.toContain("releases");
});
