/** A desk that knows of a log which was altered moves to another machine, as the compiled binary: its server answers the export. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support";
import { type Installed, installedBinary } from "./binary";

/** What an operator sees of a desk. */
const LISTS = ["admin list", "admin witness", "token list", "jobs list", "webhook list", "plan list"];

test("a desk that moves lists what it listed, also the log that was altered, and a paused plan", async () => {
  using desk = installedBinary();
  using host = installedBinary();
  using next = installedBinary();
  const good = async (who: Installed, words: string, stdin?: string) => {
    const file = join(who.folder, "stdin");
    if (stdin !== undefined) writeFileSync(file, stdin, { mode: 0o600 });
    const args = [...words.split(" "), ...(stdin === undefined ? [] : ["--file", file])];
    const ran = await who.run(args, { SVC_PASSPHRASE: "correct horse battery staple" });
    expect({ words, exitCode: ran.exitCode, ran }).toEqual({ words, exitCode: 0, ran });
    return ran;
  };
  const witness = async (who: Installed) =>
    JSON.parse((await who.run(["admin", "witness", "--json"])).stdout).hosts;
  const stateOf = async (who: Installed) =>
    JSON.parse((await who.run(["plan", "list", "--json"])).stdout).plans[0].state;
  const lists = async (who: Installed) => {
    const seen: Record<string, unknown> = {};
    for (const words of LISTS) {
      const { stdout } = await who.run([...words.split(" "), "--json"]);
      // When this desk last heard from the host, and whether it runs, is its own.
      seen[words] = JSON.parse(stdout, (key, value) =>
        ["seen", "size", "verified", "watching", "peers"].includes(key) ? undefined : value,
      );
    }
    return seen;
  };

  await using joined = await host.serve(["--port", "0", "--tls"]);
  let plan = "";
  let before: Record<string, unknown> = {};
  const bundle = join(desk.folder, "desk.age");
  {
    await using server = await desk.serve(["--port", "0", "--tls"]);
    await good(host, "join --label lab-1", (await good(desk, "join-token")).stdout);
    await until("a cosigned log", async () => (await witness(desk))[0]?.state === "ok", { seconds: 60 });
    const log = new Database(join(host.configDir, "audit.db"));
    log.run("PRAGMA busy_timeout = 5000");
    log.run("UPDATE events SET detail = 'nothing' WHERE id = 1");
    log.close();
    await until("the alarm", async () => (await witness(desk))[0]?.state === "forked", { seconds: 90 });
    const script = join(desk.folder, "tidy.json");
    writeFileSync(script, '[["AC_sleep", { "seconds": 0 }]]');
    await good(desk, `jobs add ${script} --every 1d --id tidy`);
    await good(desk, "token add scraper --scope metrics");
    await good(desk, "webhook add chat https://chat.example/hooks/7");
    const made = JSON.parse((await good(desk, `plan new ${script} --on all --queue --json`)).stdout);
    plan = made.id;
    await joined[Symbol.asyncDispose]();
    const applied = desk.run(["plan", "apply", plan, "--digest", made.digest]);
    await until("a plan that runs", async () => (await stateOf(desk)) === "running");
    const refused = await desk.run(["desk", "export", bundle], { SVC_PASSPHRASE: "correct horse" });
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`svc plan pause ${plan}`) });
    await good(desk, `plan pause ${plan}`);
    await applied;
    before = await lists(desk);
    const { stdout, stderr } = await good(desk, `desk export ${bundle}`);
    expect(stdout).toContain("tokens.json");
    expect(stderr).toContain("stays on this machine: audit.db (the audit log");
    server.kill("SIGTERM");
    await server.exited;
  }

  const { stdout } = await good(next, `desk import ${bundle}`);
  expect(stdout).toContain("the audit log of lab-1 is forked: `svc admin witness`");
  expect(stdout).toContain(`the plan ${plan} is paused: \`svc plan resume ${plan}\` lets it go on here`);
  expect(await lists(next)).toEqual(before);
  await using _there = await next.serve();
  await using again = await host.serve(["--port", String(joined.port), "--tls"]);
  await good(next, `plan resume ${plan}`);
  expect([await stateOf(next), again.port]).toEqual(["done", joined.port]);
  expect((await witness(next))[0]).toMatchObject({ state: "forked" });
}, 180_000);
