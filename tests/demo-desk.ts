/**
 * A desk with a fleet, as pictures and people who look at the dashboard want one: hosts that have joined, one of which is off, with runs,
 * jobs, plans, statistics and a desktop. All of it is real, on loopback and in a temporary folder.
 */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startDisplay } from "./host/desktop/support";
import { BINARY, caller, post, temporaryFolder, until } from "./support";

/** Hosts of the fleet, with their tags. */
const HOSTS = {
  "berlin-01": ["berlin", "till"],
  "berlin-02": ["berlin", "till"],
  "hamburg-01": ["hamburg", "till"],
  "hamburg-02": ["hamburg", "kiosk"],
};

/** The one that is off in the end. */
const OFF = "hamburg-02";

/** Of the statistics: how many, one a second. */
const SAMPLES = 240;

/** What a link looks like whose quality varies, `age` seconds ago. */
function sampleAt(age: number) {
  const wave = Math.sin(age / 17) + Math.sin(age / 5.3) / 2;
  const jump = age > 118 && age < 131 ? 1 : 0;
  return {
    age_seconds: age,
    rtt_ms: 24 + 4 * wave + 55 * jump,
    fps: Math.round(30 - 2 * Math.abs(wave) - 9 * jump),
    bitrate_kbps: 4_200 + 350 * wave - 1_500 * jump,
    packet_loss_pct: Math.max(0, 0.15 * wave + 2.4 * jump),
    jitter_ms: 2.5 + Math.abs(wave) + 7 * jump,
  };
}

/** The desk, once its fleet has joined, has run and shows what it has found. Everything ends with the scope. */
export async function demoDesk() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const display = stack.use(await startDisplay());
  const at = (...names: string[]) => join(folder.path, ...names);
  const spawn = (name: string, args: readonly string[]) => {
    mkdirSync(at(name), { recursive: true });
    return Bun.spawn([at("svc"), ...args], {
      cwd: at(name),
      // Of this machine, only where its programs are.
      env: { PATH: process.env.PATH, HOME: at(name), DISPLAY: display.env.DISPLAY, LC_ALL: "C.UTF-8" },
      stdio: ["ignore", "pipe", "pipe"],
    });
  };
  copyFileSync(BINARY, at("svc"));
  const svc = async (name: string, ...args: string[]) => {
    const child = spawn(name, args);
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    if ((await child.exited) !== 0) throw new Error(`svc ${args.join(" ")} at ${name}: ${err}`);
    return out;
  };
  const serve = async (name: string, ...flags: string[]) => {
    const child = spawn(name, ["serve", "--json", "--port", "0", "--rate-limit", "0", ...flags]);
    stack.defer(async () => {
      child.kill();
      await child.exited;
    });
    const { value } = await child.stdout.getReader().read();
    const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value));
    return { url, child, call: caller(url, (await svc(name, "token", "show")).trim()) };
  };

  const desk = await serve("desk", "--hub", "--tls");
  const hosts = new Map<string, Awaited<ReturnType<typeof serve>>>();
  for (const [label, tags] of Object.entries(HOSTS)) {
    const host = await serve(label, "--allow-shell");
    const advertised = `127.0.0.1:${new URL(desk.url).port}`;
    const flags = ["--advertise", advertised, ...tags.flatMap((tag) => ["--tag", tag])];
    writeFileSync(at(label, "string"), await svc("desk", "join-token", ...flags), { mode: 0o600 });
    await svc(label, "join", "--allow", "admin", "--label", label, "--file", "string");
    hosts.set(label, host);
  }
  await until("the links", async () => {
    const { links } = (await (await desk.call("/links")).json()) as { links: Array<{ linked: boolean }> };
    return links.filter(({ linked }) => linked).length === hosts.size;
  });
  await work(desk, at("desk"));
  hosts.get(OFF)?.child.kill();
  await hosts.get(OFF)?.child.exited;
  await planOf(desk, [["AC_shell_command", ["df -h /"]]], { on: "tag:hamburg", queue: true });
  const token = (await svc("desk", "token", "show")).trim();
  const kept = stack.move();
  return { url: desk.url, token, call: desk.call, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

type Desk = { readonly call: ReturnType<typeof caller> };

/** Makes a plan and applies it. One that keeps work for a host that is off is not waited for. */
async function planOf(
  { call }: Desk,
  actions: unknown[],
  more: { on: string; waves?: string[]; pause_s?: number; queue?: boolean },
): Promise<void> {
  const made = await call("/plans/new", post({ actions, ...more }));
  if (made.status !== 200) throw new Error(await made.text());
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  await call(`/plans/${id}/apply`, post({ digest, wait: !more.queue }));
}

/** What a desk has done in a day: runs, jobs, plans, a broadcast, statistics of a link. */
async function work(desk: Desk, folder: string) {
  const { call } = desk;
  const script = join(folder, "till.json");
  writeFileSync(script, '[["AC_screen_size"], ["AC_sleep", {"seconds": 0.2}]]');
  const wrong = join(folder, "wrong.json");
  writeFileSync(wrong, '[["AC_wait_window", {"title_substring": "Order", "timeout": 0.2}]]');
  await call("/jobs/add", post({ script_path: script, cron_expression: "0 3 * * *", job_id: "nightly" }));
  await call("/jobs/add", post({ script_path: wrong, interval_seconds: 900, job_id: "orders" }));
  for (const job_id of ["nightly", "orders"]) await call("/jobs/run", post({ job_id }));
  await call("/execute", post({ actions: [["AC_screen_size"], ["AC_wait_still"]], trace: true }));
  await planOf(desk, [["AC_shell_command", ["uname -a"]]], { on: "all", waves: ["1", "100%"], pause_s: 0 });
  await planOf(desk, [["AC_wait_window", { title_substring: "Order", timeout: 0.3 }]], { on: "tag:berlin" });
  const body = { actions: [["AC_screen_size"]], on: "all" };
  await (await call("/admin/broadcast", post(body))).text();
  const samples = Array.from({ length: SAMPLES }, (_, nth) => sampleAt(SAMPLES - nth));
  await call("/inspector/samples", post({ session: "berlin-01", samples }));
}
