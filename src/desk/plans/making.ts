/**
 * How the plans of a desk are made and forgotten.
 *
 * The promises: whoever dies in the middle of a plan with many hosts leaves no half of it: its lock says that it is being written, and
 * without that the rest is removed. Plans are forgotten for a new one in the moment in which that is there, or not at all.
 */
import { rmSync } from "node:fs";
import { oldestKept } from "../../lib/age";
import { unavailable } from "../../lib/errors";
import { tryLock } from "../../lib/lock";
import { digestInSlices } from "../../wire/job/plan-digest";
import type { Host } from "../fleet/host";
import { aboutPlan, planCreated, planRemoved } from "./events";
import { kindOfContents } from "./host-contents";
import { PIECE_HOSTS } from "./ledger/creation";
import type { Ledger } from "./ledger/ledger";
import type { Plan } from "./ledger/rows";
import type { PlannedHost, Spec } from "./plan";
import type { PlansUses } from "./plans";
import { createRenames, labelsSince, type Renames } from "./renames";
import { plansToForget } from "./retention";

/** Makes and forgets plans. */
export interface PlanMaking {
  /**
   * Stores a plan, in slices where it has many hosts; the oldest are forgotten where there are too many. A host that has got another label
   * since it was selected, or gets one meanwhile, has that.
   *
   * @param requireFree is called in the turn in which the plan is there, so that no other one comes between. What it throws is thrown, and no plan is made.
   * @throws `busy` where all of them run.
   */
  create(
    content: string,
    content_digest: string,
    spec: Spec,
    planned: readonly PlannedHost[],
    maker: string | null,
    requireFree?: () => void,
  ): Promise<Plan>;
  /** Removes what is left of plans that a process did not complete, or that were forgotten. */
  removeUnfinished(): Promise<void>;
}

interface MakingUses extends Pick<PlansUses, "publish" | "requireInOffice" | "goesOn"> {
  readonly ledger: Ledger;
  /** The hosts of the address book as they are in this turn of the event loop, by their labels; none where it cannot be read. */
  hostsNow(): ReadonlyMap<string, Host>;
  /** Where the lock of a plan is, and whether a process has it. */
  lockOf(id: string): string;
  isLocked(id: string): boolean;
}

/** @returns also what forgets plans, which returns how many it has forgotten, and what takes note of hosts that have another label. */
export function createMaking({
  ledger,
  publish,
  hostsNow,
  lockOf,
  isLocked,
  goesOn,
  requireInOffice = () => {},
}: MakingUses): PlanMaking & Pick<Renames, "renamed"> & { forget(those: readonly Plan[]): number } {
  const { watch, renamed } = createRenames();
  const removeLock = (id: string) => rmSync(lockOf(id), { force: true });
  let removing: Promise<void> | undefined;
  const removeAll = async () => {
    for (const id of await ledger.removeUnfinished(isLocked)) removeLock(id);
  };
  const removeUnfinished = () => {
    removing ??= removeAll().finally(() => {
      removing = undefined;
    });
    return removing;
  };
  // Who ends with its answer keeps nobody waiting, and there may be no server after it.
  const howNow = () => (goesOn() ? "in slices" : "now");
  const noteForgotten = (forgotten: readonly Plan[]): void => {
    for (const plan of forgotten) {
      removeLock(plan.id);
      publish(planRemoved, aboutPlan(plan));
    }
    // The server of this desk removes what cannot be removed now.
    if (howNow() !== "now" && forgotten.some(({ hosts }) => hosts > PIECE_HOSTS))
      removeUnfinished().catch(() => {});
  };
  const forget = (those: readonly Plan[]): number => {
    const forgotten = ledger.remove(those, howNow());
    noteForgotten(forgotten);
    return forgotten.length;
  };
  return {
    forget,
    renamed,
    removeUnfinished,
    async create(content, content_digest, given, planned, maker, requireFree = () => {}) {
      requireInOffice();
      const now = Date.now();
      const spec = given.kind === "plan" ? { ...given, contents: kindOfContents(content) } : given;
      const isLarge = planned.length > PIECE_HOSTS;
      const inTheWay = () => plansToForget(ledger.plans(), spec, planned.length, oldestKept);
      // Where there is no room now, nothing is written that would be removed again.
      if (isLarge) inTheWay();
      using names = watch();
      // The hosts of a broadcast are its caller's; for one of few, the whole address book is not read.
      const labelOf = spec.kind === "plan" ? await labelsSince(planned, hostsNow(), names) : names.labelOf;
      const digest = await digestInSlices(content_digest, spec, planned);
      const id = crypto.randomUUID();
      const made = { id, digest, content, content_digest, spec, maker };
      let forgotten: readonly Plan[] = [];
      const makeRoom = () => {
        requireInOffice();
        requireFree();
        forgotten = ledger.remove(inTheWay(), howNow());
      };
      const unlock = isLarge ? tryLock(lockOf(id)) : undefined;
      // Without it, another process would take what is written for left over.
      if (isLarge && !unlock) throw unavailable("the new plan cannot be locked: make it again");
      let plan: Plan | undefined;
      try {
        plan = await ledger.createInSlices(made, planned, now, makeRoom, labelOf);
      } finally {
        unlock?.();
        if (unlock && !plan) removeLock(id);
      }
      noteForgotten(forgotten);
      const about = { digest, hosts: plan.hosts, waves: spec.waves.length, token: maker };
      publish(planCreated, { ...aboutPlan(plan), ...about });
      return plan;
    },
  };
}
