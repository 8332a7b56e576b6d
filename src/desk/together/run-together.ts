/** What a script has hosts do, in the process that has connections to them: the server of the folder, where one runs. */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, HOST_LIST, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { type Limit, limitsOf } from "../../core/rights";
import { VARIABLES } from "../../core/run";
import { ONE_HOST } from "./blocks";
import { conduct } from "./conduct";
import type { HostJob, HostResult } from "./job";
import { type PreparedBranches, type PrepareUses, prepare } from "./prepare";

/** What became of a block. */
export const BLOCK_REPORT = v.object({
  host: v.string(),
  /** The ids of its runs there: one for each part between barriers. */
  runs: v.array(v.string()),
  actions: v.number(),
  duration_ms: v.number(),
});

const BLOCK = v.strictObject({
  place: v.pipe(v.string(), v.maxLength(2_000)),
  host: ONE_HOST,
  body: HOST_LIST,
  share: v.array(v.string()),
  variables: VARIABLES,
  timeout: v.number(),
});

/** What running blocks uses of the service. */
export interface RunUses extends PrepareUses {
  /** Runs a job on its host, at most once. */
  runOnHost(
    job: HostJob,
    more: Pick<Caller, "grant"> & {
      /** What it is limited to; null for all that the token of its host allows. */
      readonly scope: readonly Limit[] | null;
    },
  ): Promise<HostResult>;
}

/** What runs on the hosts, with all values filled in. */
export const runTogether = operation({
  name: "together.run",
  summary: "Run what a script has several hosts do",
  scope: "operate",
  changes: "announces",
  serverInRuns: true,
  attended: true,
  leftOut: {
    http: "a script has AC_on and AC_together: POST /execute",
    cli: "a script has AC_on and AC_together: `svc execute`",
    script: "AC_on and AC_together do it",
  },
  input: v.strictObject({
    branches: field(secret(v.array(v.array(BLOCK))), "The blocks of each branch, one after the other"),
    known: field(secret(v.record(v.string(), v.unknown())), "The values of variables that the script has"),
    timeout: field(v.number(), "Time limit of all of them, in seconds"),
  }),
  output: v.object({ blocks: v.array(BLOCK_REPORT), shared: secret(v.record(v.string(), v.unknown())) }),
  async run(service: RunUses, { branches, known, timeout }, caller) {
    const { grant, signal } = caller;
    const prepared = await prepare(service, branches, caller);
    await caller.announce(aboutOf(prepared));
    const executor = await service.executor();
    return conduct(
      prepared,
      known,
      timeout,
      {
        run: (job) =>
          // The token of a host may allow more than that of the caller.
          service.runOnHost(job, { grant, scope: limitsOf(grant, job.secrets.length > 0) }),
        shown: (actions) => executor.shown(actions),
        masker: (values) => executor.masker(values),
        step: (item) => void caller.progress?.({ what: "steps", done: 0, total: 0, item }),
      },
      signal,
    );
  },
});

/** What goes on record: the hosts, and of each what it does, without secrets. */
function aboutOf({ branches }: PreparedBranches): string {
  const blocks = branches.flat().map(({ target, host, parts }) => {
    const parted = parts.flatMap(({ described }) => (described === "" ? [] : [described]));
    return `on=${JSON.stringify(target?.label ?? host)} ${parted.join(" then ")}`;
  });
  return `together.run branches=${branches.length} ${blocks.join("; ")}`;
}
