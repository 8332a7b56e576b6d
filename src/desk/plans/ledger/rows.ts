/**
 * What the ledger has of plans, and of their hosts.
 */
import type { Way } from "../../../wire/job/job";
import type { PlanState, Spec, StepName, TargetState } from "../plan";

/** A plan as it is now. Times are milliseconds since the epoch. */
export interface Plan {
  /** Its number in this file. */
  readonly seq: number;
  readonly id: string;
  readonly digest: string;
  /** The digest of what each host runs. */
  readonly content_digest: string;
  readonly spec: Spec;
  readonly hosts: number;
  readonly state: PlanState;
  /** Why it is paused, cancelled or expired. */
  readonly reason: string | null;
  /** The named token that made it; null for the owner of the desk. */
  readonly maker: string | null;
  /** The named token that applied it; null for the owner. */
  readonly token: string | null;
  readonly created: number;
  readonly applied: number | null;
  readonly expires: number | null;
  /** When its last host had ended. */
  readonly ended: number | null;
  /** The wave that has begun, from 0 on. */
  readonly wave: number;
  /** When the next wave begins, once this one is over. */
  readonly wave_at: number | null;
  /** How many failures do not count any more: whoever resumes a plan has seen them. */
  readonly forgiven: number;
  /** Grows with each change that does not come from who runs the plan. */
  readonly revision: number;
  /** When it was taken over from another desk, later than from the one before; 0 where it was made here. */
  readonly adopted: number;
}

/** A host of a plan. */
export interface Target {
  readonly n: number;
  readonly label: string;
  readonly identity: string;
  readonly wave: number;
  readonly state: TargetState;
  /** Which attempt it is, from 0 on: each is a job of its own. */
  readonly attempt: number;
  /** How the job was sent; null before. */
  readonly way: Way | null;
  /** The id of the records that the host had then; null where it did not say. */
  readonly records: string | null;
  readonly sent_at: number | null;
  readonly done_at: number | null;
  /** Why it has not ended well; of one that is `waiting`, why its host was not reached. */
  readonly error: string | null;
  /** The id that the host gave to the run. */
  readonly run_id: string | null;
}

/** A host that has not ended. */
export type OpenTarget = Omit<Target, "done_at" | "error" | "run_id">;

/** One host goes on. */
export interface Step {
  readonly plan: number;
  readonly n: number;
  /** Of which attempt it is: what is still heard of an earlier one changes nothing. */
  readonly attempt: number;
  readonly step: StepName;
  readonly way?: Way | undefined;
  /** With `way`: as in {@link Target}. */
  readonly records?: string | null;
  readonly error?: string | undefined;
  readonly run_id?: string | undefined;
}

/** What changes of a plan itself. */
export type PlanChange = Partial<
  Pick<Plan, "state" | "reason" | "ended" | "wave" | "wave_at" | "forgiven" | "expires">
>;

/** Who has a plan run. */
export type Applicant = Pick<Plan, "token">;
