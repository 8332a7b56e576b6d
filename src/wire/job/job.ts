/**
 * A job: what a plan has one host do, and what became of it.
 *
 * The promise of this folder: *at most once, and known*. A host runs a job once or not at all, however often the request is repeated
 * and whichever process dies; and it answers how the job ended as often as it is asked. Where the host itself does not know, the job
 * is `unknown` and is not sent again.
 */
import type { RemoteServer } from "../../client/carrier";
import type { AnswerIntake } from "../../client/intake";
import type { Delivery } from "./delivery";

export interface Job {
  /** Names it for good: a UUID. The same id is the same job, however often it is sent. */
  readonly id: string;
  readonly plan: string;
  /** What the host does, JSON text (`content.ts`): the same text for every host of the plan. */
  readonly content: string;
  /** The SHA-256 of `content`, as 64 hexadecimal digits. */
  readonly digest: string;
  /** It does not begin before this, nor after that; ISO 8601. */
  readonly not_before: string;
  readonly expires: string;
  /** The time limit to deliver it, and that of its run, in seconds. */
  readonly delivery_timeout_s: number;
  readonly timeout_s: number;
}

/**
 * How a job can end, and three states in which it has not: `lost`, it was sent and the answer is unknown, so that the host has to be asked
 * again; `unseen`, the host does not have it, and it may not be sent now; `offline`, it was not sent.
 *
 * `unknown` is an end: the host cannot say what became of it. `refused`: the host did not take it, and nothing ran; `expired`: nor
 * did anything. `cancelled`: by the desk, before its run or during it, as `delivered` of the result says. `interrupted`: it had
 * begun, and was cut off by something else than the desk: its host died or stopped, or somebody there cancelled it. Whoever decides
 * about a job goes by this state alone, and never by the text of its result.
 */
export type JobState =
  | "ok"
  | "failed"
  | "timeout"
  | "refused"
  | "cancelled"
  | "expired"
  | "unknown"
  | "interrupted"
  | "lost"
  | "unseen"
  | "offline";

/** What the result of a job says whose host died in the middle. */
export const INTERRUPTED =
  "interrupted: svc ended on this host in the middle of it, and nobody knows how far it came";

export interface JobResult {
  readonly state: JobState;
  readonly result: Delivery;
}

/** How a job goes to a host: as a `job`, which the host runs once; or by `/execute`, to a host with an older svc. */
export type Way = "job" | "execute";

/** A host of a plan. */
export interface Target {
  readonly label: string;
  readonly server: RemoteServer;
  /** Its id, where it has joined this desk: then jobs for it are signed. */
  readonly host_id: string | null;
  /**
   * The id of the records of jobs that the host has, as it said when it connected to this desk; absent where it did not, and for a
   * host that the desk dials.
   */
  readonly records?: string | undefined;
}

export interface DeliverOptions {
  /** Ends the wait: the result is `lost` where the job was sent. It cancels nothing on the host. */
  readonly signal: AbortSignal;
  /** The named token on whose behalf it is sent; null for the owner. */
  readonly client: string | null;
  /** Where the answers of the host count, until its result has been handed over. */
  readonly room?: AnswerIntake | undefined;
  /** The way of a delivery before this one which may have reached the host; null (the default) where none was begun. */
  readonly before?: Way | null;
  /** Whether the host has said that it runs (default: it has not). */
  readonly hasBegun?: boolean;
  /** The id of the records that the host had when the job was sent before; null (the default) where it did not say. */
  readonly records?: string | null;
  /**
   * Called before it is sent, to record that it may reach the host, and in which way. When it throws, nothing is sent.
   *
   * @param records the id of the records that the host has; null or absent where it does not say.
   */
  readonly sent: (way: Way, records?: string | null) => void | Promise<void>;
  /** Whether it may be sent, asked each time before it is (default: it may). Where it may not, the host is only asked. */
  readonly maySend?: () => boolean;
  /**
   * Whether a host that does not take it as a job gets it by `/execute`, as one with an older svc does (default: it does not): for
   * what is not kept, so that no other process sends it again.
   */
  readonly orExecute?: boolean;
  /** The host has answered that it runs. */
  readonly running: () => void;
  /** It runs for long: it no longer needs a turn of the caller, only a connection now and then. */
  readonly idle?: () => void;
}

/**
 * Sends a job to a host and waits for what became of it. It may be called again for the same job: the host runs it once.
 * What a host does wrong is its result; only what `sent` throws is thrown.
 */
export type DeliverJob = (target: Target, job: Job, options: DeliverOptions) => Promise<JobResult>;

/**
 * Has a host end a job: one that runs is cancelled, and the waiting {@link DeliverJob} learns how it ended; one that has not
 * arrived never begins on it.
 *
 * @returns false when the host did not answer, or cannot do that.
 */
export type CancelJob = (
  target: Target,
  job: Job,
  options: Pick<DeliverOptions, "signal" | "client">,
) => Promise<boolean>;
