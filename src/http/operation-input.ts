/** The input of an operation, from the query, the path and the body of its request. */
import { type HttpRoute, takesText } from "../core/operation";
import { fromQuery } from "../core/text";
import { badInput } from "../lib/errors";
import { readJson, readText } from "./body";
import { after, type Exchange } from "./exchange";
import type { RoutedOperation } from "./route";

/** Does work of a request, once it may begin. @param since when it could have, as of `performance.now()`. */
export type InTurn = <T>(
  exchange: Exchange,
  since: number,
  work: (hasWaited: boolean) => T | Promise<T>,
) => T | Promise<T>;

/** Whether the answer shall be the id of a run. @throws a `bad_input` failure for another `wait` than 0. */
export function asksToStart(url: string): boolean {
  const waits = new URLSearchParams(QUERY.exec(url)?.[1]).getAll("wait");
  if (waits.some((wait) => wait !== "0") || waits.length > 1) {
    throw badInput("wait: expected 0, or none to wait for the end");
  }
  return waits.length > 0;
}

/** The query without what {@link asksToStart} reads. */
function queryIn(url: string, { long }: HttpRoute): URLSearchParams {
  const query = new URLSearchParams(QUERY.exec(url)?.[1]);
  if (long) query.delete("wait");
  return query;
}

/** The query of an address, which may have no `Host` or one that is no host name: then it is no URL. */
export const QUERY = /^[^?#]*\?([^#]*)/;

/** Reads the input of an operation: from the query of a GET, the body of a POST, and the parameters of the path. */
export function createReader(
  operation: RoutedOperation,
  { maxBytes, inTurn }: { readonly maxBytes: number; readonly inTurn: InTurn },
): (exchange: Exchange) => unknown {
  const { http, input } = operation;
  const { method, path, body } = http;
  const inPath = path.includes("{");
  const largeOf =
    (exchange: Exchange) =>
    <T>(parse: () => T) =>
      inTurn(exchange, performance.now(), parse);
  if (method === "POST" && body === undefined) {
    const ofPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    return (exchange) => {
      const { request } = exchange;
      if (request.url.includes("?") && !(http.long && queryIn(request.url, http).size === 0))
        throw badInput("query: expected none, the fields go in the body");
      // Nobody can hold back a body that is empty.
      const isEmpty = request.raw.headers.get("content-length") === "0";
      const read = isEmpty ? {} : readJson(request.raw, { maxBytes, large: largeOf(exchange) });
      return inPath ? after(read, (fields) => withPath(fields, ofPath, request.param())) : read;
    };
  }
  const inQuery = (name: string) => name !== body && !path.includes(`{${name}}`);
  const readsQuery = !http.public || Object.keys(input.entries).some(inQuery);
  // Links to a page may carry any query, and load balancers add one to what they ask; neither means anything here.
  const queryOf = ({ request: { url } }: Exchange) =>
    url.includes("?") && readsQuery ? fromQuery(input, queryIn(url, http)) : {};
  const readBody = takesText(operation) ? readText : readJson;
  if (body !== undefined) {
    return async (exchange) => {
      const query = queryOf(exchange);
      if (Object.hasOwn(query, body)) throw badInput(`${body}: expected in the body, not in the query`);
      const fields = { ...query, ...(inPath && exchange.request.param()) };
      return {
        ...fields,
        [body]: await readBody(exchange.request.raw, { maxBytes, large: largeOf(exchange) }),
      };
    };
  }
  if (inPath) return (exchange) => ({ ...queryOf(exchange), ...exchange.request.param() });
  return queryOf;
}

/** The fields of a body and those of the path. @throws a `bad_input` failure for a body that has one of the latter. */
function withPath(body: unknown, names: readonly string[], values: Record<string, string>): unknown {
  // The check of the input says what else may be wrong with it.
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const twice = names.find((name) => Object.hasOwn(body, name));
  if (twice !== undefined) throw badInput(`${twice}: expected in the path, not in the body`);
  return { ...body, ...values };
}
