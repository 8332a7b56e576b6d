/**
 * The table: every operation of svc, feature by feature.
 */

import type { EventType } from "./core/events";
import type { InputSchema, Operation, OutputSchema } from "./core/operation";
import { eventTypes as hostEvents } from "./desk/fleet/events";
import { eventTypes as oddEvents } from "./desk/fleet/odd/events";
import { operations as oddScreens } from "./desk/fleet/odd/operations";
import { operations as edit } from "./desk/fleet/operations/edit";
import { operations as foundHosts } from "./desk/fleet/operations/find";
import { operations as fleet } from "./desk/fleet/operations/fleet";
import { operations as hostLooks } from "./desk/fleet/operations/host-look";
import { operations as admin } from "./desk/fleet/operations/hosts";
import { operations as prometheus } from "./desk/fleet/operations/prometheus";
import { operations as selectedHosts } from "./desk/fleet/operations/selected";
import { operations as hostThumbnails } from "./desk/fleet/operations/thumbnail";
import { operations as transfer } from "./desk/fleet/operations/transfer";
import { eventTypes as joinEvents } from "./desk/join/events";
import { operations as desk } from "./desk/join/operations";
import { eventTypes as standbyEvents } from "./desk/join/standby/events";
import { operations as deskOfStandbys } from "./desk/join/standby/operations/desk";
import { operations as standby } from "./desk/join/standby/operations/standby";
import { operations as standing } from "./desk/join/standby/operations/standing";
import { operations as links } from "./desk/link/operations";
import { operations as relay } from "./desk/link/relay";
import { operations as nats } from "./desk/nats/operations/fleet";
import { operations as natsServer } from "./desk/nats/operations/server";
import { eventTypes as planEvents } from "./desk/plans/events";
import { operations as plans } from "./desk/plans/operations/make";
import { operations as fleetStates } from "./desk/plans/state/operations/fleet";
import { operations as upgrades } from "./desk/plans/upgrade/operations";
import { operations as robotRelay } from "./desk/robot/operations";
import { operations as hostBoxes } from "./desk/screen/operations/black-box";
import { operations as screenRelays } from "./desk/screen/relay";
import { operations as together } from "./desk/together/operations";
import { operations as witnessedLogs } from "./desk/witness/operations";
import { operations as events } from "./events/operations";
import { operations as help } from "./help/operations";
import { operations as agents } from "./host/agents/operations";
import { eventTypes as approvalEvents } from "./host/approvals/events";
import { operations as approvals } from "./host/approvals/operations";
import { eventTypes as auditEvents } from "./host/audit/events";
import { operations as audit } from "./host/audit/operations";
import { operations as config } from "./host/config/operations";
import { operations as daemon } from "./host/daemon/operations";
import { operations as elementActions } from "./host/desktop/elements/action-operations";
import { operations as elements } from "./host/desktop/elements/operations";
import { operations as snapshots } from "./host/desktop/elements/snapshot-operations";
import { eventTypes as programEvents } from "./host/desktop/events";
import { operations as seeing } from "./host/desktop/images/operations";
import { operations as allow } from "./host/desktop/operations/allow";
import { operations as clipboard } from "./host/desktop/operations/clipboard";
import { operations as data } from "./host/desktop/operations/data";
import { operations as desktop } from "./host/desktop/operations/input";
import { operations as pixels } from "./host/desktop/operations/pixels";
import { operations as programs } from "./host/desktop/operations/programs";
import { operations as text } from "./host/desktop/operations/text";
import { operations as windows } from "./host/desktop/operations/windows";
import { operations as record } from "./host/desktop/record/operations";
import { eventTypes as blackBoxEvents } from "./host/desktop/screen/black-box/events";
import { operations as blackBox } from "./host/desktop/screen/black-box/operations";
import { eventTypes as screenEvents } from "./host/desktop/screen/events";
import { operations as screenOffers } from "./host/desktop/screen/operations/offer";
import { operations as screenProxies } from "./host/desktop/screen/operations/proxy";
import { operations as screen } from "./host/desktop/screen/operations/viewers";
import { eventTypes as recordingEvents } from "./host/desktop/screen/record/events";
import { operations as recordings } from "./host/desktop/screen/record/operations";
import { operations as signatures } from "./host/desktop/screen/signature/operations";
import { operations as thumbnails } from "./host/desktop/screen/thumbnail/operations";
import { operations as webdriver } from "./host/desktop/webdriver/operations";
import { eventTypes as desktopEvents } from "./host/desktops/events";
import { operations as desktops } from "./host/desktops/operations";
import { eventTypes as diagnosisEvents } from "./host/diagnostics/events";
import { operations as diagnostics } from "./host/diagnostics/operations";
import { eventTypes as inspectorEvents } from "./host/inspector/events";
import { operations as inspector } from "./host/inspector/operations";
import { operations as planJobs } from "./host/jobs/operations";
import { operations as upgradedHere } from "./host/jobs/upgrade-operations";
import { operations as joining } from "./host/join/operations";
import { eventTypes as leaseEvents } from "./host/leases/events";
import { operations as leases } from "./host/leases/operations";
import { operations as mcp } from "./host/mcp/operations";
import { eventTypes as sessionEvents } from "./host/peers/events";
import { operations as sessions } from "./host/peers/operations";
import { eventTypes as upgradeEvents } from "./host/release/events";
import { operations as release } from "./host/release/operations";
import { operations as robot } from "./host/robot/operations";
import { eventTypes as runEvents } from "./host/runs/events";
import { operations as runs } from "./host/runs/operations/execute";
import { operations as scripts } from "./host/runs/operations/scripts";
import { eventTypes as jobEvents } from "./host/scheduler/events";
import { operations as scheduler } from "./host/scheduler/operations";
import { operations as secrets } from "./host/secrets/operations";
import { operations as hostStates } from "./host/state/operations";
import { eventTypes as syncEvents } from "./host/sync/events";
import { operations as sync } from "./host/sync/operations";
import { operations as trace } from "./host/trace/operations";
import { operations as turn } from "./host/turn/operations";
import { eventTypes as usbEvents } from "./host/usb/events";
import { operations as usb } from "./host/usb/operations";
import { operations as webhooks } from "./host/webhooks/operations";
import { operations as witness } from "./host/witness/operations";
import { operations as http } from "./http/operations";
import { operations as licenses } from "./licenses/operations";
import { eventTypes as requestEvents } from "./metrics/events";
import { operations as metrics } from "./metrics/operations";
import type { Service } from "./service/service";
import { eventTypes as tokenEvents } from "./trust/events";
import { operations as oidc } from "./trust/operations/oidc";
import { operations as oneTimeCodes } from "./trust/operations/one-time-code";
import { operations as passkeys } from "./trust/operations/passkeys";
import { operations as tls } from "./trust/operations/tls";
import { operations as trust } from "./trust/operations/tokens";
import { eventTypes as linkEvents } from "./wire/link/events";
import { eventTypes as witnessEvents } from "./wire/witness/events";

const all = [
  ...audit,
  ...http,
  ...approvals,
  ...trust,
  ...oneTimeCodes,
  ...oidc,
  ...passkeys,
  ...tls,
  ...runs,
  ...scripts,
  ...secrets,
  ...scheduler,
  ...trace,
  ...metrics,
  ...events,
  ...webhooks,
  ...inspector,
  ...usb,
  ...config,
  ...desktop,
  ...desktops,
  ...webdriver,
  ...leases,
  ...record,
  ...screen,
  ...recordings,
  ...blackBox,
  ...thumbnails,
  ...signatures,
  ...windows,
  ...elements,
  ...snapshots,
  ...elementActions,
  ...seeing,
  ...pixels,
  ...clipboard,
  ...allow,
  ...programs,
  ...text,
  ...data,
  ...screenOffers,
  ...screenProxies,
  ...screenRelays,
  ...hostBoxes,
  ...diagnostics,
  ...turn,
  ...daemon,
  ...help,
  ...licenses,
  ...release,
  ...sessions,
  ...sync,
  ...desk,
  ...standby,
  ...deskOfStandbys,
  ...standing,
  ...joining,
  ...links,
  ...nats,
  ...natsServer,
  ...admin,
  ...selectedHosts,
  ...transfer,
  ...edit,
  ...prometheus,
  ...hostThumbnails,
  ...relay,
  ...foundHosts,
  ...oddScreens,
  ...hostLooks,
  ...fleet,
  ...together,
  ...planJobs,
  ...witness,
  ...witnessedLogs,
  ...plans,
  ...upgrades,
  ...upgradedHere,
  ...hostStates,
  ...fleetStates,
  ...mcp,
  ...agents,
  ...robot,
  ...robotRelay,
] satisfies ReadonlyArray<Operation<InputSchema, OutputSchema, Service>>;

/** Every type of event. */
export const eventTypes: readonly EventType[] = [
  ...runEvents,
  ...usbEvents,
  ...inspectorEvents,
  ...requestEvents,
  ...joinEvents,
  ...standbyEvents,
  ...linkEvents,
  ...sessionEvents,
  ...syncEvents,
  ...hostEvents,
  ...oddEvents,
  ...planEvents,
  ...tokenEvents,
  ...jobEvents,
  ...auditEvents,
  ...diagnosisEvents,
  ...programEvents,
  ...desktopEvents,
  ...recordingEvents,
  ...blackBoxEvents,
  ...approvalEvents,
  ...leaseEvents,
  ...screenEvents,
  ...witnessEvents,
  ...upgradeEvents,
];

/** Every operation of svc. Each names the slice of the service that it uses; the service has them all. */
export const operations: readonly Operation[] = all;
