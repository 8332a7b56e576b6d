/** The receipt of a plan, from a desk and the hosts that have joined it, with the compiled binary. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newWitness } from "../host/audit/witness/support";
import { BINARY, runToEnd, type ServerProcess, serveBinary, temporaryFolder, until } from "../support";

/** The witness of a desk looks at each log every 12 s. */
const SEEN = { seconds: 90, everyMs: 500 };

test("one file proves to somebody elsewhere what a plan did at all hosts, and nothing once a part of it is missing", async () => {
  await using desk = await serveBinary(["--tls"]);
  await using first = await serveBinary(["--tls"]);
  await using second = await serveBinary(["--tls"]);
  using folder = temporaryFolder();
  const run = async (env: Record<string, string>, ...args: string[]) => {
    const { stdout, stderr, exitCode } = await runToEnd([BINARY, ...args], {
      cwd: folder.path,
      env: { ...process.env, ...env },
    });
    return { code: exitCode, stdout: stdout.trim(), stderr };
  };
  const svc = async ({ configDir, token }: ServerProcess, ...args: string[]) => {
    const { code, stdout, stderr } = await run({ SVC_CONFIG_DIR: configDir, SVC_TOKEN: token }, ...args);
    expect({ args, code, stderr, stdout }).toMatchObject({ code: 0 });
    return stdout;
  };
  /** On a machine that knows nothing of desk and hosts. */
  const verify = (file: string, ...keys: string[]) =>
    run({ SVC_CONFIG_DIR: join(folder.path, "elsewhere") }, "audit", "verify-run", file, ...keys);

  for (const [label, host] of [
    ["lab-01", first],
    ["lab-02", second],
  ] as const) {
    writeFileSync(join(folder.path, "string"), await svc(desk, "join-token"));
    await svc(host, "join", "--file", "string", "--label", label);
  }
  const own = { SVC_CONFIG_DIR: desk.configDir, SVC_TOKEN: desk.token };
  const isWitnessed = async () => {
    const { hosts } = JSON.parse((await run(own, "admin", "witness", "--json")).stdout);
    return hosts.length === 2 && hosts.every(({ state }: { state: string }) => state === "ok");
  };
  await until("the witness", isWitnessed, SEEN);

  writeFileSync(
    join(folder.path, "list.json"),
    JSON.stringify([["AC_set_var", { name: "a", value: "${b}" }]]),
  );
  writeFileSync(join(folder.path, "rows.csv"), "label,b\nlab-01,one\nlab-02,two\n");
  const made = await svc(
    desk,
    "plan",
    "new",
    "list.json",
    "--on",
    "all",
    "--vars-file",
    "rows.csv",
    "--json",
  );
  const plan = JSON.parse(made);
  await svc(desk, "plan", "apply", plan.id, "--digest", plan.digest);
  const key = ["--key", await svc(desk, "audit", "key")];
  const witness = ["--witness", await svc(desk, "witness", "key")];

  // Until the desk has seen what the hosts wrote at the end of their runs.
  const text = await until(
    "the proof",
    async () => {
      await svc(desk, "plan", "proof", plan.id, "--output", "plan.json");
      const { code, stdout } = await verify("plan.json", ...key, ...witness);
      return code === 0 && stdout.includes("2 with a receipt") && stdout;
    },
    SEEN,
  );
  expect(text).toContain(`plan ${plan.id}, done, 2 hosts, 2 with a receipt`);
  expect(text).toContain("  no decision was left out up to its end");
  expect(text).not.toMatch(/NOT SHOWN|word of the desk/);
  for (const label of ["lab-01", "lab-02"])
    expect(text).toMatch(new RegExp(`${label}: run [0-9a-f-]{36} ended ok, .* none left out up to its end`));

  const { runs } = JSON.parse((await verify("plan.json", ...key, ...witness, "--json")).stdout);
  expect(runs).toMatchObject(
    ["lab-01", "lab-02"].map((label) => ({
      ...{ label, run: { plan: { id: plan.id, signed: true } } },
      witnesses: [{ asked: true }],
    })),
  );
  const file = JSON.parse(readFileSync(join(folder.path, "plan.json"), "utf8"));
  const changed = async (name: string, change: object) => {
    writeFileSync(join(folder.path, name), JSON.stringify({ ...file, ...change }));
    const { code, stdout } = await verify(name, ...key);
    return [code, stdout];
  };
  expect(await changed("left-out.json", { hosts: file.hosts.slice(1) })).toEqual([
    1,
    "Proves nothing: the receipt of lab-01 was left out or changed",
  ]);
  const [one, other] = file.hosts;
  const changedOne = { ...one, payload: other.payload };
  expect((await changed("changed.json", { hosts: [changedOne, other] }))[0]).toBe(1);
  // Neither is the log of a host that of the desk, nor does another witness know any of it.
  expect((await verify("plan.json", "--key", await svc(first, "audit", "key"))).code).toBe(1);
  const stranger = newWitness("svc.witness/desk").vkey;
  expect((await verify("plan.json", ...key, "--witness", stranger)).code).toBe(1);
}, 300_000);
