/**
 * The table: every operation of svc, feature by feature.
 */

import { operations as admin } from "./admin/operations";
import { operations as audit } from "./audit/operations";
import { operations as config } from "./config/operations";
import { operations as dashboard } from "./dashboard/operations";
import { operations as desktop } from "./desktop/operations";
import { operations as diagnostics } from "./diagnostics/operations";
import { operations as executor } from "./executor/operations";
import { operations as explorer } from "./explorer/operations";
import { operations as flow } from "./flow/operations";
import { operations as history } from "./history/operations";
import { operations as inspector } from "./inspector/operations";
import { operations as metrics } from "./metrics/operations";
import type { Operation } from "./operation";
import { operations as rest } from "./rest/operations";
import { operations as runs } from "./runs/operations";
import { operations as scheduler } from "./scheduler/operations";
import { operations as sessions } from "./sessions/operations";
import { operations as shell } from "./shell/operations";
import { operations as sync } from "./sync/operations";
import { operations as turn } from "./turn/operations";
import { operations as usb } from "./usb/operations";

export const operations: readonly Operation[] = [
  ...audit,
  ...rest,
  ...executor,
  ...runs,
  ...history,
  ...scheduler,
  ...flow,
  ...shell,
  ...metrics,
  ...inspector,
  ...usb,
  ...dashboard,
  ...explorer,
  ...config,
  ...desktop,
  ...diagnostics,
  ...turn,
  ...sessions,
  ...sync,
  ...admin,
];
