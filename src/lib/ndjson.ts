/**
 * Answers that grow while the work goes on: one line of JSON for each value (https://github.com/ndjson/ndjson-spec).
 */
import { createQueue } from "./queue";

export const LINES_CONTENT_TYPE = "application/x-ndjson";

/** An empty line, which readers skip, keeps an idle connection from being closed; in milliseconds. */
const KEEP_ALIVE_MS = 3_000;

/**
 * Resolves when `work` has begun, to a response that lasts until the work has ended.
 *
 * @param work gets a function that sends a value, and a signal that is aborted when the reader has gone. What `send` returns resolves once
 *   the reader has taken the value, or has gone: values are made to text one after the other, as they are read.
 * @throws the reason why `work` could not begin.
 */
export async function streamLines(
  work: (
    send: (value: unknown) => Promise<void>,
    gone: AbortSignal,
  ) => { readonly begun: Promise<unknown>; readonly ended: Promise<unknown> },
): Promise<Response> {
  const gone = new AbortController();
  const { readable, writable } = new TransformStream<string, string>();
  const writer = writable.getWriter();
  writer.closed.catch(() => gone.abort());
  const write = (line: string) => writer.write(line).catch(() => {});
  const inTurn = createQueue();
  const send = (value: unknown) => inTurn(() => write(`${JSON.stringify(value)}\n`));
  const { begun, ended } = work(send, gone.signal);
  const keepAlive = setInterval(write, KEEP_ALIVE_MS, "\n");
  ended
    .then(() => inTurn(() => writer.close()))
    .catch((error) => writer.abort(error))
    .catch(() => {})
    .finally(() => clearInterval(keepAlive));
  await begun;
  return new Response(readable.pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": LINES_CONTENT_TYPE, "cache-control": "no-store" },
  });
}
