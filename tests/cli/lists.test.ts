/** What a person is not shown, and a program is. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SVC, serveSvc, temporaryFolder } from "../support";

/** Runs `svc words` on a folder; its output is no terminal. */
async function svc(configDir: string, ...words: string[]) {
  const child = Bun.spawn([...SVC, ...words], {
    env: { ...process.env, SVC_CONFIG_DIR: configDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return child.stdout.text();
}

test("plan new names every host where its output is no terminal", async () => {
  using folder = temporaryFolder();
  const labels = Array.from({ length: 70 }, (_, nth) => `lab-${nth + 100}`);
  const hosts = labels.map((label) => ({ label, base_url: "http://127.0.0.1:1", token: "t", tags: [] }));
  writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
  const printed = await svc(folder.path, "plan", "new", '[["AC_screen_size"]]', "--on", "lab-*");
  for (const label of labels) expect(printed).toContain(label);
  expect(printed).not.toContain("more");
});

test("events leaves out what reading makes happen by itself, unless it is asked for", async () => {
  await using server = await serveSvc();
  await server.call("/sessions");
  const all = await svc(server.configDir, "events");
  expect(all).not.toMatch(/audit\.appended|requests\.counted/);
  expect(await svc(server.configDir, "events", "--types", "audit.appended")).toContain("audit.appended");
});
