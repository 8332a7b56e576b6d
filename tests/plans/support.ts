import { join } from "node:path";
import { openLedger } from "../../src/plans/ledger";
import { digestOfContent, digestOfPlan, type PlannedHost, type Spec, wavesOf } from "../../src/plans/plan";
import { temporaryFolder } from "../support";

export const plannedHosts = (count: number, prefix = "h"): PlannedHost[] =>
  Array.from({ length: count }, (_, n) => ({ label: `${prefix}${n}`, identity: `id-${prefix}${n}` }));

export const specOf = (hosts: number, more: Partial<Spec> = {}): Spec => ({
  kind: "plan",
  on: "all",
  commands: ["AC_sleep"],
  waves: wavesOf([], hosts),
  pause_s: 0,
  max_failures: hosts,
  queue: false,
  expires_s: 3_600,
  max_parallel: null,
  delivery_timeout_s: 10,
  timeout_s: 300,
  ...more,
});

/** A new plan as the ledger takes it. */
export function newPlan(
  hosts: readonly PlannedHost[],
  more: Partial<Spec> = {},
  id: string = crypto.randomUUID(),
) {
  const content = '{"actions":[["AC_sleep",{"seconds":0}]]}';
  const content_digest = digestOfContent(content);
  const spec = specOf(hosts.length, more);
  return {
    id,
    content,
    content_digest,
    spec,
    maker: null,
    digest: digestOfPlan(content_digest, spec, hosts),
  };
}

/** A ledger in a folder of its own. */
export function testLedger() {
  const folder = temporaryFolder();
  const path = join(folder.path, "plans.db");
  const ledger = openLedger(path);
  return {
    ledger,
    path,
    [Symbol.dispose]() {
      ledger.close();
      folder[Symbol.dispose]();
    },
  };
}
