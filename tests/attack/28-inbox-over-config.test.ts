/** Attack: send `jobs.json` to a host whose inbox is, or holds, the folder that decides what runs there. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary, post, serveBinary } from "../support";

test("a host is not served with an inbox at, above or elsewhere in its configuration folder", async () => {
  using host = installBinary();
  mkdirSync(join(host.path, "m"));
  symlinkSync("m", join(host.path, "link"));
  const start = (inbox: string) =>
    host.run(["serve", "--port", "0", "--config-dir", "m/svc", "--inbox", inbox], {
      // It would serve on.
      before: ["timeout", "20"],
    });
  for (const [inbox, message] of [
    ["m", "the configuration folder is inside the inbox"],
    ["link", "the configuration folder is inside the inbox"],
    [".", "the configuration folder is inside the inbox"],
    ["link/svc", "is the configuration folder"],
    ["m/svc/run", "leads to run in the configuration folder"],
  ] as const) {
    const { exitCode, stderr } = await start(inbox);
    expect([inbox, exitCode, stderr]).toEqual([inbox, 1, expect.stringContaining(message)]);
  }
  expect(existsSync(join(host.path, "m", "svc"))).toBe(false);
  // The default, where somebody has put a link.
  mkdirSync(join(host.path, "m", "svc"));
  symlinkSync("..", join(host.path, "m", "svc", "inbox"));
  const { exitCode } = await host.run(["serve", "--port", "0", "--config-dir", "m/svc"], {
    before: ["timeout", "20"],
  });
  expect(exitCode).toBe(1);
  const found = await host.run(["diagnose", "--only", "permissions", "--config-dir", "m/svc"]);
  expect([found.exitCode, found.stdout]).toEqual([
    1,
    expect.stringContaining("the configuration folder is inside the inbox"),
  ]);
  // What takes no files from peers works.
  const jobs = await host.run(["jobs", "list", "--config-dir", "m/svc"]);
  expect([jobs.exitCode, jobs.stderr]).toEqual([0, ""]);
});

test("a session is refused once the inbox has become a link to the configuration folder", async () => {
  await using server = await serveBinary(["--inbox", "received"]);
  const inbox = join(server.configDir, "..", "received");
  const offer = post({ type: "offer", sdp: "v=0", viewer_id: "config", features: [] });
  writeFileSync(join(inbox, "before"), "");
  renameSync(inbox, `${inbox}-before`);
  symlinkSync(".", inbox);
  const refused = await server.call("/sessions/offer", offer);
  expect([refused.status, await refused.text()]).toEqual([
    503,
    expect.stringContaining("the configuration folder is inside the inbox"),
  ]);
  expect(readdirSync(server.configDir)).not.toContain("jobs.json");
});
