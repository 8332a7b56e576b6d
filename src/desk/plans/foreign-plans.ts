/**
 * `{config_dir}/run/other_plans.json`: the plans of other desks of the same hosts, as the server of this desk has heard of them; every
 * process of this desk reads it. They are only shown: each is run and changed by the desk that owns it, which is the one that took it over last.
 */
import { dirname } from "node:path";
import * as v from "valibot";
import { type Grant, isAdminHere, OWNER } from "../../core/rights";
import { type OldestKept, oldestKept } from "../../lib/age";
import { conflict, type Failure } from "../../lib/errors";
import { ensurePrivateFolder, fileStamp, writeFileAtomic } from "../../lib/files";
import { jsonFileToChange } from "../../lib/json-file";
import { orElse } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { ADOPTED_BY } from "./plan";
import type { Plans } from "./plans";
import { PLAN_VIEW, viewOf } from "./view";

/** A desk that has said nothing for so long may be gone, in milliseconds: it says every 20 s which plans it has. */
const SILENT_MS = 60_000;

/** For how long the plans of a silent desk are kept, in milliseconds: no plan has longer (`MAX_EXPIRES_S`). */
const KEPT_MS = 30 * 86_400_000;

/** How much of the selection of hosts and of the names of commands is announced. */
const MAX_ON = 200;
const MAX_COMMANDS = 50;

const PLAN = v.object({ ...PLAN_VIEW.entries, id: v.pipe(v.string(), v.uuid()) });

/** A plan as it is announced: with the time at which its desk took it over, 0 where it did not. */
const ANNOUNCED = v.object({ ...PLAN.entries, adopted: v.optional(v.pipe(v.number(), v.safeInteger()), 0) });

const FILE = v.object({
  v: v.literal(1),
  desks: v.array(
    v.object({
      /** Its NKey, and its name. */
      desk: v.string(),
      name: v.string(),
      /** Milliseconds since 1970. */
      heard: v.number(),
      plans: v.array(PLAN),
    }),
  ),
});

type Desk = v.InferOutput<typeof FILE>["desks"][number];
export type ForeignPlan = v.InferOutput<typeof PLAN>;
type AnnouncedPlan = v.InferOutput<typeof ANNOUNCED>;

/** What a desk announces: its plans that were applied and are not over. */
export const announced = (plans: Plans): AnnouncedPlan[] =>
  plans.ledger.plans({ open: true }).flatMap(({ seq, spec, adopted, reason }) => {
    if (spec.kind !== "plan" || reason?.startsWith(ADOPTED_BY)) return [];
    const view = viewOf(plans, seq, OWNER, [], 0);
    const commands = view.commands.slice(0, MAX_COMMANDS);
    return [{ ...view, on: printable(view.on, MAX_ON), commands, adopted }];
  });

/** How long ago that was, in milliseconds. In the future where the clock was set back: a desk that is there has said something since. */
const agoOf = (heard: string, now: number) => Math.abs(now - Date.parse(heard));

export interface ForeignPlans {
  /** What a desk has said of its plans. Only the server of this desk calls it. @returns when it took over each. */
  heard(desk: Pick<Desk, "desk" | "name"> & { readonly plans: readonly unknown[] }): Map<string, number>;
  /** Those that the caller may see, the newest first: only `admin` sees plans that others have made. */
  list(grant: Grant): ForeignPlan[];
  /** The first whose id begins so. */
  find(id: string, grant: Grant): ForeignPlan | undefined;
  /** That somebody else's plan is not changed here; undefined where no other desk has it. */
  refusal(id: string, grant: Grant): Failure | undefined;
  /** Whether another desk has said within {@link SILENT_MS} that it has the plan. */
  isHeard(id: string): boolean;
  /** @throws `conflict` where the desk that owns the plan was heard within {@link SILENT_MS}. */
  requireSilent(id: string): void;
}

/** @param oldest says from when a desk that is silent is forgotten. */
export function createForeignPlans(
  file: string,
  now = Date.now,
  oldest: OldestKept = oldestKept,
): ForeignPlans {
  let known: { readonly stamp: string; readonly desks: readonly Desk[] } | undefined;
  /** @throws the system error where the file cannot be read. */
  const read = (): readonly Desk[] => {
    const stamp = fileStamp(file);
    if (known?.stamp === stamp) return known.desks;
    known = { stamp, desks: desksIn(file) };
    return known.desks;
  };
  const foreign = {
    heard({
      desk,
      name,
      plans,
    }: Pick<Desk, "desk" | "name"> & { readonly plans: readonly unknown[] }): Map<string, number> {
      const at = now();
      const before = orElse(read, undefined);
      const adopted = new Map<string, number>();
      const valid = plans.flatMap((plan) => {
        const parsed = v.safeParse(ANNOUNCED, plan);
        if (!parsed.success) return [];
        const { adopted: since, ...rest } = parsed.output;
        adopted.set(rest.id, since);
        return [{ ...rest, targets: [], owner: null }];
      });
      // What it has must stay in it: the desk says the same again soon.
      if (!before) return adopted;
      const had = before.some((one) => one.desk === desk && one.plans.length > 0);
      if (valid.length === 0 && !had) return adopted;
      const rest = before.filter((one) => one.desk !== desk && one.heard > oldest(KEPT_MS));
      const own = valid.length > 0 ? [{ desk, name, heard: at, plans: valid }] : [];
      ensurePrivateFolder(dirname(file));
      writeFileAtomic(file, `${JSON.stringify({ v: 1, desks: [...own, ...rest] })}\n`);
      return adopted;
    },
    list(grant: Grant): ForeignPlan[] {
      if (!isAdminHere(grant)) return [];
      const kept = orElse(read, []).filter(({ heard }) => heard > oldest(KEPT_MS));
      const all = kept.flatMap(({ name, heard, plans }) => {
        const owner = { desk: name, heard: new Date(heard).toISOString() };
        return plans.map((plan) => ({ ...plan, owner }));
      });
      // A desk says the same at each NATS server, where it is somebody else; the file has what was heard last first.
      const seen = new Set<string>();
      const once = all.filter(({ id, owner }) => seen.size < seen.add(`${id} ${owner.desk}`).size);
      return once.sort((a, b) => b.created.localeCompare(a.created));
    },
    find: (id: string, grant: Grant): ForeignPlan | undefined =>
      foreign.list(grant).find((plan) => id !== "" && plan.id.startsWith(id)),
    refusal(id: string, grant: Grant): Failure | undefined {
      const plan = foreign.find(id, grant);
      if (!plan?.owner) return undefined;
      const { desk, heard } = plan.owner;
      return conflict(
        `the plan ${plan.id} is of the desk ${desk}, heard at ${heard}: change it there; where that desk is gone, \`svc plan adopt\` takes it over`,
      );
    },
    isHeard(id: string): boolean {
      const heard = foreign.find(id, OWNER)?.owner?.heard;
      return heard !== undefined && agoOf(heard, now()) < SILENT_MS;
    },
    requireSilent(id: string): void {
      const plan = foreign.find(id, OWNER);
      if (!plan?.owner) return;
      const ago = agoOf(plan.owner.heard, now());
      if (ago >= SILENT_MS) return;
      throw conflict(
        `the desk ${plan.owner.desk} owns the plan ${plan.id}, and was heard ${Math.round(ago / 1_000)} s ago: end \`svc serve\` there and wait for a minute; --force takes the plan over all the same`,
      );
    },
  };
  return foreign;
}

/** What is in the file; nothing where there is none, or it is broken: it is written again with what is heard next. @throws the system error. */
const desksIn = (file: string): Desk[] => jsonFileToChange(file, FILE)?.desks ?? [];
