/**
 * Which plans are kept. A plan that may still run is never forgotten.
 */
import type { OldestKept } from "../../lib/age";
import { busy } from "../../lib/errors";
import { firstToGo } from "../../lib/quota";
import type { Plan } from "./ledger/rows";
import type { Spec } from "./plan";

/** The most plans, and the most hosts of all of them together; broadcasts have as many of their own, and so have parts of scripts. */
const MAX_PLANS = 500;
const MAX_HOSTS = 1_000_000;

/** How long a plan is kept after it has ended, and one that was never applied, in milliseconds. */
const KEPT_MS = 90 * 86_400_000;
const NEW_MS = 30 * 86_400_000;

/** How long a broadcast is kept that was never applied, in milliseconds: its process has ended as it began. */
const UNBEGUN_MS = 3_600_000;

/** The plans to forget before one of that kind, with so many hosts, is made. @param oldest says which are too old. @throws `busy` where there is no room. */
export function plansToForget(
  plans: readonly Plan[],
  { kind, part }: Pick<Spec, "kind" | "part">,
  hosts: number,
  oldest: OldestKept,
): Plan[] {
  const newMs = { plan: NEW_MS, broadcast: UNBEGUN_MS };
  const isOld = ({ ended, applied, created, spec }: Plan) =>
    ended === null ? applied === null && created < oldest(newMs[spec.kind]) : ended < oldest(KEPT_MS);
  const forgotten = plans.filter(isOld);
  let kept = plans
    .filter((plan) => plan.spec.kind === kind && plan.spec.part === part && !isOld(plan))
    .sort((a, b) => a.seq - b.seq);
  const isFull = () =>
    kept.length >= MAX_PLANS || kept.reduce((sum, plan) => sum + plan.hosts, hosts) > MAX_HOSTS;
  while (isFull()) {
    const over = kept.filter(({ applied, ended }) => applied === null || ended !== null);
    const oldest = over[firstToGo(over.map(({ maker }) => maker))];
    if (!oldest) throw busy(`too many ${kind}s run already: no further one can be made`);
    forgotten.push(oldest);
    kept = kept.filter((plan) => plan !== oldest);
  }
  return forgotten;
}
