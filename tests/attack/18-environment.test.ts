/** The attack: variables that make the runtime in svc's children run other code, or give them the token. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { selfSigned } from "../client/support";
import { installBinary, post, serveBinary, TOKEN, testWith } from "../support";

/** Harmless values: svc itself must still start. */
const SET = {
  BUN_OPTIONS: "--smol",
  BUN_INSPECT: "",
  BUN_JSC_useFTLJIT: "0",
  NODE_OPTIONS: "--trace-warnings",
};
const HIDDEN = /^(?:SVC_TOKEN|BUN_OPTIONS|BUN_INSPECT|BUN_JSC_\w+|NODE_OPTIONS|SVC_DROPPED_VARIABLES)=/m;

const onLinux = process.platform === "linux" ? test : test.skip;

onLinux("neither programs of scripts nor svc's own children see them; svc diagnose names them", async () => {
  await using host = await serveBinary(["--allow-shell"], { env: { ...process.env, ...SET } });
  const ran = await host.call(
    "/execute",
    post({ actions: [["AC_shell_command", { shell_command: "env" }]] }),
  );
  const { outcomes } = (await ran.json()) as { outcomes: Array<{ result: { stdout: string } }> };
  expect(outcomes[0]?.result.stdout).toContain("PATH=");
  expect(outcomes[0]?.result.stdout).not.toMatch(HIDDEN);

  await host.call("/screenshot");
  const children = readFileSync(`/proc/${host.pid}/task/${host.pid}/children`, "utf8").trim().split(" ");
  const environments = children.map((pid) =>
    readFileSync(`/proc/${pid}/environ`, "utf8").replaceAll("\0", "\n"),
  );
  expect(environments.join("")).toContain("PATH=");
  expect(environments.join("")).not.toMatch(HIDDEN);

  const report = await (await host.call("/diagnose?only=environment")).json();
  expect(report).toMatchObject({
    checks: [{ name: "environment", severity: "warn", extra: { variables: Object.keys(SET).toSorted() } }],
  });
});

testWith("openssl")("NODE_TLS_REJECT_UNAUTHORIZED=0 does not make a desk trust any certificate", async () => {
  using desk = installBinary();
  const { cert, key } = selfSigned(desk.path, "host", "DNS:host.example");
  await using host = await serveBinary(["--tls-cert", cert, "--tls-key", key]);
  await Bun.write(`${desk.path}/token`, TOKEN);
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  const added = await desk.run(["admin", "add", "lab", host.url, "--token-file", "token"], { env });
  expect([added.exitCode, added.stderr]).toEqual([
    2,
    expect.stringContaining("the certificate is not trusted"),
  ]);
  // A list is taken as it is.
  await Bun.write(`${desk.path}/hosts.csv`, `label,base_url,token\nlab,${host.url},${TOKEN}\n`);
  await desk.run(["admin", "import", "hosts.csv"], { env });
  const { stdout } = await desk.run(["admin", "poll", "--json"], { env });
  expect(JSON.parse(stdout)).toMatchObject([
    { healthy: false, error: expect.stringContaining("the certificate is not trusted") },
  ]);
});
