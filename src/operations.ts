/**
 * The table: every operation of svc, feature by feature.
 */

import { eventTypes as approvalEvents } from "./approvals/events";
import { operations as approvals } from "./approvals/operations";
import { eventTypes as auditEvents } from "./audit/events";
import { operations as audit } from "./audit/operations";
import { operations as config } from "./config/operations";
import type { EventType } from "./core/events";
import type { InputSchema, Operation, OutputSchema } from "./core/operation";
import { operations as daemon } from "./daemon/operations";
import { eventTypes as programEvents } from "./desktop/events";
import { operations as seeing } from "./desktop/images/operations";
import { operations as desktop } from "./desktop/operations";
import { operations as clipboard } from "./desktop/operations/clipboard";
import { operations as data } from "./desktop/operations/data";
import { operations as pixels } from "./desktop/operations/pixels";
import { operations as programs } from "./desktop/operations/programs";
import { operations as text } from "./desktop/operations/text";
import { operations as windows } from "./desktop/operations/windows";
import { operations as record } from "./desktop/record/operations";
import { eventTypes as screenEvents } from "./desktop/screen/events";
import { operations as screen } from "./desktop/screen/operations";
import { operations as screenOffers } from "./desktop/screen/operations/offer";
import { operations as screenProxies } from "./desktop/screen/operations/proxy";
import { operations as screenRelays } from "./desktop/screen/operations/relay";
import { eventTypes as recordingEvents } from "./desktop/screen/record/events";
import { operations as recordings } from "./desktop/screen/record/operations";
import { operations as thumbnails } from "./desktop/screen/thumbnail/operations";
import { eventTypes as diagnosisEvents } from "./diagnostics/events";
import { operations as diagnostics } from "./diagnostics/operations";
import { operations as events } from "./events/operations";
import { eventTypes as hostEvents } from "./fleet/events";
import { operations as fleet } from "./fleet/operations/fleet";
import { operations as admin } from "./fleet/operations/hosts";
import { operations as prometheus } from "./fleet/operations/prometheus";
import { operations as hostThumbnails } from "./fleet/operations/thumbnail";
import { operations as transfer } from "./fleet/operations/transfer";
import { operations as http } from "./http/operations";
import { eventTypes as inspectorEvents } from "./inspector/events";
import { operations as inspector } from "./inspector/operations";
import { eventTypes as joinEvents } from "./join/events";
import { operations as desk } from "./join/operations/desk";
import { operations as joining } from "./join/operations/host";
import { operations as licenses } from "./licenses/operations";
import { eventTypes as linkEvents } from "./link/events";
import { operations as links } from "./link/operations";
import { operations as relay } from "./link/relay";
import { operations as mcp } from "./mcp/operations";
import { eventTypes as requestEvents } from "./metrics/events";
import { operations as metrics } from "./metrics/operations";
import { operations as nats } from "./nats/operations/fleet";
import { operations as natsServer } from "./nats/operations/server";
import { eventTypes as sessionEvents } from "./peers/events";
import { operations as sessions } from "./peers/operations";
import { eventTypes as planEvents } from "./plans/events";
import { operations as planJobs } from "./plans/job/operations";
import { operations as plans } from "./plans/operations";
import { operations as upgradedHere } from "./plans/upgrade/host-operations";
import { operations as upgrades } from "./plans/upgrade/operations";
import { eventTypes as upgradeEvents } from "./release/events";
import { operations as release } from "./release/operations";
import { eventTypes as runEvents } from "./runs/events";
import { operations as runs } from "./runs/operations";
import { operations as scripts } from "./runs/operations/scripts";
import { eventTypes as jobEvents } from "./scheduler/events";
import { operations as scheduler } from "./scheduler/operations";
import type { Service } from "./service";
import { eventTypes as syncEvents } from "./sync/events";
import { operations as sync } from "./sync/operations";
import { operations as trace } from "./trace/operations";
import { eventTypes as tokenEvents } from "./trust/events";
import { operations as trust } from "./trust/operations";
import { operations as tls } from "./trust/operations/tls";
import { operations as turn } from "./turn/operations";
import { eventTypes as usbEvents } from "./usb/events";
import { operations as usb } from "./usb/operations";
import { operations as webhooks } from "./webhooks/operations";
import { eventTypes as witnessEvents } from "./witness/events";
import { operations as witness } from "./witness/operations";

const all = [
  ...audit,
  ...http,
  ...approvals,
  ...trust,
  ...tls,
  ...runs,
  ...scripts,
  ...scheduler,
  ...trace,
  ...metrics,
  ...events,
  ...webhooks,
  ...inspector,
  ...usb,
  ...config,
  ...desktop,
  ...record,
  ...screen,
  ...recordings,
  ...thumbnails,
  ...windows,
  ...seeing,
  ...pixels,
  ...clipboard,
  ...programs,
  ...text,
  ...data,
  ...screenOffers,
  ...screenProxies,
  ...screenRelays,
  ...diagnostics,
  ...turn,
  ...daemon,
  ...licenses,
  ...release,
  ...sessions,
  ...sync,
  ...desk,
  ...joining,
  ...links,
  ...nats,
  ...natsServer,
  ...admin,
  ...transfer,
  ...prometheus,
  ...hostThumbnails,
  ...relay,
  ...fleet,
  ...planJobs,
  ...witness,
  ...plans,
  ...upgrades,
  ...upgradedHere,
  ...mcp,
] satisfies ReadonlyArray<Operation<InputSchema, OutputSchema, Service>>;

/** Every type of event. */
export const eventTypes: readonly EventType[] = [
  ...runEvents,
  ...usbEvents,
  ...inspectorEvents,
  ...requestEvents,
  ...joinEvents,
  ...linkEvents,
  ...sessionEvents,
  ...syncEvents,
  ...hostEvents,
  ...planEvents,
  ...tokenEvents,
  ...jobEvents,
  ...auditEvents,
  ...diagnosisEvents,
  ...programEvents,
  ...recordingEvents,
  ...approvalEvents,
  ...screenEvents,
  ...witnessEvents,
  ...upgradeEvents,
];

/** Every operation of svc. Each names the slice of the service that it uses; the service has them all. */
export const operations: readonly Operation[] = all;
