/**
 * How the table is reached: the REST server and its pages, events and webhooks, agents, metrics.
 */
import { OWNER } from "../../core/rights";
import { findRunningServer } from "../../lib/running-server";
import type { AskPerson } from "../../mcp/calls";
import type { Service } from "../interface";
import type { ServiceOptions } from "../options";
import { serverReport } from "../running";
import type { Shared } from "../shared";

type Features = Pick<
  Service,
  | "operations"
  | "eventTypes"
  | "eventSchemas"
  | "eventNames"
  | "events"
  | "eventStreams"
  | "webhooks"
  | "dashboard"
  | "explorer"
  | "mcp"
  | "agentsOverStdio"
  | "metrics"
  | "rest"
  | "runningServer"
>;

type Tables = { readonly [Name in "operations" | "eventTypes"]: ServiceOptions[Name] };

/** @param tables in place of svc's own. */
export function surfaceFeatures(shared: Shared, tables: Tables): Features {
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
  return {
    operations: feature(async () => tables.operations ?? (await import("../../operations")).operations),
    eventTypes: feature(async () => tables.eventTypes ?? (await import("../../operations")).eventTypes),
    async eventSchemas() {
      const { schemasOf } = await import("../../events/schema");
      return schemasOf(await shared.service.eventTypes());
    },
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
      const { createWebhooks } = await import("../../webhooks/webhooks");
      await prepareFor(files.webhookQueue);
      const namesOf = shared.service.eventNames;
      const webhooks = createWebhooks({
        ...{ files, log, events, namesOf, endings: tokens.endings },
        delivers: () => phase.runsJobs,
      });
      // Runs end while they stop, and say so.
      stopLast(() => webhooks.stop());
      return webhooks;
    }),
    dashboard: feature(async () => (await import("../../http/page-files")).createDashboard()),
    explorer: feature(async () => (await import("../../http/page-files")).createExplorer()),
    mcp: stoppable(async () => {
      const { createMcp } = await import("../../mcp/open");
      const { mcp_write: write, mcp_on: on, mcp_exclude_tools: exclude, allow_origin: origins } = options;
      const ask: AskPerson = async (question) => (await shared.service.approvals()).ask(question);
      const how = { write, ask: options.mcp_approve ? ask : null, on, exclude, origins };
      return createMcp(shared.service, how);
    }),
    async agentsOverStdio(how) {
      return (await import("../agents")).openStdio(shared.service, how);
    },
    metrics: feature(async () =>
      (await import("../../metrics/metrics")).createMetrics(shared.service, observed),
    ),
    rest: stoppable(async () => (await import("../../http/server")).createRestControl(shared.service)),
    runningServer() {
      const running = findRunningServer(configDir);
      return running && { ...running, ...serverReport(shared.service, running) };
    },
  };
}
