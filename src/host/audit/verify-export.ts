/**
 * Verifying an export: JSON lines, without the log that they came from.
 */
import { createReadStream } from "node:fs";
import { createGunzip, Gunzip } from "node:zlib";
import * as v from "valibot";
import { badInput, Failure, systemCode } from "../../lib/errors";
import { lookThrough } from "../../lib/look";
import { valueIn } from "../../lib/value-in";
import { broken, Chain, notedRow, type Verdict, whole } from "./chain";
import { AUDIT_ROW } from "./row";
import type { VerifyOptions } from "./verify";

const ID = v.pipe(v.number(), v.safeInteger());

const LINE = v.object({
  ...AUDIT_ROW.entries,
  id: ID,
  /** The id before it, where svc found a gap when it first opened the log. */
  follows_id: v.exactOptional(ID),
});

/** The longest line that is read, in characters: a row of several megabytes with every character escaped. */
const MAX_LINE = 64 * 1_048_576;

/**
 * Verifies the export in the file at `path`, compressed if its name ends in `.gz`. The verdict does not cover rows before
 * the first line or after the last. Progress is in bytes of the file.
 *
 * @throws a `bad_input` failure when the file cannot be read.
 */
export async function verifyExport(path: string, { noted, progress }: VerifyOptions = {}): Promise<Verdict> {
  const known = noted === undefined ? [] : [notedRow(noted)];
  let followed: { readonly id: number; readonly by: number } | undefined;
  const chain = new Chain({ id: null, prevHash: undefined }, known, (id) =>
    followed?.id === id ? followed.by : undefined,
  );
  let total = 0;
  let fault: { readonly id: number | null; readonly reason: string } | undefined;
  let unseen = known;
  for await (const line of linesOf(path, progress)) {
    total += 1;
    if (fault) continue;
    const row = valueIn(LINE, line);
    if (!row) {
      fault = { id: chain.expectedId(), reason: `line ${total} is not a row of an export` };
      continue;
    }
    if (row.follows_id !== undefined) followed = { id: row.follows_id, by: row.id };
    unseen = unseen.filter(({ id }) => id !== row.id);
    const reason = chain.next(row);
    if (reason !== null) fault = { id: row.id, reason };
  }
  if (fault) return broken(total, fault.id, fault.reason);
  const [absent] = unseen;
  if (absent) return broken(total, absent.id, "the row that was noted elsewhere is not in this export");
  return whole(total, chain.last);
}

/**
 * The lines of the file that are not empty. `node:readline` would also end a line at U+2028, which JSON allows in text.
 *
 * @throws a `bad_input` failure when the file cannot be read or a line is too long.
 */
async function* linesOf(path: string, progress: VerifyOptions["progress"]): AsyncGenerator<string> {
  const size = lookThrough(path)?.size ?? 0;
  const file = createReadStream(path);
  const input: AsyncIterable<Buffer> = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  try {
    // A stream that fails does not end the one it is piped to.
    if (input instanceof Gunzip) file.on("error", (error) => input.destroy(error));
    for await (const chunk of input) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE) throw badInput(`file: ${path} has a line of over ${MAX_LINE} characters`);
      progress?.(file.bytesRead, size);
      for (const line of lines) if (line !== "") yield line;
    }
    if (rest !== "") yield rest;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw badInput(`file: ${path} cannot be read (${systemCode(error) ?? "damaged"})`);
  } finally {
    file.destroy();
  }
}
