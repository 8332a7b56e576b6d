/** TLS of the compiled binary, as curl, Chromium and Prometheus see it, and while its key is exchanged. */
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { browserTest, signIn, useBrowser } from "../browser";
import { clients, pinAt } from "../http/clients";
import { testWith, until } from "../support";
import { freePort, installedBinary } from "./binary";

/** What Prometheus says of what it scrapes. */
const TARGETS = v.object({
  data: v.object({ activeTargets: v.array(v.object({ health: v.string(), lastError: v.string() })) }),
});

const TOKEN = "test-token-0123456789";
const svc = installedBinary();
afterAll(() => svc[Symbol.dispose]());

/** A server for the network, in a configuration folder of its own. */
const serve = (name: string, ...flags: string[]) => {
  const env = { SVC_CONFIG_DIR: join(svc.folder, name), SVC_TOKEN: TOKEN };
  return {
    start: () => svc.serve(["--host", "0.0.0.0", "--port", "0", "--rate-limit", "0", ...flags], env),
    run: (...args: string[]) => svc.run(args, env),
  };
};

/** The words of a pin that curl wants. */
const curlPin = (pin: string) =>
  `sha256//${Buffer.from(pin.slice("spki:".length), "base64url").toString("base64")}`;

testWith("curl")("curl accepts the key by its pin, and no other key", async () => {
  const host = serve("curl");
  await using server = await host.start();
  const curl = async (pin: string) => {
    const child = Bun.spawn(["curl", "-sk", "--pinnedpubkey", curlPin(pin), `${server.url}/health`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    return [await child.exited, await child.stdout.text()];
  };
  const pin = (await host.run("pin")).stdout.trim();
  expect(pin).toMatch(/^spki:[\w-]{43}$/);
  expect(JSON.parse(server.firstLine).pin).toBe(pin);
  expect(await curl(pin)).toEqual([0, '{"status":"ok"}']);
  // CURLE_SSL_PINNEDPUBKEYNOTMATCH
  expect(await curl(`spki:${"A".repeat(43)}`)).toEqual([90, ""]);
});

testWith("curl")(
  "the certificates of several hosts in one file are what curl trusts, each for its own",
  async () => {
    const hosts = [serve("one"), serve("two")];
    await using one = await (hosts[0] as (typeof hosts)[0]).start();
    await using two = await (hosts[1] as (typeof hosts)[0]).start();
    await using stranger = await serve("three").start();
    const desk = serve("desk");
    for (const [nth, { url }] of [one, two].entries()) {
      const pin = `${JSON.parse([one, two][nth]?.firstLine ?? "").pin}`;
      const token = join(svc.folder, "token");
      writeFileSync(token, TOKEN);
      const added = await desk.run("admin", "add", `host-${nth}`, url, "--token-file", token, "--pin", pin);
      expect([added.exitCode, added.stderr]).toEqual([0, ""]);
    }
    const { stdout } = await desk.run("tls", "cert", "--on", "all");
    expect(stdout.match(/^# host-\d$/gm)).toEqual(["# host-0", "# host-1"]);
    const file = join(svc.folder, "ca.pem");
    writeFileSync(file, stdout);
    const exitCodes = [one, two, stranger].map(
      ({ url }) => Bun.spawnSync(["curl", "-s", "--cacert", file, `${url}/health`]).exitCode,
    );
    expect(exitCodes).toEqual([0, 0, 60]);
  },
);

testWith("prometheus")(
  "Prometheus scrapes a host with a certificate that svc made, given as ca_file",
  async () => {
    const host = serve("scraped");
    await using server = await host.start();
    const folder = join(svc.folder, "prometheus");
    const token = await host.run("token", "add", "prometheus", "--scope", "metrics");
    const config = {
      scrape_configs: [
        {
          job_name: "svc",
          scrape_interval: "1s",
          scheme: "https",
          authorization: { credentials: token.stdout.trim() },
          tls_config: { ca_file: join(svc.folder, "scraped.pem") },
          static_configs: [{ targets: [`127.0.0.1:${server.port}`] }],
        },
      ],
    };
    writeFileSync(join(svc.folder, "scraped.pem"), (await host.run("tls", "cert")).stdout);
    writeFileSync(join(svc.folder, "prometheus.yml"), JSON.stringify(config));
    const port = freePort();
    const child = Bun.spawn(
      [
        "prometheus",
        `--config.file=${join(svc.folder, "prometheus.yml")}`,
        `--storage.tsdb.path=${folder}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=error",
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    try {
      const target = await until("a scrape", async () => {
        const asked = await fetch(`http://127.0.0.1:${port}/api/v1/targets`).catch(() => undefined);
        const body: unknown = await asked?.json().catch(() => undefined);
        const [found] = v.is(TARGETS, body) ? body.data.activeTargets : [];
        return found?.health === "unknown" ? undefined : found;
      });
      expect([target.health, target.lastError]).toEqual(["up", ""]);
    } finally {
      child.kill();
      await child.exited;
    }
  },
);

const browser = useBrowser();

browserTest()(
  "Chromium refuses the certificate until a person accepts it, and then shows the dashboard",
  async () => {
    await using server = await serve("chromium").start();
    const context = async (ignoreHTTPSErrors: boolean) => browser.newContext({ ignoreHTTPSErrors });
    const strict = await context(false);
    const refused = (await strict.newPage()).goto(`${server.url}/dashboard`);
    // About who signed it: a key that Chromium cannot use would be another error.
    await expect(refused).rejects.toThrow("net::ERR_CERT_AUTHORITY_INVALID");
    await strict.close();
    const accepted = await context(true);
    const page = await accepted.newPage();
    await page.goto(`${server.url}/dashboard`);
    await signIn(page, TOKEN);
    await page.getByRole("heading", { name: "This host" }).waitFor();
    await accepted.close();
  },
);

test("certificate and key are exchanged under 200 requests a second: none fails, and the desk follows", async () => {
  if (process.platform !== "linux") return;
  const host = serve("exchanged");
  await using server = await host.start();
  const asked = { path: "/commands", headers: { authorization: `Bearer ${TOKEN}` } };
  const load = [
    clients(20, server.port, { keepAlive: true, pauseMs: 150, ...asked }),
    clients(5, server.port, { keepAlive: false, pauseMs: 50, ...asked }),
  ];
  const answers = () => load.reduce((sum, { answers }) => sum + answers(), 0);
  const more = async () => {
    const wanted = answers() + 200;
    await until("requests", () => answers() > wanted);
  };
  const pins = [await pinAt(server.port)];
  const desk = serve("following");
  const token = join(svc.folder, "token");
  writeFileSync(token, TOKEN);
  await desk.run("admin", "add", "lab-01", server.url, "--token-file", token, "--pin", `${pins[0]}`);
  const polled = async () => {
    const { exitCode, stdout } = await desk.run("admin", "poll");
    return exitCode === 0 ? "healthy" : stdout;
  };
  await more();
  expect((await host.run("tls", "renew")).exitCode).toBe(0);
  expect(await pinAt(server.port)).toBe(`${pins[0]}`);
  await more();
  expect(await polled()).toBe("healthy");
  const announced = await host.run("tls", "renew", "--new-key", "--overlap", "8s");
  expect(announced.stdout).toMatch(/\nfrom \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ on: spki:\S+\n$/);
  expect(await polled()).toBe("healthy");
  const { next_spki } = JSON.parse((await host.run("pin", "--json")).stdout);
  const exchanged = async () => (await pinAt(server.port)) === next_spki;
  await until("the announced key", exchanged, { everyMs: 100 });
  expect(await polled()).toBe("healthy");
  await more();
  await host.run("tls", "renew", "--new-key", "--overlap", "0");
  // This one was not announced.
  expect(await polled()).toContain("the key is not the pinned one");
  pins.push(next_spki, await pinAt(server.port));
  expect(new Set(pins).size).toBe(3);
  await more();
  await Promise.all(load.map((one) => one.stop()));
  expect(load.flatMap(({ failures }) => failures)).toEqual([]);
  server.kill("SIGTERM");
  expect((await server.stderr).match(/a new certificate is in use, spki:/g)).toHaveLength(3);
});
