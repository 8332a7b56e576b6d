/**
 * One story from end to end, as an operator lives it: a fresh clone becomes a binary, and that one three hosts and a
 * console; a device is plugged in, a record is tampered with, the console moves to a new machine, a relay carries files,
 * Prometheus and a browser look on.
 *
 * All but the build happens in a network namespace of its own, whose addresses exist nowhere else.
 */
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser, openTab, signIn } from "../browser";
import { startMachine } from "../host/usb/machine";
import { follow, installBinary, temporaryFolder, testWith, until } from "../support";
import { type Clone, freshClone } from "./clone";

/** Where the relay is: svc's bundles serve no private network. */
const RELAY = "198.41.0.4";
const PROMETHEUS = "127.0.0.1:9090";

const testStory = testWith(
  "chromium",
  "curl",
  "git",
  "ip",
  "npm",
  "nsenter",
  "prometheus",
  "python3",
  "turnserver",
  "umockdev-run",
  "unshare",
);

testStory(
  "a fresh clone is built; three hosts are added, asked, commanded, watched, tampered with, moved, relayed, synced, scraped and looked at",
  async () => {
    using home = temporaryFolder();
    const clone = await freshClone(home.path);
    expect(Bun.which("bun", { PATH: clone.env.PATH ?? "" })).toBeNull();
    await startsAndStops(clone);
    expect(await lastLineOf(clone, "npm", "test", "--", "tests/lib/table.test.ts")).toMatch(
      /^\d+ passed, 0 failed$/,
    );
    using installed = installBinary(join(clone.path, "dist", "svc"));
    await using stack = new AsyncDisposableStack();
    const at = (...names: string[]) => join(installed.path, ...names);

    // The first host has USB devices. It makes the token that the whole fleet uses.
    // A bridge, as coturn takes no address of the loopback device.
    const setup = `ip link add out type bridge && ip address add ${RELAY}/24 dev out && ip link set out up && exec "$@"`;
    const serving = (name: string) => `./svc serve --json --port 0 --rate-limit 0 --config-dir ${name}`;
    const machine = stack.use(
      await startMachine(installed.path, `sh -c '${setup}' - ${serving("kiosk-1")} --usb-watch`),
    );
    const url1 = urlIn((await machine.lines.next()).value);
    const tokenFile = at("kiosk-1", "rest_token");
    const token = readFileSync(tokenFile, "utf8").trim();

    const inside = ["nsenter", "-t", String(machine.pid), "-U", "-n", "--preserve-credentials"];
    const start = (...command: string[]) => {
      const child = Bun.spawn([...inside, ...command], {
        cwd: installed.path,
        stdio: ["ignore", "pipe", "inherit"],
      });
      stack.defer(async () => {
        child.kill();
        await child.exited;
      });
      return child;
    };
    const serve = async (name: string) => {
      const child = start(...serving(name).split(" "), "--token-file", tokenFile);
      const { value } = await child.stdout.getReader().read();
      return urlIn(new TextDecoder().decode(value));
    };
    const [url2, url3] = [await serve("kiosk-2"), await serve("kiosk-3")];

    /** Runs `svc args` on the machine whose folder is `name`; what it printed, which must be good. */
    const svc = async (name: string, ...args: string[]) => {
      const { stdout, stderr, exitCode } = await installed.run(args, {
        before: inside,
        env: { SVC_CONFIG_DIR: name },
      });
      const complaints = stderr.replaceAll(/^\[info\] .*\n|^\[warn\] the bundle is not encrypted.*\n/gm, "");
      expect({ args, exitCode, complaints }).toEqual({ args, exitCode: 0, complaints: "" });
      return stdout;
    };
    const get = (url: string) =>
      Bun.$`${inside} curl -sf -H ${`Authorization: Bearer ${token}`} ${url}`.nothrow().json();

    // Admin add and poll.
    for (const [label, url] of [
      ["kiosk-1", url1],
      ["kiosk-2", url2],
      ["kiosk-3", url3],
    ] as const) {
      await svc("console", "admin", "add", label, url, "--tag", "kiosk", "--token-file", tokenFile);
    }
    expect(await svc("console", "admin", "poll")).toEndWith("3 of 3 healthy\n");

    // Broadcast: done on each host, and on record there.
    const actions = '[["AC_set_var", {"name": "shift", "value": "night"}], ["AC_rest_api_status"]]';
    const done = await svc("console", "admin", "broadcast", actions, "--on", "tag:kiosk");
    expect(done).toEndWith("3 hosts: 3 ok\n");
    for (const name of ["kiosk-1", "kiosk-2", "kiosk-3"]) {
      expect(await svc(name, "audit", "list")).toMatch(
        /POST \/plans\/jobs -> ok:200 plan=\S+ job=\S+ content=s/,
      );
    }

    // A device is plugged in.
    machine.plug(7, 4);
    await until("the device", async () => (await svc("kiosk-1", "usb", "events")).includes("added"));
    expect(await svc("kiosk-1", "usb", "events")).toMatch(
      /Z {2}added {2}046d:c52b {2}1-7 +\S+ +Logitech USB Receiver\n/,
    );
    expect(await svc("console", "usb", "list", "--on", "kiosk-1")).toContain("1-7");

    // Somebody edits the record of a host that runs: asked from afar, it says so, and the others are whole.
    await svc("console", "audit", "verify", "--on", "all");
    const record = new Database(at("kiosk-2", "audit.db"));
    record.run(
      "UPDATE events SET detail = replace(detail, 'AC_set_var', 'AC_nothing') WHERE detail LIKE '%ok:200 plan=%'",
    );
    record.close();
    const verdicts = await installed.run(["audit", "verify", "--on", "all", "--json"], {
      before: inside,
      env: { SVC_CONFIG_DIR: "console" },
    });
    expect(verdicts.exitCode).toBe(1);
    const oks = verdicts.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(oks.map(({ label, result }) => [label, result.ok])).toEqual([
      ["kiosk-1", true],
      ["kiosk-2", false],
      ["kiosk-3", true],
    ]);
    // Its record, carried to another machine, shows it there too.
    await svc("kiosk-2", "audit", "export", "kiosk-2.jsonl");
    const elsewhere = await installed.run(["audit", "verify", "--file", "kiosk-2.jsonl"], {
      before: inside,
      env: { SVC_CONFIG_DIR: "console" },
    });
    expect(elsewhere.exitCode).toBe(1);
    expect(elsewhere.stdout).toMatch(/^Chain broken at row id \d+ of \d+: it was edited/);
    const diagnosed = await get(`${url2}/diagnose?only=audit_chain`);
    expect(diagnosed.checks[0].detail).toMatch(/^chain broken at row id \d+ of \d+: it was edited/);

    // The console moves: its configuration, exported and imported, makes another machine the console.
    await svc("console", "config", "export", "bundle.json");
    await svc("new-console", "config", "import", "bundle.json");
    expect(await svc("new-console", "admin", "poll")).toEndWith("3 of 3 healthy\n");

    // A relay from a bundle.
    await svc(
      "new-console",
      "turn",
      "--realm",
      RELAY,
      "--user",
      "lab",
      "--secret",
      "s3cret",
      "--output-dir",
      "relay",
    );
    const relay = start(
      "sh",
      "-c",
      'exec turnserver --verbose -c "$0" 2>/dev/null',
      at("relay", "turnserver.conf"),
    );
    const relayed = follow(relay.stdout);
    await relayed.says("IO method (admin thread)");
    expect(
      await svc("new-console", "turn", "test", `turn:${RELAY}`, "--user", "lab", "--secret", "s3cret"),
    ).toMatch(/^ok +relay to itself/m);

    // A folder is synced to a host, through the relay; what arrives is what was sent.
    mkdirSync(at("outbox", "reports"), { recursive: true });
    writeFileSync(at("outbox", "reports", "night.txt"), "all quiet\n");
    writeFileSync(at("secret"), "s3cret\n");
    const before = allocationsIn(relayed.text());
    const sync = ["sync", "outbox", "--to", "kiosk-3", "--once", "--include-subdirs", "--relay-only"];
    const ice = ["--ice-server", `turn:${RELAY}`, "--ice-user", "lab", "--ice-secret-file", at("secret")];
    expect(await svc("new-console", ...sync, ...ice)).toMatch(/^sent {3}reports\/night\.txt\n1 files? sent/);
    const [arrived = ""] = new Bun.Glob("*/reports/night.txt").scanSync({ cwd: at("kiosk-3", "inbox") });
    expect(readFileSync(at("kiosk-3", "inbox", arrived), "utf8")).toBe("all quiet\n");
    expect(allocationsIn(relayed.text())).toBeGreaterThan(before);

    // Prometheus finds the hosts at the console, and scrapes all three.
    const consoleUrl = await serve("new-console");
    mkdirSync(at("prometheus"));
    writeFileSync(at("prometheus.yml"), prometheusConfig(`${consoleUrl}/admin/targets`, tokenFile));
    start(
      "prometheus",
      `--config.file=${at("prometheus.yml")}`,
      `--storage.tsdb.path=${at("prometheus")}`,
      `--web.listen-address=${PROMETHEUS}`,
      "--log.level=error",
    );
    await until("Prometheus to see the three hosts", async () => {
      const answer = await get(
        `http://${PROMETHEUS}/api/v1/query?query=${encodeURIComponent('up{svc_desk=""}')}`,
      ).catch(() => undefined);
      const up = answer?.data.result.map(
        ({ metric, value }: { metric: { svc_host: string }; value: [number, string] }) =>
          `${metric.svc_host} ${value[1]}`,
      );
      return up?.toSorted().join() === "kiosk-1 1,kiosk-2 1,kiosk-3 1";
    });

    // The dashboard of the console, in a browser: its hosts are healthy, and the audit log has the move.
    const chromium = at("chromium");
    writeFileSync(chromium, `#!/bin/sh\nexec ${inside.join(" ")} chromium "$@"\n`);
    chmodSync(chromium, 0o700);
    const browser = await launchBrowser(chromium);
    stack.defer(() => browser.close());
    await using tab = await openTab(browser, consoleUrl);
    const { page } = tab;
    await page.goto(`${consoleUrl}/dashboard#hosts`);
    await signIn(page, token);
    for (const label of ["kiosk-1", "kiosk-2", "kiosk-3"]) {
      const row = page.getByRole("row", { name: new RegExp(`Select ${label}`) });
      await row.getByText("healthy", { exact: true }).waitFor();
    }
    await page.getByRole("link", { name: "Audit log", exact: true }).click();
    await page.getByText("config.import admin_hosts.json").first().waitFor();
    expect(tab.complaints).toEqual([]);
  },
  600_000,
);

function urlIn(line: unknown): string {
  return JSON.parse(String(line)).url;
}

const prometheusConfig = (targets: string, tokenFile: string) => `scrape_configs:
  - job_name: svc
    scrape_interval: 1s
    authorization: { credentials_file: ${tokenFile} }
    http_sd_configs:
      - url: ${targets}
        refresh_interval: 1s
        authorization: { type: Bearer, credentials_file: ${tokenFile} }
`;

/** How many addresses coturn has relayed for somebody. */
const allocationsIn = (log: string) => log.match(/ALLOCATE processed, success/g)?.length ?? 0;

/** The README's first command: it serves, accepts its token, and ends well on a signal. */
async function startsAndStops({ path, env }: Clone): Promise<void> {
  const child = Bun.spawn(["npm", "start", "--", "--port", "0", "--json"], {
    cwd: path,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, noise] = [follow(child.stdout), follow(child.stderr)];
  await said.says("}\n").catch((error) => {
    throw new Error(noise.text(), { cause: error });
  });
  // npm says first what it runs.
  const { url, pid, token_file } = JSON.parse(said.text().slice(said.text().indexOf("{")));
  const authorization = `Bearer ${readFileSync(token_file, "utf8").trim()}`;
  expect((await fetch(`${url}/commands`, { headers: { authorization } })).status).toBe(200);
  process.kill(pid, "SIGTERM");
  expect(await child.exited).toBe(143);
}

/** The last line that a command which ends well prints. */
async function lastLineOf({ path, env }: Clone, ...command: string[]): Promise<string | undefined> {
  const child = Bun.spawn(command, { cwd: path, env, stdio: ["ignore", "pipe", "ignore"] });
  const text = await child.stdout.text();
  expect([text, await child.exited]).toEqual([text, 0]);
  return text.trimEnd().split("\n").at(-1);
}
