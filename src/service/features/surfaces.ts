/**
 * How the table is reached: the REST server and its pages, events and webhooks, agents, metrics.
 */

import type { RemoteServer } from "../../client/carrier";
import type { EventSource } from "../../client/events";
import type { EventType } from "../../core/events";
import type { Operation } from "../../core/operation";
import { OWNER } from "../../core/rights";
import type { Bus } from "../../events/bus";
import type { Streams } from "../../events/stream";
import type { AskPerson } from "../../host/mcp/agent-call";
import type { Mcp, McpOptions } from "../../host/mcp/open";
import type { Choice } from "../../host/mcp/toolsets";
import type { RobotLibrary } from "../../host/robot/library";
import type { Webhooks } from "../../host/webhooks/webhooks";
import type { PageAssets } from "../../http/assets";
import type { RestControl } from "../../http/server";
import type { RunningServer } from "../../lib/running-server";
import { findRunningServer } from "../../lib/running-server";
import type { Metrics } from "../../metrics/metrics";
import type { SignIn } from "../../trust/oidc/sign-in";
import type { OneTimeCodes } from "../../trust/one-time-codes";
import type { Passkeys } from "../../trust/passkeys/passkeys";
import type { ServiceOptions } from "../options";
import type { ServiceParts } from "../parts";
import type { RobotOptions, RobotServer } from "../robot";
import type { ServerReport } from "../server-report";
import { serverReport } from "../server-report";

/** How the operations of a process are reached. */
export interface SurfaceFeatures {
  operations(): Promise<readonly Operation[]>;
  eventTypes(): Promise<readonly EventType[]>;
  /** The schema of the data of each, by its name. */
  eventSchemas(): Promise<Readonly<Record<string, Record<string, unknown>>>>;
  /** The API document of the server at `url`: the same object as long as `url` is the same. */
  apiDocument(url: string): Promise<Record<string, unknown>>;
  /** The names of the types that `types` means, also `run.*`; of all, where it is empty. @throws `bad_input` for none. */
  eventNames(types: readonly string[]): Promise<ReadonlySet<string>>;
  /** What happened in this process, for those who follow it. */
  events(): Bus;
  eventStreams(): Promise<Streams>;
  webhooks(): Promise<Webhooks>;
  dashboard(): Promise<PageAssets>;
  explorer(): Promise<PageAssets>;
  /** With which the dashboard signs in as the owner. */
  oneTimeCodes(): Promise<OneTimeCodes>;
  /** How people sign in; null without `--oidc`. @throws `bad_input` for unusable flags, `unavailable` for a file that cannot be read. */
  signIn(): Promise<SignIn | null>;
  /** With which people allow what `--passkey-for` names. */
  passkeys(): Promise<Passkeys>;
  /** Ends a session and what it has started. @throws `not_found` where there is none of that name. */
  endSession(name: string): Promise<void>;
  /** Agents at `POST /mcp`. */
  mcp(): Promise<Mcp>;
  /** Robot Framework at `POST /robot`. */
  robot(): Promise<RobotLibrary>;
  /** Robot Framework on this machine: a server of this process, on loopback. */
  robotOnLoopback(options: RobotOptions): Promise<RobotServer>;
  /** Writes the documentation of its keywords. @throws `bad_input` where the file cannot be written. */
  writeLibdoc(file: string): Promise<{ readonly file: string; readonly keywords: number }>;
  /** The agent that has started this process. @throws `bad_input` for a tool that there is not. */
  agentsOverStdio(how: Pick<McpOptions, "on" | "rate"> & { readonly approve: boolean }): Promise<{
    /** Resolves when the agent has gone, or `signal` is aborted. */
    serve(choice: Choice, signal: AbortSignal): Promise<void>;
  }>;
  /** The entry of troubleshooting.md that quotes a message (`T42`); undefined where none does. */
  entryOf(message: string): Promise<string | undefined>;
  metrics(): Promise<Metrics>;
  rest(): Promise<RestControl>;
  /** The server that runs on `{config_dir}`, in this process or another; null when none does. */
  runningServer(): (RunningServer & ServerReport) | null;
  /** @returns a way to the events of that server, which finds the one that runs by then. @throws `unavailable` when none runs. */
  ownEvents(): Promise<() => EventSource | RemoteServer>;
}

type Tables = { readonly [Name in "operations" | "eventTypes"]: ServiceOptions[Name] };

/** @param tables in place of svc's own. */
export function surfaceFeatures(shared: ServiceParts, tables: Tables): SurfaceFeatures {
  const {
    configDir,
    files,
    options,
    log,
    events,
    observed,
    tokens,
    phase,
    feature,
    stoppable,
    prepareFor,
    stopLast,
  } = shared;
  const entries = feature(async () => (await import("../../help/entries")).createEntries());
  return {
    operations: feature(async () => tables.operations ?? (await import("../../operations")).operations),
    eventTypes: feature(async () => tables.eventTypes ?? (await import("../../operations")).eventTypes),
    ...descriptions(shared),
    async eventNames(types) {
      const [{ filterOf }, known] = await Promise.all([
        import("../../events/filter"),
        shared.service.eventTypes(),
      ]);
      return filterOf(known, types, OWNER).names;
    },
    events: () => events,
    eventStreams: feature(async () => (await import("../../events/stream")).createStreams(events)),
    webhooks: feature(async () => {
      const [{ createWebhooks }, { uriOf }] = await Promise.all([
        import("../../host/webhooks/webhooks"),
        import("../host-uri"),
      ]);
      await prepareFor(files.webhookQueue);
      const namesOf = shared.service.eventNames;
      const webhooks = createWebhooks({
        files,
        log,
        events,
        namesOf,
        endings: tokens.endings,
        source: uriOf(files.hostKey),
        delivers: () => phase.runsJobs,
      });
      // Runs end while they stop, and say so.
      stopLast(() => webhooks.stop());
      return webhooks;
    }),
    dashboard: feature(async () => (await import("../../http/page-files")).createDashboard()),
    explorer: feature(async () => (await import("../../http/page-files")).createExplorer()),
    ...signInFeatures(shared),
    mcp: stoppable(async () => {
      const { createMcp } = await import("../../host/mcp/open");
      const { mcp_write: write, mcp_on: on, mcp_exclude_tools: exclude, allow_origin: origins } = options;
      const ask: AskPerson = async (question) => (await shared.service.approvals()).ask(question);
      const rate = { minute: options.mcp_changes_per_minute, hour: options.mcp_changes_per_hour };
      const how = { write, ask: options.mcp_approve ? ask : null, on, rate, exclude, origins };
      return createMcp(shared.service, how);
    }),
    robot: feature(async () => {
      const { createLibrary } = await import("../../host/robot/library");
      const { service } = shared;
      return createLibrary({
        service,
        log,
        executor: service.executor,
        operations: await service.operations(),
      });
    }),
    robotOnLoopback: async (how) => (await import("../robot")).openOnLoopback(shared.service, how),
    writeLibdoc: async (file) => (await import("../robot")).writeLibdoc(shared.service, file),
    entryOf: async (message) => (await entries()).entryOf(message),
    async agentsOverStdio(how) {
      return (await import("../agents")).openStdio(shared.service, how);
    },
    metrics: feature(async () =>
      (await import("../../metrics/metrics")).createMetrics(shared.service, observed),
    ),
    rest: stoppable(async () => (await import("../../http/server")).createRestControl(shared.service)),
    async ownEvents() {
      const { ownEvents } = await import("../own-events");
      ownEvents(configDir);
      return () => ownEvents(configDir);
    },
    runningServer() {
      const running = findRunningServer(configDir);
      return running && { ...running, ...serverReport(shared.service) };
    },
  };
}

/** What is made of the whole table, which is loaded for that. */
function descriptions(shared: ServiceParts): Pick<SurfaceFeatures, "eventSchemas" | "apiDocument"> {
  let described: { readonly url: string; readonly document: Promise<Record<string, unknown>> } | undefined;
  const describeApi = async (url: string) => {
    const [{ openApiDocument }, { loadLate }, operations] = await Promise.all([
      import("../../http/openapi"),
      import("../../core/late-table"),
      shared.service.operations(),
    ]);
    await loadLate(operations);
    return openApiDocument(operations, url, await shared.service.eventSchemas());
  };
  return {
    async eventSchemas() {
      const [{ schemasOf }, { loadLate }, types] = await Promise.all([
        import("../../events/schema"),
        import("../../core/late-table"),
        shared.service.eventTypes(),
      ]);
      await loadLate(types);
      return schemasOf(types);
    },
    async apiDocument(url) {
      if (described?.url !== url) described = { url, document: describeApi(url) };
      return described.document;
    },
  };
}

/** How people sign in, and how what they began ends. */
function signInFeatures(
  shared: ServiceParts,
): Pick<SurfaceFeatures, "signIn" | "endSession" | "oneTimeCodes" | "passkeys"> {
  const { options, files, log, publish, feature } = shared;
  return {
    oneTimeCodes: feature(async () => (await import("../../trust/one-time-codes")).createOneTimeCodes()),
    signIn: feature(async () =>
      options.oidc === undefined ? null : (await import("../sign-in")).openSignIn(shared, options.oidc),
    ),
    passkeys: feature(async () => (await import("../passkeys")).openPasskeys(shared)),
    async endSession(name) {
      const [{ removeToken, tokenStore }, { notePersons }, { endWorkOfSession }] = await Promise.all([
        import("../../trust/named-tokens"),
        import("../../trust/signed-out"),
        import("../sign-in"),
      ]);
      const signIn = await shared.service.signIn();
      // Where that cannot be noted, the session ends all the same.
      const unnoted = await notePersons(files, log, [name], await signIn?.now()).then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      await removeToken(tokenStore(files, log, publish), name);
      await endWorkOfSession(shared.service, name);
      if (unnoted) throw unnoted.error;
    },
  };
}
