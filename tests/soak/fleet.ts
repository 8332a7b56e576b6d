/** A desk and hosts of it that can be killed: the compiled binary, and hosts that are simulated in this process. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFleet, NO_FAULTS } from "../../bench/programs/sim-host";
import { serveHosts } from "../../bench/programs/sim-https";
import { addressOf, labelOf } from "../../bench/programs/sim-seed";
import { jobId } from "../../src/desk/plans/plan";
import { openReadOnly } from "../../src/lib/sqlite";
import { freePort } from "../e2e/binary";
import { installBinary, post, TOKEN } from "../support";

/** How many hosts are simulated, and what goes wrong with them; how many of them never answer. */
const SIMULATED = 20;
const FAULTS = { ...NO_FAULTS, dead: 0.05, lose: 0.02, dup: 0.05 };

/** The hosts of the binary, by the way on which the desk reaches them. */
const REAL = ["linked", "direct"];

/** When the simulated hosts are asked nothing for so long, they will not be before something happens; milliseconds. */
const QUIET_MS = 300;

/** After how long a process besides the server is killed, in milliseconds. */
const DECIDE_MS = 5_000;

/** A plan as the desk shows it. */
export interface PlanView {
  readonly id: string;
  readonly state: string;
  readonly ended: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly targets: ReadonlyArray<{
    readonly label: string;
    readonly state: string;
    readonly attempt: number;
    readonly sent: string | null;
  }>;
}

export async function startFleet(seed: string) {
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(installBinary());
  const at = (...names: string[]) => join(machine.path, ...names);
  let reached = 0;
  const { hosts: simulated, runs } = createFleet(SIMULATED, seed, FAULTS, { runMs: 30 });
  let arrived = () => {};
  const seen = () => {
    reached++;
    arrived();
  };
  const { port: simPort } = stack.use(serveHosts(simulated, { seen }));

  const start = async (name: string, port: number, flags: readonly string[]) => {
    const command = ["../svc", "serve", "--json", "--tls", "--port", `${port}`, "--rate-limit", "0"];
    const child = Bun.spawn([...command, ...flags, "--config-dir", "config"], {
      cwd: at(name),
      env: { ...process.env, SVC_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", Bun.file(at(`${name}.log`))],
    });
    const { value } = await child.stdout.getReader().read();
    if (!value) throw new Error(`${name} did not start: ${readFileSync(at(`${name}.log`), "utf8")}`);
    return child;
  };
  /** A server that can be killed, and is back a moment later. */
  const machineOf = async (name: string, ...flags: string[]) => {
    mkdirSync(at(name, "config"), { recursive: true, mode: 0o700 });
    const port = freePort();
    let child = await start(name, port, flags);
    stack.defer(async () => {
      child.kill("SIGKILL");
      await child.exited;
    });
    return {
      url: `https://127.0.0.1:${port}`,
      async kill() {
        child.kill("SIGKILL");
        await child.exited;
        child = await start(name, port, flags);
      },
    };
  };

  const entries = simulated.map(({ nth }) => ({
    label: labelOf(nth),
    base_url: `http://${addressOf(nth)}:${simPort}`,
    token: TOKEN,
    tags: [],
  }));
  mkdirSync(at("desk", "config"), { recursive: true, mode: 0o700 });
  writeFileSync(at("desk", "config", "admin_hosts.json"), JSON.stringify({ hosts: entries }), {
    mode: 0o600,
  });
  const desk = await machineOf("desk", "--hub");
  const real: Array<typeof desk> = [];
  for (const name of REAL) {
    const host = await machineOf(name);
    const run = (folder: string, stdin: string, ...args: string[]) =>
      Bun.$`../svc ${args} --config-dir config < ${Buffer.from(stdin)}`.cwd(at(folder)).quiet().text();
    const string = await run("desk", "", "join-token");
    await run(name, string, "join", "--label", name, ...(name === "direct" ? ["--direct", host.url] : []));
    real.push(host);
  }

  const call = async <T>(path: string, init: RequestInit = {}, url = desk.url): Promise<T> => {
    const headers = { ...init.headers, authorization: `Bearer ${TOKEN}` };
    const response = await fetch(url + path, { ...init, headers, tls: { rejectUnauthorized: false } });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const owned = stack.move();

  return {
    simulated,
    runs,
    real,
    labels: [...entries.map(({ label }) => label), ...REAL],
    /** Makes a plan and applies it. @param isCut whether the desk is killed as it does so. @returns its id. */
    async begin(plan: object, isCut: boolean): Promise<string> {
      const { id, digest } = await call<{ id: string; digest: string }>("/plans/new", post(plan));
      const applied = call(`/plans/${id}/apply`, post({ digest }));
      if (isCut) await Promise.all([applied.catch(() => {}), desk.kill()]);
      else await applied;
      return id;
    },
    /** Has a process besides the server decide about a plan, which is in no state for it perhaps. */
    decide(what: "cancel" | "retry", id: string): Promise<number> {
      // Where no server runs, it would run the plan itself, to its end.
      const within = { timeout: DECIDE_MS, killSignal: "SIGKILL" } as const;
      const command = ["../svc", "plan", what, id, "--config-dir", "config"];
      const env = { ...process.env, SVC_TOKEN: TOKEN };
      return Bun.spawn(command, { cwd: at("desk"), env, stdio: ["ignore", "ignore", "ignore"], ...within })
        .exited;
    },
    /** Resolves when so many more requests have reached the simulated hosts, or none does any more. */
    async requests(count: number) {
      const enough = reached + count;
      for (let before = -1; reached < enough && before !== reached; ) {
        before = reached;
        const { promise, resolve } = Promise.withResolvers<void>();
        arrived = () => reached >= enough && resolve();
        await Promise.race([promise, Bun.sleep(QUIET_MS)]);
      }
    },
    killDesk: () => desk.kill(),
    killHost: (nth: number) => real[nth]?.kill(),
    crashSimulated: (nth: number) => simulated[nth]?.crash(),
    plans: async () => (await call<{ plans: PlanView[] }>("/plans")).plans,
    plan: (id: string) => call<PlanView>(`/plans/${id}`),
    /**
     * How often a plan ran on a host in its last attempt, by what that has recorded of its runs, and of its jobs: the history is written a moment after
     * a run, so that a kill may lose a row, and how a job ended is on disk at once.
     */
    async timesRun({ id, targets }: PlanView, label: string): Promise<number> {
      const host = real[REAL.indexOf(label)];
      const nth = targets.findIndex((target) => target.label === label);
      const last = jobId(id, nth, (targets[nth]?.attempt ?? 1) - 1);
      if (!host) return runs.filter(({ job }) => job === last).length;
      const path = "/history?source_type=plan&limit=1000";
      const found = await call<{ runs: Array<{ source_id: string }> }>(path, {}, host.url);
      const runsOf = found.runs.filter(({ source_id }) => source_id === `${id}/${last}`);
      const file = at(label, "config", "seen_jobs.db");
      if (!existsSync(file)) return runsOf.length;
      using jobs = openReadOnly(file);
      const isDone = jobs.query("SELECT 1 FROM jobs WHERE id = ?1 AND state = 'done'").get(last) !== null;
      return runsOf.length + (isDone && runsOf.length === 0 ? 1 : 0);
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}
