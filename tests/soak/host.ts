/** A host that things are done to: the compiled server, what it logs, and what it has acknowledged. */
import { expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { verifyDatabase } from "../../src/host/audit/verify";
import { rowsOf } from "../host/audit/support";
import { follow, installBinary, post, TOKEN } from "../support";

/** A change that is allowed to anybody who may run actions, and leaves nothing behind but its rows. */
const HARMLESS = { actions: [["AC_set_var", { name: "touched", value: true }]] };

const STARTED = v.object({ url: v.string(), pid: v.number() });
const RUN = v.object({ run_id: v.string() });
const JOB = v.object({ job_id: v.string() });
const REPORT = v.object({
  checks: v.tuple([v.object({ ok: v.boolean(), severity: v.string(), detail: v.string() })]),
});

/** The binary in a folder of its own with a script to run; what was acknowledged outlives each of its servers. */
export function installHost() {
  const machine = installBinary();
  const { path, configDir } = machine;
  mkdirSync(configDir, { mode: 0o700 });
  const script = join(path, "script.json");
  writeFileSync(script, JSON.stringify(HARMLESS.actions));
  const runs = new Set<string>();
  const jobs = new Set<string>();

  return {
    ...machine,
    database: join(configDir, "audit.db"),
    /** How many changes were acknowledged so far. */
    acknowledged: () => runs.size + jobs.size,

    /**
     * Starts a server; resolves once it answers. Killed when the scope ends.
     *
     * @param before put in front of its command line; `flags` come after.
     */
    async serve({
      before = [],
      env = {},
      flags = [],
    }: {
      before?: readonly string[];
      env?: NodeJS.ProcessEnv;
      flags?: readonly string[];
    } = {}) {
      const child = Bun.spawn(
        [...before, join(path, "svc"), "serve", "--json", "--port", "0", "--rate-limit", "0", ...flags],
        {
          cwd: path,
          env: { ...process.env, SVC_CONFIG_DIR: configDir, SVC_TOKEN: TOKEN, ...env },
          stdio: ["ignore", "pipe", "pipe"],
        },
      );
      const log = follow(child.stderr);
      const { value } = await child.stdout.getReader().read();
      if (!value) throw new Error(`it did not start: ${await log.whole}`);
      const { url, pid } = v.parse(STARTED, JSON.parse(new TextDecoder().decode(value)));
      const call = (way: string, init: RequestInit = {}) =>
        fetch(url + way, {
          ...init,
          headers: { ...init.headers, authorization: `Bearer ${TOKEN}` },
          signal: init.signal ?? AbortSignal.timeout(20_000),
        });
      return {
        url,
        pid,
        call,
        log,
        exited: child.exited,
        /** Runs a harmless action. The status; a 200 is remembered as acknowledged. */
        async run() {
          const response = await call("/execute", post(HARMLESS));
          const body: unknown = await response.json();
          if (response.status === 200) runs.add(v.parse(RUN, body).run_id);
          return response.status;
        },
        /** Adds a job. The status; a 200 is remembered as acknowledged. */
        async addJob() {
          const job_id = crypto.randomUUID();
          const response = await call(
            "/jobs/add",
            post({ job_id, script_path: script, interval_seconds: 86_400 }),
          );
          const body: unknown = await response.json();
          if (response.status === 200) jobs.add(v.parse(JOB, body).job_id);
          return response.status;
        },
        /** What `/diagnose` says about one thing. */
        async check(name: string) {
          const response = await call(`/diagnose?only=${name}`);
          return v.parse(REPORT, await response.json()).checks[0];
        },
        async [Symbol.asyncDispose]() {
          child.kill("SIGKILL");
          await child.exited;
        },
      };
    },

    /** That nothing acknowledged is lost: the runs are on record in an unbroken chain, the jobs are there. */
    async expectNothingLost() {
      expect(verifyDatabase(this.database)).toMatchObject({ ok: true });
      const record = new Set(rowsOf(this.database).map(({ detail }) => /run=(\S+)/.exec(detail ?? "")?.[1]));
      expect([...runs].filter((id) => !record.has(id))).toEqual([]);
      const listed = await this.run(["jobs", "list", "--json"]);
      const kept = v.parse(v.object({ jobs: v.array(JOB) }), JSON.parse(listed.stdout)).jobs;
      const found = new Set(kept.map(({ job_id }) => job_id));
      expect([...jobs].filter((id) => !found.has(id))).toEqual([]);
    },
  };
}
