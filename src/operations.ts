/**
 * The table: every operation of svc, feature by feature.
 */

import { operations as audit } from "./audit/operations";
import { operations as config } from "./config/operations";
import type { Operation } from "./core/operation";
import { operations as desktop } from "./desktop/operations";
import { operations as diagnostics } from "./diagnostics/operations";
import { operations as admin } from "./fleet/operations";
import { operations as http } from "./http/operations";
import { operations as inspector } from "./inspector/operations";
import { operations as metrics } from "./metrics/operations";
import { operations as sessions } from "./peers/operations";
import { operations as runs } from "./runs/operations";
import { operations as scheduler } from "./scheduler/operations";
import { operations as sync } from "./sync/operations";
import { operations as turn } from "./turn/operations";
import { operations as usb } from "./usb/operations";

export const operations: readonly Operation[] = [
  ...audit,
  ...http,
  ...runs,
  ...scheduler,
  ...metrics,
  ...inspector,
  ...usb,
  ...config,
  ...desktop,
  ...diagnostics,
  ...turn,
  ...sessions,
  ...sync,
  ...admin,
];
