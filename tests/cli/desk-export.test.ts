/** What the command line says when a desk moves. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SOURCE, temporaryFolder } from "../support";

test("desk export names what stays, of what the desk has", async () => {
  using desk = temporaryFolder();
  writeFileSync(join(desk.path, "jobs.json"), '{"jobs": []}\n', { mode: 0o600 });
  const svc = async (...words: string[]) => {
    const child = Bun.spawn([...SOURCE, ...words], {
      env: { ...process.env, SVC_CONFIG_DIR: desk.path, SVC_PASSPHRASE: "a passphrase" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    return child.stderr.text();
  };
  await svc("join-token", "--advertise", "10.0.0.5:9939");
  const said = await svc("desk", "export", join(desk.path, "desk.age"));
  expect(said).toContain("not in the bundle, stays on this machine: ");
  expect(said).toContain("jobs.json (jobs)");
  expect(said).not.toContain("ice.json");
});
