/**
 * The service: every feature of one process by its name. `./service.ts` makes it, and each file of `features/` declares and makes a part.
 */
import type * as v from "valibot";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import type { ServerUses } from "../http/server-uses";
import type { Release } from "../lib/lock";
import type { AgentFeatures } from "./features/agents";
import type { AuditFeatures } from "./features/audit";
import type { DeskFeatures } from "./features/desk";
import type { DesktopFeatures } from "./features/desktop";
import type { HostFeatures } from "./features/host";
import type { PeerFeatures } from "./features/peers";
import type { PlanFeatures } from "./features/plans";
import type { RunFeatures } from "./features/runs";
import type { StandbyFeatures } from "./features/standby";
import type { SurfaceFeatures } from "./features/surfaces";
import type { OwnerDoor } from "./owner";

/** The answer of a desk elsewhere to an operation, over its route. @throws the failure that it answers with, or why it gives none. */
type AskElsewhere = <I extends InputSchema, O extends OutputSchema>(
  operation: Operation<I, O, Service>,
  input: v.InferInput<I>,
  signal: AbortSignal,
) => Promise<v.InferOutput<O>>;

/** The state of one process. Each feature is a function that makes it on the first call. */
export interface Service
  extends AgentFeatures,
    AuditFeatures,
    DeskFeatures,
    DesktopFeatures,
    HostFeatures,
    PeerFeatures,
    PlanFeatures,
    RunFeatures,
    StandbyFeatures,
    SurfaceFeatures,
    Pick<ServerUses, "configDir" | "log" | "permits" | "untilRevoked"> {
  /** Asks the desk elsewhere that the command line names; absent where this service answers itself. */
  readonly elsewhere?: AskElsewhere;
  /** The same service, whose address book has the hosts of that selection alone. */
  onlyOn(selection: string): Service;
  /** The folder for files from peers, absolute. */
  readonly inbox: string;
  /** Gives the folder the format of this svc: before the first change. */
  prepareFolder(): Promise<void>;
  /** {@link prepareFolder}, then the folder is that of the server of this process, until it is released. Undefined where another server has it. */
  claimFolder(): Promise<Release | undefined>;
  /** Answers the other processes of the folder, which this one has claimed. @throws an `unavailable` failure where that cannot be. */
  answerAsOwner(): Promise<OwnerDoor>;
  /**
   * Stops what a token that was revoked has started: disables its jobs; in this process, cancels its runs and requests, stops
   * its syncs and closes its sessions.
   *
   * @returns how many jobs it had.
   */
  endWorkOf(token: string): Promise<number>;
  /** Reads again the files that people, and the calls of other processes, change while a server runs: its tokens and jobs. Ends what was revoked. */
  refresh(): Promise<void>;
  /**
   * Runs the jobs in this process from now on, ends within a second what revoked tokens have started, and follows the hosts
   * of the address book to their next keys. A host without jobs does not load the scheduler.
   *
   * @returns a function that starts no further run.
   */
  runJobs(): Promise<() => void>;
  /**
   * Stops what was started, last first. The service is not used afterwards.
   *
   * @throws the first fault of those that could not be stopped as they should; the others are stopped all the same.
   */
  stop(): Promise<void>;
}
