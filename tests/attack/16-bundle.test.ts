/** The attack: put another bundle in the place of a sealed one, or one whose files make svc lose its hosts or its name. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bundleOf } from "../host/config/support";
import { installBinary } from "../support";

test("with a passphrase, a bundle that is not sealed is refused and changes nothing", async () => {
  using svc = installBinary();
  await Bun.write(join(svc.path, "bundle.json"), JSON.stringify(bundleOf({ viewer_id: "mallory" })));
  await Bun.write(join(svc.path, "passphrase"), "correct horse\n");
  const refused = {
    exitCode: 1,
    stdout: "",
    stderr: "svc: bundle rejected: it is not sealed, but a passphrase was given (svc help T97)\n",
  };
  const command = ["config", "import", "bundle.json"];
  expect(await svc.run([...command, "--passphrase-file", "passphrase"])).toEqual(refused);
  expect(await svc.run(command, { env: { SVC_PASSPHRASE: "correct horse" } })).toEqual(refused);
  expect(existsSync(join(svc.configDir, "viewer_id"))).toBe(false);
  expect(await svc.run(command)).toMatchObject({ exitCode: 0 });
});

test("a file that would not load is not written, and the error names it and its field", async () => {
  using svc = installBinary();
  const hosts = [{ label: "lab-01", base_url: "http://lab:9939", tags: "not a list", token: "t" }];
  const bundle = bundleOf({ "admin_hosts.json": { hosts }, viewer_id: "desk-1" });
  await Bun.write(join(svc.path, "bundle.json"), JSON.stringify(bundle));
  const { exitCode, stderr } = await svc.run(["config", "import", "bundle.json"]);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^svc: bundle rejected: files\["admin_hosts.json"\]\.content: hosts\[0\]: tags: expected/,
    ),
  ]);
  expect(existsSync(join(svc.configDir, "admin_hosts.json"))).toBe(false);
  expect(existsSync(join(svc.configDir, "viewer_id"))).toBe(false);
});
