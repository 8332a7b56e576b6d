/**
 * The service: every feature of one process by its name. `../service.ts` makes it.
 */
import type { Approvals } from "../approvals/approvals";
import type { AuditLog } from "../audit/log";
import type { Restore } from "../audit/witnessed";
import type { BundleMergers, BundleReaders } from "../config/bundle";
import type { Settings } from "../config/settings";
import type { EventType } from "../core/events";
import type { Operation } from "../core/operation";
import type { Grant, Permission } from "../core/rights";
import type { Desktop } from "../desktop/desktop";
import type { Programs } from "../desktop/programs";
import type { ProxyUses } from "../desktop/screen/operations/proxy";
import type { RelayedViewers } from "../desktop/screen/operations/relayed";
import type { Recordings } from "../desktop/screen/record/recordings";
import type { Screens } from "../desktop/screen/screens";
import type { Thumbnails } from "../desktop/screen/thumbnail/thumbnails";
import type { Tickets } from "../desktop/screen/tickets";
import type { Diagnostics } from "../diagnostics/diagnostics";
import type { Bus } from "../events/bus";
import type { HandedOver } from "../events/hand-over";
import type { Streams } from "../events/stream";
import type { AddressBook } from "../fleet/address-book";
import type { BroadcastUses } from "../fleet/operations/fleet";
import type { Poller } from "../fleet/poll";
import type { PageAssets } from "../http/assets";
import type { RestControl } from "../http/server";
import type { Inspector } from "../inspector/inspector";
import type { DeskUses } from "../join/accept";
import type { Readers as DeskReaders } from "../join/desk-bundle";
import type { DeskTokens, NatsKey } from "../join/enter";
import type { JoinStrings } from "../join/join-strings";
import type { Release } from "../lib/lock";
import type { Log } from "../lib/log";
import type { RunningServer } from "../lib/running-server";
import type { LinkHub } from "../link/hub";
import type { HostLink, Hub } from "../link/links";
import type { createMcp, McpOptions } from "../mcp/open";
import type { Choice } from "../mcp/toolsets";
import type { Metrics } from "../metrics/metrics";
import type { NatsDesk } from "../nats/desk";
import type { NatsHostState } from "../nats/operations/fleet";
import type { ScreenPeers } from "../peers/screen-peers";
import type { Sessions } from "../peers/sessions";
import type { PlanJobs } from "../plans/job/accept";
import type { OtherPlans } from "../plans/others";
import type { Plans } from "../plans/plans";
import type { FromDesk } from "../release/from-desk";
import type { Daemon } from "../release/upgrade";
import type { Executor } from "../runs/executor";
import type { History } from "../runs/history";
import type { Runs } from "../runs/runs";
import type { StoredScripts } from "../runs/stored-scripts";
import type { Scheduler } from "../scheduler/scheduler";
import type { Syncs } from "../sync/manager";
import type { Traces } from "../trace/traces";
import type { TokenList } from "../trust/token-list";
import type { Usb } from "../usb/usb";
import type { Webhooks } from "../webhooks/webhooks";
import type { Collector } from "../witness/collector";
import type { Membership } from "../witness/messages";
import type { Open } from "../witness/operations";
import type { WatchedLog } from "../witness/states";
import type { ServerReport } from "./running";

/** The state of one process. Each feature is a function that makes it on the first call. */
export interface Service {
  readonly configDir: string;
  /** The folder for files from peers, absolute. */
  readonly inbox: string;
  readonly log: Log;
  /** Gives the folder the format of this svc: before the first change. */
  prepareFolder(): Promise<void>;
  /** {@link prepareFolder}, then the folder is that of the server of this process, until it is released. Undefined where another server has it. */
  claimFolder(): Promise<Release | undefined>;
  /** What its scripts may do, decided when the service is made. */
  permits(need: Permission): boolean;
  operations(): Promise<readonly Operation[]>;
  /** Every type of event. */
  eventTypes(): Promise<readonly EventType[]>;
  /** The names of the types that `types` means, also `run.*`; of all, where it is empty. @throws `bad_input` for none. */
  eventNames(types: readonly string[]): Promise<ReadonlySet<string>>;
  /** The schema of the data of each, by its name. */
  eventSchemas(): Promise<Readonly<Record<string, Record<string, unknown>>>>;
  /** What happened in this process, for those who follow it. */
  events(): Bus;
  eventStreams(): Promise<Streams>;
  addressBook(): Promise<AddressBook>;
  /** What waits for the yes of a person. Beside a server, `ask` asks there. */
  approvals(): Promise<Approvals>;
  /** Null when the service was made without an audit log. */
  audit(): Promise<AuditLog | null>;
  /** As `audit()`, but null where no log was ever kept: looking does not make one. */
  existingAudit(): Promise<AuditLog | null>;
  /** What checks that files of a bundle would load here. */
  bundleReaders(): Promise<BundleReaders>;
  /** What would not load of the files of a desk (`svc desk import`). */
  deskReaders(): Promise<DeskReaders>;
  /** What merges files of a bundle with those that are here. */
  bundleMergers(): Promise<BundleMergers>;
  settings(): Promise<Settings>;
  desktop(): Promise<Desktop>;
  /** Small pictures of the screen. */
  thumbnails(): Promise<Thumbnails>;
  /** The recordings of the screen. */
  recordings(): Promise<Recordings>;
  /** The programs that scripts start and do not wait for. */
  programs(): Promise<Programs>;
  diagnostics(): Promise<Diagnostics>;
  executor(): Promise<Executor>;
  history(): Promise<History>;
  inspector(): Promise<Inspector>;
  dashboard(): Promise<PageAssets>;
  explorer(): Promise<PageAssets>;
  /** The join strings of a desk. */
  joinStrings(): Promise<JoinStrings>;
  /** The links to hosts; null where this process runs no server with `--hub`. */
  hub(): Hub | null;
  /** The same, made on the first call. */
  openHub(): Promise<LinkHub | null>;
  /** The link of this host to its desk; null where it has joined none. */
  hostLink(): Promise<HostLink | null>;
  /** The connection of this host to the NATS server of its desk; null where it has none. */
  natsHost(): Promise<NatsHostState | null>;
  /** The connection of this desk to its NATS server; null where it has none, or needed none yet. */
  natsDesk(): NatsDesk | null;
  /** Who this host is to NATS servers: a key that is made on the first call. */
  natsKey(): Promise<NatsKey>;
  natsCarrier: DeskUses["natsCarrier"];
  /** The address of the desk that has the named token; null where none has it. */
  deskWith(token: string): Promise<string | null>;
  /** The membership of this host, and the key of its desk; undefined where it has joined none. */
  membership(): Promise<(Membership & { readonly desk_key: string }) | undefined>;
  /** The witness of this host, which is made where there is none. */
  witness(): Promise<Open>;
  /** As `witness()`, but null where it has witnessed no log. */
  existingWitness(): Promise<Open | null>;
  /** The newest restore of the audit log that a desk has signed; null where there was none. */
  newestRestore(): Promise<Restore | null>;
  /** What looks at the audit logs of hosts that have joined; null where this process does not. */
  watchedLogs(): Promise<Collector | null>;
  /** What that, or the server before, has found about each host, by its id. */
  foundLogs(): Promise<ReadonlyMap<string, WatchedLog>>;
  /** The tokens that this host makes for desks. */
  deskTokens(): Promise<DeskTokens>;
  /** The pin of the TLS key with which a server here speaks. */
  ownPin(): Promise<string>;
  /** Agents at `POST /mcp`. */
  mcp(): ReturnType<typeof createMcp>;
  /** The agent that has started this process. @throws `bad_input` for a tool that there is not. */
  agentsOverStdio(how: Pick<McpOptions, "on"> & { readonly approve: boolean }): Promise<{
    /** Resolves when the agent has gone, or `signal` is aborted. */
    serve(choice: Choice, signal: AbortSignal): Promise<void>;
  }>;
  metrics(): Promise<Metrics>;
  /** The jobs that this host takes from a desk. */
  planJobs(): Promise<PlanJobs>;
  plans(): Promise<Plans>;
  /** Upgrading this host from its desk. */
  fromDesk(): Promise<FromDesk>;
  runBroadcast: BroadcastUses["runBroadcast"];
  /** The plans of other desks of the same hosts. */
  otherPlans(): Promise<OtherPlans>;
  /** Null where no plan was ever made: looking does not make the file. */
  existingPlans(): Promise<Plans | null>;
  poller(): Promise<Poller>;
  rest(): Promise<RestControl>;
  sessions(): Promise<Sessions>;
  /** The data channels of the live screen. */
  screenPeers(): Promise<ScreenPeers>;
  keepScreenProxy: ProxyUses["keepScreenProxy"];
  storedScripts(): Promise<StoredScripts>;
  webhooks(): Promise<Webhooks>;
  syncs(): Promise<Syncs>;
  /** The traces of runs that this host keeps. */
  traces(): Promise<Traces>;
  /** The named tokens, and when tokens were used last. */
  tokens(): Promise<TokenList>;
  /** The server that runs on `{config_dir}`, in this process or another; null when none does. */
  runningServer(): (RunningServer & ServerReport) | null;
  /** The version of the WebRTC library. @throws when it does not work here. */
  probeWebRtc(): Promise<string>;
  usb(): Promise<Usb>;
  runs(): Promise<Runs>;
  scheduler(): Promise<Scheduler>;
  /** Whether a grant is one of the trusted viewers of the screen. */
  trustedViewers(): Promise<(grant: Grant) => boolean>;
  /** Whether a person allows each look of a grant at the screen first; undefined where that is never so. */
  asksPerson(): Promise<((grant: Grant) => boolean) | undefined>;
  /** The viewers of the live screen. */
  screens(): Promise<Screens>;
  screenTickets(): Promise<Tickets>;
  /** The viewers that this desk has let in at other hosts. */
  relayedViewers(): Promise<RelayedViewers>;
  /** How many viewers there are: asking loads nothing. */
  viewersNow(): number;
  /** The daemons that run a program. @param binary absolute, without links. */
  daemonsRunning(binary: string): Promise<readonly Daemon[]>;
  /**
   * Stops what a token that was revoked has started: disables its jobs; in this process, cancels its runs and requests, stops
   * its syncs and closes its sessions.
   *
   * @returns how many jobs it had.
   */
  endWorkOf(token: string): Promise<number>;
  /** Disables the jobs that a stored script has added for tokens that allow it alone. @returns how many they are. */
  endJobsOfScript(script: string): Promise<number>;
  /** Aborted once the token of that name is revoked. */
  untilRevoked(token: string): AbortSignal;
  /**
   * Reads again the files that other processes change while a server runs: its tokens and jobs. Ends what was revoked.
   *
   * @param happened what another process of the owner did: those who follow this one get it.
   * @throws `bad_input` when that is no list of events.
   */
  refresh(happened?: readonly HandedOver[]): Promise<void>;
  /** Makes a server that runs on `{config_dir}` in another process read its files again, and hands it the events of this process. */
  notifyServer(): Promise<void>;
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
