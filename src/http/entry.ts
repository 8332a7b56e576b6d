/**
 * Errors name the entry of the documentation that says more: `{"error": …, "help": "T42"}`, for `svc help T42`.
 */
import { after, type Step } from "./exchange";

/** The entry that quotes a message; undefined where none does. */
export type EntryOf = (message: string) => Promise<string | undefined>;

/** Adds `help` to the body of an error, where there is such an entry. What another host has answered stays as it is. */
export const nameEntry =
  (entryOf: EntryOf): Step =>
  (next) =>
  (exchange) =>
    after(next(exchange), (response) => {
      const isError = response.status >= 400 && !exchange.isElsewhere;
      return isError && response.headers.get("content-type")?.startsWith("application/json")
        ? named(response, entryOf)
        : response;
    });

async function named(response: Response, entryOf: EntryOf): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  const body = Object(JSON.parse(text));
  // What speaks another protocol (JSON-RPC) has an error of another kind.
  const help = typeof body.error === "string" ? await entryOf(body.error) : undefined;
  return new Response(help === undefined ? text : JSON.stringify({ ...body, help }), { status, headers });
}
