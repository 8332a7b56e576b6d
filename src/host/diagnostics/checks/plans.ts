/** `plans`: the plans of this desk can be read, and none waits for a person. */
import { check, fine, warning } from "../check";

interface Uses {
  /** Null where no plan was made. */
  existingPlans(): Promise<{
    readonly ledger: {
      plans(which: { readonly open: true }): ReadonlyArray<{
        readonly id: string;
        readonly state: string;
        readonly reason: string | null;
      }>;
    };
  } | null>;
}

/** How many plans are named in the detail. */
const NAMED = 5;

export const plans = check({
  name: "plans",
  summary:
    "The plans of this desk can be read; a warning for those that are paused because too many hosts failed",
  advice: ["svc plan list", "move `plans.db` away if it is damaged: what became of its plans is lost then"],
  async run(service: Uses) {
    const open = (await service.existingPlans())?.ledger.plans({ open: true });
    if (!open) return fine("no plan was made here", { open: 0, paused: [] });
    // By hand, the reason is `by` whom.
    const paused = open.filter(({ state, reason }) => state === "paused" && !reason?.startsWith("by "));
    const extra = { open: open.length, paused: paused.map(({ id }) => id) };
    if (paused.length === 0) return fine(`plans that are not over: ${open.length}`, extra);
    const named = paused.slice(0, NAMED).map(({ id, reason }) => `${id.slice(0, 8)} (${reason})`);
    return warning(
      `plans that wait for a person: ${paused.length}: ${named.join(", ")}${paused.length > NAMED ? ", …" : ""}`,
      ["svc plan show ID, then svc plan resume ID or svc plan cancel ID"],
      extra,
    );
  },
});
