/**
 * Diagnostics of one service: each check over what it looks at.
 */
import { homedir } from "node:os";
import type { Log } from "../lib/log";
import { auditChainCheck, clockCheck } from "./audit";
import { createCapabilities, optionalDepsCheck } from "./capabilities";
import { CHECK_NAMES, type Check, type CheckName } from "./check";
import { mouseCheck, screenshotCheck } from "./desktop";
import { diskSpaceCheck } from "./disk";
import { executorCheck } from "./executor";
import { permissionsCheck } from "./permissions";
import { platformCheck } from "./platform";
import { createRunner, type Report } from "./run";
import { restApiCheck, tlsCertificateCheck } from "./server";
import type { Subjects } from "./subjects";

export interface Diagnostics {
  /** Runs the checks of these names; all of them by default. Never throws. */
  run(names?: readonly CheckName[]): Promise<Report>;
}

export function createDiagnostics(subjects: Subjects, log: Log): Diagnostics {
  const runner = createRunner(log);
  const checks: Readonly<Record<CheckName, Check>> = {
    platform: platformCheck(),
    optional_deps: optionalDepsCheck(createCapabilities(subjects)),
    executor: executorCheck(subjects),
    audit_chain: auditChainCheck(subjects),
    clock: clockCheck(subjects),
    screenshot: screenshotCheck(subjects),
    mouse: mouseCheck(subjects),
    disk_space: diskSpaceCheck(homedir(), subjects.configDir),
    permissions: permissionsCheck(subjects),
    rest_api: restApiCheck(subjects),
    tls_certificate: tlsCertificateCheck(subjects),
  };
  return { run: (names = CHECK_NAMES) => runner.run(names.map((name) => checks[name])) };
}
