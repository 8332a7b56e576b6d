/** Writing the page that shows a trace; what makes it is not loaded before. */
import { readFileSync, statSync } from "node:fs";
import { badInput } from "../../lib/errors";
import { writeNamedFile } from "../../lib/files";
import type { Trace } from "./open";

/** The largest archive that becomes a page, in bytes: twice of what is recorded. It is in memory several times then. */
const MAX_ARCHIVE = 128 * 1024 * 1024;

/**
 * Writes `page`, which shows the trace in `file`.
 *
 * @returns its size in bytes.
 * @throws a `bad_input` failure about `field` when it cannot be written, and about the trace when it is too large.
 */
export async function writePage({ run }: Trace, file: string, page: string, field: string): Promise<number> {
  if (statSync(file).size > MAX_ARCHIVE)
    throw badInput(`trace: expected at most ${MAX_ARCHIVE} bytes for a page`);
  const { tracePage } = await import("./page");
  const html = await tracePage(readFileSync(file), `svc: run ${run.run_id.slice(0, 8)}, ${run.status}`);
  writeNamedFile(page, html, field);
  return Buffer.byteLength(html);
}
