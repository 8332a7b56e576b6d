/**
 * What the features of a process are made with (`features/`).
 */
import type * as v from "valibot";
import type { Publish } from "../core/events";
import type { OddWatch } from "../desk/fleet/odd/watch";
import type { LinkHub } from "../desk/link/hub";
import type { Plans } from "../desk/plans/plans";
import type { DriftLooks } from "../desk/plans/state/drift";
import type { Collector } from "../desk/witness/collector";
import type { Bus } from "../events/bus";
import type { Screens } from "../host/desktop/screen/all-screens";
import type { Recordings } from "../host/desktop/screen/record/recordings";
import type { Leases } from "../host/leases/leases";
import type { IceConfig } from "../host/peers/ice";
import type { Sessions } from "../host/peers/sessions";
import type { Runs } from "../host/runs/runs";
import type { Scheduler } from "../host/scheduler/scheduler";
import type { Syncs } from "../host/sync/manager";
import type { Log } from "../lib/log";
import type { ConfigFiles } from "../lib/paths";
import type { Revocations } from "../trust/revocations";
import type { Service } from "./interface";
import type { DeskOverNats } from "./nats";
import type { SERVICE_OPTIONS } from "./options";
import type { TokenUses } from "./token-uses";

/** What has been made so far, for those that look and do not make it. */
interface Instances {
  scheduler?: Scheduler;
  runs?: Runs;
  sessions?: Sessions;
  syncs?: Syncs;
  screens?: Screens;
  recordings?: Recordings;
  leases?: Leases;
  hub?: LinkHub;
  odd?: OddWatch;
  nats?: DeskOverNats;
  plans?: Plans;
  drift?: DriftLooks;
  /** Set once the logs of hosts are watched. */
  collector?: () => Promise<Collector>;
}

/** Whether this process is a server, and how far it is. */
export interface Phase {
  /** Whether it runs jobs, plans and links. */
  runsJobs: boolean;
  /** Whether the jobs of the start are known: a scheduler that is made later has none of before. */
  hasLooked: boolean;
  /** Whether the server of this process has the folder. */
  isClaimed: boolean;
}

/** `make` on the first call, its result ever after; what was made is stopped with the service. */
type MakeFeature = <T>(make: () => Promise<T>, stop?: (made: T) => Promise<void> | void) => () => Promise<T>;
/** The same for what has a `stop` of its own. */
type MakeStoppable = <T extends { stop(): Promise<void> | void }>(make: () => Promise<T>) => () => Promise<T>;

/** What the features of one process share. */
export interface ServiceParts {
  /** The whole, for the other features: not to be read before the service is made. */
  readonly service: Service;
  readonly configDir: string;
  readonly files: ConfigFiles;
  readonly options: v.InferOutput<typeof SERVICE_OPTIONS>;
  /** The ICE servers of the flags; undefined without. */
  readonly ice: IceConfig | undefined;
  readonly log: Log;
  /** Whether this process is to tell a server on the folder what it does. */
  readonly isBeside: boolean;
  readonly events: Bus;
  readonly publish: Publish;
  /** `publish` for what a process sees and does not do: where a server runs beside it, that sees the same. */
  readonly observed: Publish;
  readonly tokens: TokenUses;
  readonly revocations: Revocations;
  readonly made: Instances;
  readonly phase: Phase;
  readonly feature: MakeFeature;
  readonly stoppable: MakeStoppable;
  /**
   * Called before a database is opened, also to look: that changes it, and the format of the folder says so first. Looking makes
   * no folder.
   */
  prepareFor(database: string): Promise<void>;
  /** Has `stop` called before all that was made so far stops. */
  stopFirst(stop: () => Promise<void> | void): void;
  /** Has `stop` called after all that was made so far has stopped: others may still need it while they stop. */
  stopLast(stop: () => Promise<void> | void): void;
}
