/**
 * The table: every operation of svc, feature by feature.
 */
import { operations as executor } from "./executor/operations";
import { operations as inspector } from "./inspector/operations";
import { operations as metrics } from "./metrics/operations";
import type { Operation } from "./operation";
import { operations as rest } from "./rest/operations";

export const operations: readonly Operation[] = [...rest, ...executor, ...inspector, ...metrics];
