/**
 * Jobs of plans against the compiled server, which is killed at random moments: none runs twice, and what became of each is known.
 * SVC_KILLS says how often; SVC_SEED replays a run.
 */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createDelivery } from "../../src/desk/plans/deliver";
import type { SigningKey } from "../../src/trust/identity";
import type { JobResult, Target } from "../../src/wire/job/job";
import { at, madeUpJob } from "../host/jobs/support";
import { installHost } from "../soak/host";
import { TOKEN } from "../support";

const KILLS = Number(process.env.SVC_KILLS ?? 20);
const SEED = Number(process.env.SVC_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Numbers from 0 to 1 that the seed decides (mulberry32). */
function randomBy(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test("a host that is killed at any moment runs no job twice, and says what became of it", async () => {
  console.info(`SVC_SEED=${SEED}`);
  const random = randomBy(SEED);
  using host = installHost();
  const ran = join(host.path, "ran");
  const timesOf = (id: string) =>
    existsSync(ran)
      ? readFileSync(ran, "utf8")
          .split("\n")
          .filter((one) => one === id).length
      : 0;
  const { deliver } = createDelivery((): SigningKey => {
    throw new Error("nothing is signed");
  });
  const options = { signal: new AbortController().signal, client: null, sent() {}, running() {} };
  const ends: Record<string, number> = {};
  let server = await host.serve({ flags: ["--allow-shell"] });
  for (let nth = 0; nth < KILLS; nth++) {
    const id = crypto.randomUUID();
    const actions = [
      ["AC_shell_command", { shell_command: `sh -c "echo ${id} >> ${ran}"` }],
      ["AC_sleep", [0.02 * random()]],
    ];
    const job = madeUpJob({ actions, stop_on_error: true }, { id });
    const target: Target = {
      label: "lab-01",
      server: { url: server.url, token: TOKEN, trust: { kind: "any" } },
      host_id: null,
    };
    const leaving = new AbortController();
    // Twice at once, as after a timeout.
    const delivered = Promise.all([
      deliver(target, job, { ...options, signal: leaving.signal }),
      deliver(target, job, { ...options, signal: leaving.signal, before: "job" }),
    ]);
    await Bun.sleep(120 * random());
    process.kill(server.pid, "SIGKILL");
    await server.exited;
    leaving.abort();
    server = await host.serve({ flags: ["--allow-shell"] });
    const before = await delivered;
    const again = { ...target, server: { ...target.server, url: server.url } };
    const ended: JobResult = await deliver(again, job, { ...options, before: "job" });
    ends[ended.state] = (ends[ended.state] ?? 0) + 1;
    const times = timesOf(id);
    expect([nth, times <= 1]).toEqual([nth, true]);
    if (ended.state === "ok") expect([nth, times]).toEqual([nth, 1]);
    else
      expect(ended).toMatchObject({
        state: "interrupted",
        result: { error: expect.stringContaining("interrupted") },
      });
    // What was known before the kill is known after it.
    for (const { state } of before) if (state === "ok") expect(ended.state).toBe("ok");
    expect(await deliver(again, job, { ...options, before: "job" })).toMatchObject({ state: ended.state });
  }
  console.info(ends);
  // Those that expired while the host was dead never run.
  const late = madeUpJob(
    { actions: [["AC_shell_command", { shell_command: `touch ${ran}-late` }]] },
    { not_before: at(-60_000), expires: at(-1) },
  );
  const target: Target = {
    label: "lab-01",
    server: { url: server.url, token: TOKEN, trust: { kind: "any" } },
    host_id: null,
  };
  expect(await deliver(target, late, { ...options, before: "job" })).toMatchObject({ state: "expired" });
  expect(existsSync(`${ran}-late`)).toBe(false);
  expect(readdirSync(join(host.configDir, "run"))).not.toContain("job-files");
  process.kill(server.pid);
  await server.exited;
}, 600_000);
