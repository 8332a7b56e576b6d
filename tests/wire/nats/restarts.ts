/** A NATS server that is killed and started again under plans: each job runs once at most, and what became of it is known. */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { post, type ServerProcess, serveBinary, until } from "../../support";
import { startNats } from "./support";

const HOSTS = 4;

/** A plan is under way at each kill. */
const actions = [["AC_sleep", { seconds: 0.3 }]];

interface Desk {
  readonly state: string;
  readonly hosts?: { readonly up: number } | null;
}

/** @param kills how often the server is killed. */
export async function plansThrough(kills: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNats({ tls: true }));
  const desk = stack.use(await serveBinary(["--tls", "--rate-limit", "0"]));
  writeFileSync(join(desk.configDir, "nats.json"), JSON.stringify(await nats.part()));
  const ask = async (path: string, body?: object, at: ServerProcess = desk) => {
    const answer = await at.call(path, body && post(body));
    const said = (await answer.json()) as Record<string, unknown>;
    if (!answer.ok) throw new Error(`${path}: ${said.error}`);
    return said;
  };
  const stateOfDesk = async () => ((await ask("/nats/state")) as { desk?: Desk }).desk;
  // A host that says that it is there before the desk listens says so again two minutes later.
  await until("the desk's connection", async () => (await stateOfDesk())?.state === "connected");
  const { join_string } = await ask("/join-tokens/add", { uses: HOSTS });
  const hosts: ServerProcess[] = [];
  for (let nth = 0; nth < HOSTS; nth++) {
    const host = stack.use(await serveBinary());
    const string = join(host.configDir, "string");
    writeFileSync(string, String(join_string));
    const env = { ...process.env, SVC_CONFIG_DIR: host.configDir };
    await Bun.$`${join(import.meta.dir, "../../../dist/svc")} join --file ${string} --label ${`h${nth}`}`
      .env(env)
      .quiet();
    hosts.push(host);
  }
  await until("the hosts", async () => (await stateOfDesk())?.hosts?.up === HOSTS);

  const ids: string[] = [];
  for (let nth = 0; nth < kills; nth++) {
    const plan = await ask("/plans/new", {
      actions,
      on: "all",
      queue: true,
      expires_s: 3_600,
      waves: [1, "100%"],
      max_failures: "100%",
    });
    ids.push(String(plan.id));
    await ask(`/plans/${plan.id}/apply`, { digest: plan.digest });
    // At any point of the plan: before it, while it is sent, while it runs, while its results come back.
    await Bun.sleep(Math.random() * 900);
    await nats.kill();
    await Bun.sleep(Math.random() * 500);
    await nats.start();
  }
  for (const id of ids) {
    const shown = await until(
      `the plan ${id}`,
      async () => {
        const now = await ask(`/plans/${id}`);
        return now.state === "done" && now;
      },
      { seconds: 300, everyMs: 200 },
    );
    expect(shown.counts).toEqual({ ok: HOSTS });
  }
  for (const host of hosts) {
    const { runs } = (await ask("/history?limit=1000", undefined, host)) as {
      runs: Array<{ source_id: string | null; status: string }>;
    };
    const plans = runs.map(({ source_id }) => String(source_id).split("/")[0]);
    expect(plans.toSorted()).toEqual(ids.toSorted());
  }
}
