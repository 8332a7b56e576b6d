/**
 * What the rows of a desk say of a plan: who had it run, and whether any of them was left out.
 */
import { isSameHolder } from "../../../core/rights";
import { rejected } from "../../../lib/errors";
import { isLate, verifyYes } from "../../../trust/passkeys/yes";
import {
  decisionIn,
  digestOfDecisions,
  digestOfTargets,
  PLAN_ENDED,
  type PlanDecision,
  planEndIn,
} from "../../../wire/receipt/plan-record";
import type { PlanStatement, ProvenRow } from "../../../wire/receipt/statement";
import { AFTER } from "./claims";
import type { ShownDecision } from "./result";

/** What a receipt says of a plan, besides what is on record. */
type Predicate = Pick<PlanStatement["predicate"], "plan" | "targets" | "rows">;

/** A decision about a plan, with its row. */
interface ProvenDecision extends PlanDecision {
  readonly row: ProvenRow;
}

const APPLY = /^ digest=([0-9a-f]{64}) hosts=\d+(?: passkey=([A-Za-z0-9_-]+))?(.*)$/s;

/** What the rows of a desk say. */
interface PlanClaims {
  /** In the order of the log. Of applying it, only by its digest. */
  readonly decided: ShownDecision[];
  /** Whether the row of its end shows that none of the rows before was left out, and that this became of it at its hosts. */
  readonly isWhole: boolean;
}

/** @throws a `rejected` failure where a row is of something else, is missing, or says something else than the receipt. */
export function claimsOfPlan({ plan, targets, rows }: Predicate): PlanClaims {
  if (!rows.every(({ detail }) => detail?.includes(plan.id)))
    throw rejected("one of the rows of the desk does not name the plan");
  const found = rows.flatMap((row): ProvenDecision[] => {
    const decision = row.event_type === PLAN_ENDED ? undefined : decisionIn(plan.id, row.detail);
    return decision ? [{ ...decision, row }] : [];
  });
  const decided = found.flatMap((one) => shownOf(plan, targets.length, one) ?? []);
  if (!decided.some(({ what }) => what === "apply"))
    throw rejected("no row of the desk says that the plan was applied by its digest");
  requireApplicant(plan.applied_by, decided);
  return { decided, isWhole: isWhole({ plan, targets, rows }, found) };
}

/** What a row says of a decision; undefined where it applies something else. @throws `rejected` for a yes that is none. */
function shownOf(
  { id, digest }: Predicate["plan"],
  hosts: number,
  one: ProvenDecision,
): ShownDecision | undefined {
  const { verb: what, rest, row } = one;
  const said = { what, at: row.ts, surface: row.event_type, client: row.host_id, passkey: null };
  if (what !== "apply") return { ...said, token: / token=(\S+)/.exec(rest)?.[1] ?? null };
  const [, found, word, after = ""] = APPLY.exec(rest) ?? [];
  if (found !== digest) return undefined;
  const ending = AFTER.exec(after);
  // Without it, it would be one of the owner.
  if (!ending) throw rejected("the row by which the plan was applied does not say by whom");
  const [, token = null] = ending;
  if (word === undefined) return { ...said, token };
  const { statement, credential, key, origin, text } = verifyYes(word);
  const { terms, holder } = statement;
  const isOfThis = terms.id === id && terms.digest === digest && terms.hosts === hosts;
  if (statement.what !== "plan.apply" || !isOfThis || !isSameHolder(holder, token))
    throw rejected("what was signed with a passkey is not the plan, or not by who applied it");
  if (isLate(statement, row.ts)) throw rejected("the yes to the plan was over before the row of it came");
  return { ...said, token, passkey: { credential, key, origin, text } };
}

/** What makes a token that of who has the plan run. */
const HEIRS = ["apply", "resume", "retry", "adopt"];

/** @throws `rejected` where another has applied it than one of those who had it run. Rows from inside of the host name no token. */
function requireApplicant(applied_by: string | null, decided: readonly ShownDecision[]): void {
  const isBy = ({ what, token, surface }: ShownDecision) =>
    HEIRS.includes(what) && (token === applied_by || (token === null && surface !== "rest_api"));
  if (!decided.some(isBy))
    throw rejected("it claims that another has applied the plan than the rows of the desk say");
}

/** What gives a plan its time anew. */
const BEGINS = ["apply", "retry"];

/** How far the clock of a host may be from that of its desk, in milliseconds. */
const CLOCK_MS = 3_600_000;

/**
 * Until when hosts may have begun with a plan, in milliseconds since 1970: hosts take no job after it has expired, but whoever has the
 * desk could sign one later.
 *
 * @param limits of the plan, which say for how long it may begin.
 */
export function lastBegin(limits: object, decided: readonly ShownDecision[]): number {
  const { expires_s } = limits as { readonly expires_s?: unknown };
  if (typeof expires_s !== "number") return Number.POSITIVE_INFINITY;
  const begun = decided.filter(({ what }) => BEGINS.includes(what)).map(({ at }) => Date.parse(at));
  return Math.max(...begun) + expires_s * 1_000 + CLOCK_MS;
}

/** Whether nothing was left out up to the end of the plan; false where no row says so. @throws `rejected` where something was. */
function isWhole({ plan, targets, rows }: Predicate, decided: readonly ProvenDecision[]): boolean {
  const ends = rows.flatMap((row) => {
    const end = row.event_type === PLAN_ENDED ? planEndIn(plan.id, row.detail) : undefined;
    return end ? [{ row, end }] : [];
  });
  const last = ends.at(-1);
  if (!last) return false;
  const { row, end } = last;
  // What came as the row was written may be between.
  const before = decided.filter((one) => one.row.index < row.index).slice(0, end.rows);
  if (before.length < end.rows || digestOfDecisions(before.map((one) => one.row.row_hash)) !== end.rowsDigest)
    throw rejected(
      "a row of the desk was left out: the row of the end of the plan names another number or digest",
    );
  if (end.hosts !== targets.length || end.hostsDigest !== digestOfTargets(targets))
    throw rejected("the row of the end of the plan says that something else became of it at its hosts");
  if (end.state !== plan.state) throw rejected(`the plan ended as ${end.state}, and not as ${plan.state}`);
  return true;
}
