/**
 * What a desk puts on record of a plan, so that its receipt shows who had it run, and where something is left out.
 *
 * The promise: once a plan is over, the row of its end commits to every row before by which somebody has decided something about it, and
 * to what became of it at each host. Who takes the desk over later can leave none of that out, and change none of it.
 */
import { sha256 } from "../../lib/checksum";

/** The type of the row of the end of a plan. */
export const PLAN_ENDED = "plan";

/** What a row begins with before what somebody has announced there: a request, an approval, a job, a run. */
const BEFORE = [
  String.raw`(?:\S+ \S+ -> started |mcp -> started )?`,
  "(?:approved=sha256:[0-9a-f]{64} )*",
  String.raw`(?:plan=\S+ job=\S+ (?:signed )?content=sha256:[0-9a-f]{64} )?`,
  "(?:run=[0-9a-f-]{36} )?",
].join("");

const DECISION = new RegExp(
  String.raw`^${BEFORE}plan\.(apply|pause|resume|cancel|retry|remove|adopt) id="?([0-9a-f-]{36})"?(?= |$)(.*)$`,
  "s",
);

/** What somebody has decided about a plan, by a row. */
export interface PlanDecision {
  readonly verb: string;
  /** What follows the id in the row. */
  readonly rest: string;
}

/** What a row says that was decided about this plan; undefined for any other row. */
export function decisionIn(plan: string, detail: string | null): PlanDecision | undefined {
  const [, verb = "", id, rest = ""] = DECISION.exec(detail ?? "") ?? [];
  return id === plan ? { verb, rest } : undefined;
}

/** A host of a plan as it is when the plan is over. */
export interface EndedTarget {
  readonly identity: string;
  readonly state: string;
  readonly run_id: string | null;
}

/** What the row of the end of a plan says. */
export interface PlanEnd {
  readonly state: string;
  /** How many rows with decisions came before, and their digest ({@link digestOfDecisions}). */
  readonly rows: number;
  readonly rowsDigest: string;
  /** How many hosts it had, and the digest of what became of each ({@link digestOfTargets}). */
  readonly hosts: number;
  readonly hostsDigest: string;
}

/** The digest of rows with decisions. @param hashes of the rows, in the order of the log. */
export const digestOfDecisions = (hashes: readonly string[]): string => sha256(JSON.stringify(hashes));

/** What the row of the end of a plan says of its hosts. */
export type HostsOnRecord = Pick<PlanEnd, "hosts" | "hostsDigest">;

/** How much JSON is hashed at once, in characters. */
const PIECE = 16_384;

/** The digest of what became of a plan at its hosts, in its order: of a JSON list, of which no more than a piece is in memory. Their labels may change later. */
export function digestOfTargets(targets: Iterable<EndedTarget>): string {
  const hash = new Bun.CryptoHasher("sha256");
  let text = "[";
  let comma = "";
  for (const { identity, state, run_id } of targets) {
    text += `${comma}${JSON.stringify([identity, state, run_id])}`;
    comma = ",";
    if (text.length < PIECE) continue;
    hash.update(text);
    text = "";
  }
  return hash.update(`${text}]`).digest("hex");
}

/** The detail of the row of the end of a plan. */
export const planEndText = (plan: string, end: PlanEnd): string =>
  `plan=${plan} ended state=${end.state} rows=${end.rows}:${end.rowsDigest} hosts=${end.hosts}:${end.hostsDigest}`;

const END =
  /^plan=([0-9a-f-]{36}) ended state=([a-z]+) rows=(\d{1,6}):([0-9a-f]{64}) hosts=(\d{1,6}):([0-9a-f]{64})$/;

/** What the row of the end of this plan says; undefined for any other row. */
export function planEndIn(plan: string, detail: string | null): PlanEnd | undefined {
  const [, id, state = "", rows, rowsDigest = "", hosts, hostsDigest = ""] = END.exec(detail ?? "") ?? [];
  if (id !== plan) return undefined;
  return { state, rows: Number(rows), rowsDigest, hosts: Number(hosts), hostsDigest };
}
