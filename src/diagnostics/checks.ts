/** Every check, in the order of the report. */
import { auditChain } from "./checks/audit-chain";
import { clock } from "./checks/clock";
import { diskSpace } from "./checks/disk-space";
import { executor } from "./checks/executor";
import { mouse } from "./checks/mouse";
import { optionalDeps } from "./checks/optional-deps";
import { permissions } from "./checks/permissions";
import { platform } from "./checks/platform";
import { restApi } from "./checks/rest-api";
import { screenshot } from "./checks/screenshot";
import { tlsCertificate } from "./checks/tls-certificate";

export const CHECKS = [
  platform,
  optionalDeps,
  executor,
  auditChain,
  clock,
  screenshot,
  mouse,
  diskSpace,
  permissions,
  restApi,
  tlsCertificate,
] as const;
