/**
 * A script of three hosts under kills of the desk and of its hosts: no run hangs past its deadline, no act is done twice, and each failure
 * names host and step. In CI twenty runs, elsewhere eight; `bun run soak` has a thousand (SVC_SOAK_TOGETHER says otherwise).
 *
 * Who is killed and when follows from a seed, which is printed; SVC_SOAK_SEED replays it.
 */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { seeded } from "../../bench/programs/sim-seed";
import { freePort } from "../e2e/binary";
import { installBinary, isThorough, post, TOKEN, until } from "../support";

const RUNS = Number(process.env.SVC_SOAK_TOGETHER ?? (isThorough ? 20 : 8));
const SEED =
  process.env.SVC_SOAK_SEED ?? (RUNS <= 20 ? "together" : `${Math.floor(Math.random() * 2 ** 32)}`);

/** The time limit of a run, and how long it may take besides: until hosts have answered, and the machine is busy. Seconds. */
const TIMEOUT_S = 8;
const GRACE_S = 12;

/** The hosts, by the way on which the desk reaches them. */
const HOSTS = ["direct-1", "direct-2", "linked"];

/** The longest time after the start of a run until the kill, in milliseconds: somewhat longer than a run takes. */
const KILL_WITHIN_MS = 1_500;

const REPORT = v.object({
  ok: v.boolean(),
  status: v.string(),
  error_text: v.nullable(v.string()),
  outcomes: v.array(v.looseObject({ detail: v.optional(v.record(v.string(), v.unknown())) })),
});

const ROWS = v.object({
  runs: v.array(v.object({ run_id: v.nullable(v.string()), status: v.string() })),
});

const POLLED = v.array(v.object({ label: v.string(), healthy: v.boolean() }));

/** A desk and three hosts, each a process that can be killed and is back a moment later. */
async function startMachines() {
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(installBinary());
  const at = (...names: string[]) => join(machine.path, ...names);
  const start = async (name: string, port: number, flags: readonly string[]) => {
    const command = ["../svc", "serve", "--json", "--port", `${port}`, "--rate-limit", "0", ...flags];
    const child = Bun.spawn([...command, "--config-dir", "config"], {
      cwd: at(name),
      env: { ...process.env, SVC_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", Bun.file(at(`${name}.log`))],
    });
    const { value } = await child.stdout.getReader().read();
    if (!value) throw new Error(`${name} did not start: ${readFileSync(at(`${name}.log`), "utf8")}`);
    return child;
  };
  const serve = async (name: string, scheme: string, flags: readonly string[]) => {
    mkdirSync(at(name, "config"), { recursive: true, mode: 0o700 });
    const port = freePort();
    let child = await start(name, port, flags);
    stack.defer(async () => {
      child.kill("SIGKILL");
      await child.exited;
    });
    return {
      url: `${scheme}://127.0.0.1:${port}`,
      async kill() {
        child.kill("SIGKILL");
        await child.exited;
        child = await start(name, port, flags);
      },
    };
  };
  const direct = [];
  for (const name of HOSTS.slice(0, 2)) direct.push(await serve(name, "http", ["--allow-shell"]));
  mkdirSync(at("desk", "config"), { recursive: true, mode: 0o700 });
  const entries = direct.map(({ url }, nth) => ({
    label: HOSTS[nth],
    base_url: url,
    token: TOKEN,
    tags: [],
  }));
  writeFileSync(at("desk", "config", "admin_hosts.json"), JSON.stringify({ hosts: entries }), {
    mode: 0o600,
  });
  const desk = await serve("desk", "https", ["--tls", "--hub"]);
  const linked = await serve("linked", "https", ["--tls", "--allow-shell"]);
  const run = (folder: string, stdin: string, ...args: string[]) =>
    Bun.$`../svc ${args} --config-dir config < ${Buffer.from(stdin)}`.cwd(at(folder)).quiet().text();
  await run(
    "linked",
    await run("desk", "", "join-token"),
    "join",
    "--label",
    "linked",
    "--allow",
    "desk,admin",
  );
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = { ...init.headers, authorization: `Bearer ${TOKEN}` };
    const response = await fetch(desk.url + path, { ...init, headers, tls: { rejectUnauthorized: false } });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const owned = stack.move();
  return {
    call,
    machines: [desk, ...direct, linked],
    acts: at("acts"),
    /** Resolves when the desk reaches all hosts. */
    ready: () =>
      until(
        "the desk reaches its hosts",
        async () => {
          const polled = await call("/admin/poll?timeout_s=2").catch(() => []);
          const found = v.parse(POLLED, polled);
          return found.length === HOSTS.length && found.every(({ healthy }) => healthy);
        },
        { seconds: 120, everyMs: 100 },
      ),
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

/** A chat of three: each act is a line in a file, which a second one would show. */
function chat(nth: number, acts: string) {
  const act = (host: string, step: number) => [
    "AC_shell_command",
    { shell_command: ["/bin/sh", "-c", `echo ${nth}-${host}-${step} >> ${acts}; sleep 0.05`] },
  ];
  const branches = HOSTS.map((host, at) => {
    const next = HOSTS[(at + 1) % HOSTS.length]?.replace("-", "_");
    const own = host.replace("-", "_");
    const body = [
      act(host, 0),
      ["AC_set_var", { name: own, value: `${nth} of ${host}` }],
      ["AC_barrier", { name: "greeted", timeout: "6s" }],
      act(host, 1),
      ["AC_assert", { name: `${next}`, op: "contains", value: `${nth} of ` }],
      ["AC_barrier", { name: "answered", timeout: "6s" }],
      act(host, 2),
    ];
    return [["AC_on", { host, body, share: [own], timeout: `${TIMEOUT_S}s` }]];
  });
  return { actions: [["AC_together", { branches, timeout: `${TIMEOUT_S}s` }]], stop_on_error: true };
}

test(
  `${RUNS} runs of a script of three hosts under kills: none hangs, no act is done twice, each failure names host and step`,
  async () => {
    console.info(`together: ${RUNS} runs with the seed ${SEED}`);
    const random = seeded(SEED, "together");
    await using fleet = await startMachines();
    await fleet.ready();
    const tally = new Map<string, number>();
    const count = (what: string) => tally.set(what, (tally.get(what) ?? 0) + 1);
    const wrong: string[] = [];
    const whole: number[] = [];
    let longest = 0;
    for (let nth = 0; nth < RUNS; nth++) {
      const victim = random() < 0.75 ? Math.floor(random() * fleet.machines.length) : undefined;
      const afterMs = random() * KILL_WITHIN_MS;
      const began = performance.now();
      const running = fleet
        .call("/execute", post(chat(nth, fleet.acts)))
        .catch((error: unknown) => `${error}`);
      const killed = (async () => {
        if (victim === undefined) return;
        await Bun.sleep(afterMs);
        await fleet.machines[victim]?.kill();
      })();
      const report = v.safeParse(REPORT, await running);
      const took = performance.now() - began;
      longest = Math.max(longest, took);
      if (took > (TIMEOUT_S + GRACE_S) * 1_000) wrong.push(`run ${nth} took ${Math.round(took)} ms`);
      await killed;
      await fleet.ready();
      if (!report.success) {
        // The desk was killed: it says so of the run, which it does not take up again.
        if (victim !== 0) wrong.push(`run ${nth} has no answer, and the desk was not killed`);
        count("desk killed");
        continue;
      }
      const { ok, error_text, outcomes } = report.output;
      if (ok) {
        count("ok");
        whole.push(nth);
        continue;
      }
      const { code, host, step } = outcomes[0]?.detail ?? {};
      count(`${code}`);
      const names = HOSTS.some((one) => `${host}` === one) && /branches\[\d\]\[0\]\.body/.test(`${step}`);
      if (!names || !error_text?.includes(`${host}: `)) wrong.push(`run ${nth}: ${error_text}`);
      // On a machine that is busy, a run may take longer than it has: it says so in time.
      if (victim === undefined && code !== "timeout")
        wrong.push(`run ${nth} failed without a kill: ${error_text}`);
    }
    const lines = existsSync(fleet.acts) ? readFileSync(fleet.acts, "utf8").trimEnd().split("\n") : [];
    const acts = Map.groupBy(lines, (line) => line);
    for (const [line, those] of acts)
      if (those.length > 1) wrong.push(`${line} was done ${those.length} times`);
    for (const nth of whole)
      for (const host of HOSTS)
        for (const step of [0, 1, 2])
          if (!acts.has(`${nth}-${host}-${step}`)) wrong.push(`${nth}-${host}-${step} was not done`);
    const { runs } = v.parse(ROWS, await fleet.call("/history?limit=10000"));
    const open = runs.filter(({ status }) => status === "running" || status === "waiting");
    if (open.length > 0) wrong.push(`${open.length} runs have no end`);
    const ends = [...tally].map(([what, times]) => `${times} ${what}`).join(", ");
    console.info(`together: ${ends}; ${lines.length} acts; the longest took ${Math.round(longest)} ms`);
    expect({ seed: SEED, wrong }).toEqual({ seed: SEED, wrong: [] });
    expect(tally.get("ok")).toBeGreaterThan(0);
  },
  (RUNS * 30 + 300) * 1_000,
);
