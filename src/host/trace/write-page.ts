/** Writing the page that shows a trace; what makes it is not loaded before. */
import { readFileSync } from "node:fs";
import { writeNamedFile } from "../../lib/files";
import type { Trace } from "./open";

/**
 * Writes `page`, which shows the trace in `file`.
 *
 * @returns its size in bytes.
 * @throws a `bad_input` failure about `field` when it cannot be written.
 */
export async function writePage({ run }: Trace, file: string, page: string, field: string): Promise<number> {
  const { tracePage } = await import("./page");
  const html = await tracePage(readFileSync(file), `svc: run ${run.run_id.slice(0, 8)}, ${run.status}`);
  writeNamedFile(page, html, field);
  return Buffer.byteLength(html);
}
