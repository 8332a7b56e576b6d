/**
 * Answers that tell things as they happen: a line of JSON each (https://github.com/ndjson/ndjson-spec).
 */

export const LINES_CONTENT_TYPE = "application/x-ndjson";

/** An empty line, which readers pass over, keeps a silent answer from being cut off; in milliseconds. */
const SIGN_OF_LIFE_MS = 3_000;

/**
 * Resolves once `work` has begun, to a response that goes on until it has ended.
 *
 * @param work is given a function that tells a value, and a signal that is aborted when nobody listens any more.
 * @throws what kept the work from beginning.
 */
export async function tellAsLines(
  work: (
    tell: (value: unknown) => void,
    gone: AbortSignal,
  ) => { readonly begun: Promise<unknown>; readonly ended: Promise<unknown> },
): Promise<Response> {
  const gone = new AbortController();
  const { readable, writable } = new TransformStream<string, string>();
  const writer = writable.getWriter();
  writer.closed.catch(() => gone.abort());
  const write = (line: string) => void writer.write(line).catch(() => {});
  const { begun, ended } = work((value) => write(`${JSON.stringify(value)}\n`), gone.signal);
  const signs = setInterval(write, SIGN_OF_LIFE_MS, "\n");
  ended
    .then(() => writer.close())
    .catch((error) => writer.abort(error))
    .catch(() => {})
    .finally(() => clearInterval(signs));
  await begun;
  return new Response(readable.pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": LINES_CONTENT_TYPE, "cache-control": "no-store" },
  });
}
