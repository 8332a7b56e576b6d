/**
 * The child process that does what takes long with a log.
 */
import { writeSync } from "node:fs";
import { failureOf } from "../lib/errors";
import { standBack } from "../lib/priority";
import { AuditFile } from "./file";
import { type Pruned, pruneRows } from "./prune";
import { type Verdict, verifyDatabase } from "./verify";
import type { Job, Jobs, Said } from "./worker";

/** Does the job that the arguments name: `verify PATH INPUT` or `prune PATH INPUT`. */
export default async function auditChild([job, path = "", input = "{}"]: readonly string[]): Promise<void> {
  standBack();
  try {
    say({ result: await perform(job, path, input) });
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    say({ failure: { code: failure.code, message: failure.message } });
  }
}

async function perform(job: string | undefined, path: string, input: string): Promise<Verdict | Pruned> {
  if (job === "verify") {
    const { noted }: Jobs["verify"]["input"] = JSON.parse(input);
    return verifyDatabase(path, { noted, progress: (rows, total) => say({ progress: [rows, total] }) });
  }
  const file = new AuditFile(path);
  try {
    return await pruneRows(file, JSON.parse(input));
  } finally {
    file.close();
  }
}

/** At once, also while this thread is busy with rows. */
function say(line: Said<Job>): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
