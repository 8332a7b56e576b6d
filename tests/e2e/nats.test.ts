/** `svc nats` of the compiled binary: a real nats-server that runs from its bundle, and desks that use it. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../desk/nats/bundle";
import { installBinary, testWith, until } from "../support";

/** The state of every file below `folder`. */
const modesIn = (folder: string) =>
  readdirSync(folder).map((name) => `${name} ${(statSync(join(folder, name)).mode & 0o777).toString(8)}`);

testWith("nats-server")("two desks use a server that runs from the bundle of one", async () => {
  using svc = installBinary();
  const url = `tls://127.0.0.1:${freePort()}`;
  const bundle = ["nats", "--operator", "lab", "--url", url];
  const made = await svc.run([...bundle, "--json"]);
  expect({ stderr: made.stderr, exitCode: made.exitCode }).toEqual({ stderr: "", exitCode: 0 });
  const { pin, desk, urls } = JSON.parse(made.stdout);
  expect({ urls, desk }).toEqual({ urls: [url], desk: { name: "desk", id: expect.stringMatching(/^U/) } });
  expect(modesIn(svc.configDir)).toContain("nats.json 600");
  expect(modesIn(svc.configDir)).toContain("nats_operator.json 600");
  const folder = join(svc.path, "nats-bundle");
  await using server = Bun.spawn(["nats-server", "-c", "nats-server.conf", "-l", "log"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "ignore"],
  });
  const log = join(folder, "log");
  await until("the server", () => existsSync(log) && readFileSync(log, "utf8").includes("Server is ready"));
  const tested = await svc.run(["nats", "test", url]);
  expect({ exitCode: tested.exitCode, stdout: tested.stdout }).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/ok +rights of a host +17 subjects of others are refused/),
  });

  const second = ["--config-dir", "second"];
  expect((await svc.run(["nats", "desk", "second", "second.json"])).stdout).toMatch(
    /^second\.json: second U/,
  );
  expect(modesIn(svc.path)).toContain("second.json 600");
  const used = await svc.run(["nats", "use", "second.json", ...second]);
  expect(used.stdout).toContain("hosts cannot join over it here");
  expect((await svc.run(["nats", "test", url, ...second])).exitCode).toBe(0);
  expect((await svc.run(["nats", "use", "second.json", ...second])).stderr).toContain("--replace");

  // Another certificate and settings: the same keys, so that nobody needs other credentials.
  expect((await svc.run(bundle)).stderr).toContain("is not empty");
  const again = JSON.parse((await svc.run([...bundle, "--force", "--revoke", "second", "--json"])).stdout);
  expect(again).toMatchObject({ pin, desk, new_keys: false });
  server.kill("SIGHUP");
  await until("the revocation", async () => (await svc.run(["nats", "test", url, ...second])).exitCode === 1);
  expect((await svc.run(["nats", "test", url])).exitCode).toBe(0);
});

test("no secret of the operator is on the screen or in the bundle", async () => {
  using svc = installBinary();
  const { stdout, stderr } = await svc.run(["nats", "--operator", "lab", "--url", "tls://127.0.0.1:4222"]);
  const folder = join(svc.path, "nats-bundle");
  const texts = readdirSync(folder).filter((name) => name !== "key.pem");
  for (const text of [stdout, stderr, ...texts.map((name) => readFileSync(join(folder, name), "utf8"))]) {
    expect(text).not.toMatch(/\bS[OAU][A-Z2-7]{56}\b|PRIVATE KEY/);
  }
});

test("the bundle of a region has a folder of its own, and the text says when the region is new", async () => {
  using svc = installBinary();
  await svc.run(["nats", "--operator", "lab", "--url", "tls://127.0.0.1:4222"]);
  const eu = ["nats", "--region", "eu", "--operator", "lab-eu", "--url", "tls://127.0.0.1:4223"];
  expect((await svc.run(eu)).stdout).toContain("region  eu, new: its server has keys of its own");
  expect(readdirSync(join(svc.path, "nats-bundle-eu"))).toContain("nats-server.conf");
  expect((await svc.run([...eu, "--force"])).stdout).toMatch(/^region {2}eu$/m);
});
