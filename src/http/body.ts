/**
 * The body of a request, read under a limit and a deadline.
 */
import { deadline } from "../lib/deadline";
import { badInput, Failure, slowClient, tooLarge } from "../lib/errors";
import { parseBoundedJson } from "../lib/json-bounds";
import { nextTurn } from "../lib/turn";

/** How long a whole body may take, in milliseconds: a client that drips is cut off. */
export const BODY_DEADLINE_MS = 10_000;

/** A body whose value is used in a turn of its own, in bytes. */
const LARGE_BODY = 64 * 1024;

/**
 * How many bytes a chunk of a body must have on the average, after the first {@link FREE_CHUNKS}: each takes 50 bytes of memory or more,
 * and the event loop as long as some hundred bytes.
 */
const BYTES_OF_A_CHUNK = 64;
const FREE_CHUNKS = 1_024;

interface BodyOptions {
  readonly maxBytes: number;
  /** Default: {@link BODY_DEADLINE_MS}. */
  readonly deadlineMs?: number;
  /** Does the work of a large one, once it may begin (default: at once). */
  readonly large?: <T>(parse: () => T) => T | Promise<T>;
}

/**
 * The JSON value in the body; `{}` for an empty one.
 *
 * @throws `too_large`; `slow_client`; `bad_input` when it ends early, is not JSON in UTF-8, or exceeds the bounds of `json-bounds.ts`.
 */
export async function readJson(
  request: Request,
  { maxBytes, deadlineMs = BODY_DEADLINE_MS, large = (parse) => parse() }: BodyOptions,
): Promise<unknown> {
  const bytes = await readBytes(request, maxBytes, deadlineMs);
  if (bytes.length === 0) return {};
  try {
    const parse = () => parseBoundedJson(bytes, "body", maxBytes);
    if (bytes.length <= LARGE_BODY) return parse();
    const value = await large(parse);
    // What is large takes long to check too.
    await nextTurn();
    return value;
  } catch (error) {
    throw error instanceof Failure ? error : badInput("body: expected JSON in UTF-8");
  }
}

/** The text of the body. @throws `too_large`; `slow_client`; `bad_input` when it ends early or is not UTF-8. */
export async function readText(request: Request, { maxBytes }: BodyOptions): Promise<string> {
  const bytes = await readBytes(request, maxBytes, BODY_DEADLINE_MS);
  try {
    return textOf(bytes);
  } catch {
    throw badInput("body: expected text in UTF-8");
  }
}

const textOf = (bytes: Uint8Array) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

async function readBytes(request: Request, maxBytes: number, deadlineMs: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > maxBytes) throw overLimit(maxBytes);
  // A reader of Bun 1.4 takes 320 KiB however small the body is. Only a body without a declared length needs one.
  const reader = Number.isNaN(declared) ? request.body?.getReader() : undefined;
  const whole = reader ? readToEnd(reader, maxBytes) : request.bytes();
  try {
    return await deadline(whole, {
      ms: deadlineMs,
      late: () => slowClient(`body: expected within ${deadlineMs / 1000} s`),
    });
  } catch (error) {
    reader?.cancel().catch(() => {});
    // Nobody receives this answer, but the audit row has its status.
    throw error instanceof Failure ? error : badInput("body: the connection ended before it did");
  }
}

async function readToEnd(
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "read">,
  maxBytes: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for (let total = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    total += value.length;
    if (total > maxBytes) throw overLimit(maxBytes);
    chunks.push(value);
    if (chunks.length > FREE_CHUNKS + total / BYTES_OF_A_CHUNK)
      throw tooLarge(`body: expected chunks of at least ${BYTES_OF_A_CHUNK} bytes`);
  }
}

const overLimit = (maxBytes: number) => tooLarge(`body: expected at most ${maxBytes} bytes`);
