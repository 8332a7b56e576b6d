/**
 * A desk and twenty hosts behind two routers that translate addresses: nobody reaches the hosts from outside, and all that a desk
 * does with hosts goes over the links that they dial, or over the NATS server that they connect to.
 */
import { describe, expect } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startDisplay } from "../host/desktop/support";
import { installBinary, runToEnd, testWith, until } from "../support";
import { DESK, PROGRAMS, startNetworks } from "./behind-nat";

const SITES = ["north", "south"];
const PER_SITE = 10;
const LABELS = SITES.flatMap((site) => Array.from({ length: PER_SITE }, (_, nth) => `${site}-${nth}`));

describe.each(["link", "nats"])("over %s", (carrier) => {
  testWith(
    ...PROGRAMS,
    "Xvfb",
    "curl",
    "ss",
    ...(carrier === "nats" ? ["nats-server"] : []),
  )(
    "hosts behind NAT join, are polled, run a plan in waves, are looked at, get files and are scraped, and follow their machine to another network",
    async () => {
      using machine = installBinary();
      const at = (...names: string[]) => join(machine.path, ...names);
      await using stack = new AsyncDisposableStack();
      const networks = stack.use(await startNetworks(...SITES));
      const display = stack.use(await startDisplay({ managed: false }));

      const serve = async (
        space: string,
        name: string,
        flags: readonly string[],
        env: NodeJS.ProcessEnv = {},
      ) => {
        mkdirSync(at(name), { mode: 0o700 });
        const command = ["./svc", "serve", "--json", "--config-dir", name, ...flags];
        const child = Bun.spawn([...networks.within(space), ...command], {
          cwd: machine.path,
          env: { PATH: process.env.PATH, HOME: machine.path, ...env },
          stdio: ["ignore", "pipe", Bun.file(at(`${name}.log`))],
        });
        stack.defer(async () => {
          child.kill("SIGKILL");
          await child.exited;
        });
        const { value } = await child.stdout.getReader().read();
        if (!value) throw new Error(`${name} did not start: ${readFileSync(at(`${name}.log`), "utf8")}`);
      };
      /** What `svc args` prints on the machine `name`. */
      const svc = async (space: string, name: string, args: readonly string[], stdin = "") => {
        const { stdout, stderr, exitCode } = await runToEnd(
          [...networks.within(space), "./svc", ...args, "--config-dir", name],
          { cwd: machine.path, env: { PATH: process.env.PATH, HOME: machine.path }, stdin },
        );
        expect({ args, exitCode, stderr, stdout }).toMatchObject({ exitCode: 0 });
        return stdout;
      };
      const desk = (...args: string[]) => svc("desk", "desk", args);

      const hub = carrier === "link" ? ["--hub"] : [];
      await serve("desk", "desk", [...hub, "--host", DESK, "--port", "9939"]);
      if (carrier === "nats") {
        await desk("nats", "--operator", "lab", "--url", `tls://${DESK}:4222`, "--output-dir", "bundle");
        const server = Bun.spawn([...networks.within("desk"), "nats-server", "-c", "nats-server.conf"], {
          cwd: at("bundle"),
          stdio: ["ignore", "ignore", Bun.file(at("nats.log"))],
        });
        stack.defer(async () => {
          server.kill("SIGKILL");
          await server.exited;
        });
      }
      const string = await desk("join-token", "--uses", `${LABELS.length}`, "--tag", "site");
      await Promise.all(
        SITES.flatMap((space) =>
          LABELS.filter((label) => label.startsWith(space)).map(async (label) => {
            const hasDisplay = label === "north-3" && { DISPLAY: display.env.DISPLAY };
            await serve(space, label, ["--port", "0"], { ...hasDisplay });
            await svc(space, label, ["join", "--label", label], string);
          }),
        ),
      );
      for (const site of SITES) {
        const open = await Bun.$`${networks.within(site)} ss -Hltun`.text();
        expect(open.split("\n").filter((line) => line && !/ 127\.0\.0\.1:\d+ /.test(line))).toEqual([]);
      }

      // All that follows, the desk does over the carrier.
      // It ends with 1 while some are not healthy.
      const poll = () =>
        Bun.$`${networks.within("desk")} ./svc admin poll --json --config-dir desk`.cwd(machine.path);
      const healthy = async () =>
        ((await poll().nothrow().quiet().json()) as Array<{ label: string; healthy: boolean }>)
          .filter((host) => host.healthy)
          .map(({ label }) => label)
          .sort();
      await until("all are connected", async () => (await healthy()).length === LABELS.length, {
        seconds: 90,
      });
      expect(await healthy()).toEqual(LABELS.toSorted());
      const [entry] = JSON.parse(await desk("admin", "list", "--json"));
      expect(entry.base_url).toMatch(carrier === "link" ? /^link:[0-9a-f]{32}$/ : /^nats:U[A-Z2-7]{55}$/);

      const actions = '[["AC_set_var", {"name": "shift", "value": "night"}]]';
      const plan = JSON.parse(
        await desk("plan", "new", actions, "--on", "all", "--waves", "1,50%,100%", "--json"),
      );
      expect(plan.hosts).toHaveLength(LABELS.length);
      await desk("plan", "apply", plan.id, "--digest", plan.digest);
      const shown = await until("the plan is done", async () => {
        const now = JSON.parse(await desk("plan", "show", plan.id, "--json"));
        return now.state === "done" && now;
      });
      expect(shown.counts).toEqual({ ok: LABELS.length });
      const rows = JSON.parse(await svc("north", "north-0", ["audit", "list", "--json"])).rows;
      expect(rows.map(({ detail }: { detail: string }) => detail)).toContainEqual(
        expect.stringMatching(new RegExp(`^POST /plans/jobs .* via=${carrier}$`)),
      );
      expect(await desk("admin", "broadcast", actions, "--on", "all", "--canary", "2")).toEndWith(
        `${LABELS.length} hosts: ${LABELS.length} ok\n`,
      );

      mkdirSync(at("shots"));
      await desk("screenshot", "--on", "north-3", "--output", "shots");
      const [picture = ""] = Array.from(new Bun.Glob("*.png").scanSync(at("shots")));
      expect(readFileSync(at("shots", picture)).subarray(1, 4).toString()).toBe("PNG");

      mkdirSync(at("outbox"));
      writeFileSync(at("outbox", "hello.txt"), "from the desk");
      await desk("sync", "outbox", "--to", "south-5", "--once");
      const [arrived = ""] = Array.from(new Bun.Glob("south-5/inbox/*/hello.txt").scanSync(machine.path));
      expect(readFileSync(at(arrived), "utf8")).toBe("from the desk");

      const token = readFileSync(at("desk", "rest_token"), "utf8").trim();
      const get = (path: string) =>
        Bun.$`${networks.within("desk")} curl -ksf -H ${`Authorization: Bearer ${token}`} https://${DESK}:9939${path}`.text();
      const groups: Array<{ targets: string[]; labels: Record<string, string> }> = JSON.parse(
        await get("/admin/targets"),
      );
      expect(groups.map(({ labels }) => labels.__metrics_path__).sort()).toEqual(
        ["/metrics", ...LABELS.map((label) => `/admin/hosts/${label}/metrics`)].sort(),
      );
      expect(new Set(groups.flatMap(({ targets }) => targets))).toEqual(new Set([`${DESK}:9939`]));
      expect(await get("/admin/hosts/south-1/metrics")).toMatch(/^service_rest_uptime_seconds /m);

      // The machine of the north is carried to the south, where it gets another address.
      await networks.move("north", "south");
      const moved = performance.now();
      await until("the north is back", async () => (await healthy()).length === LABELS.length, {
        seconds: 120,
        everyMs: 250,
      });
      console.info(
        `back after a move to another network: ${((performance.now() - moved) / 1_000).toFixed(1)} s`,
      );
    },
    600_000,
  );
});
