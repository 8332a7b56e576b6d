/**
 * Where a request goes: to the operation that has its path and method, else to a 404 or 405, by the same steps.
 */
import type { HttpRoute, Operation } from "../core/operation";
import type { Handler } from "./exchange";
import { errorResponse } from "./responses";

export type RoutedOperation = Operation & { readonly http: HttpRoute };

/**
 * How a request gets in. `public`: it needs no token, spends from no bucket and leaves no audit row. `signed`: it needs no
 * token, as it proves who sends it. `token`: through the gate. `unknown`: no route has its path, so no token is asked for.
 */
export type Entry = "public" | "signed" | "token" | "unknown";

export interface Route {
  /** The path template, `unmatched` for a path that has no route: a label of the metrics. */
  readonly path: string;
  readonly entry: Entry;
  readonly handle: Handler;
  /** Whether a signed one is looked at where its `Host` is a name of this server alone (`ownHost` of the operation). */
  readonly hasOwnHost?: boolean;
  /** Whether its answer may stay open (`stream` of the operation). */
  readonly staysOpen: boolean;
  /** Whether it hands requests on to another host (`relays` of the operation). */
  readonly relays?: boolean;
  /** Whether it becomes a WebSocket (`socket` of the operation). */
  readonly isSocket?: boolean;
  /** Whether it leaves a row when it is refused only (`routine` of the operation). */
  readonly isRoutine: boolean;
  /** Whether it is for libraries of tests (`paced` of the operation). */
  readonly isPaced?: boolean;
  /** Whether access tokens of the OpenID provider count (`oauth` of the operation). */
  readonly isOAuth?: boolean;
  /** Makes the answer to a failure (`fault` of the operation). */
  readonly fault?: HttpRoute["fault"];
}

/** The last step of every request. */
export const route: Handler = (exchange) => exchange.route.handle(exchange);

export const routeOf = (http: HttpRoute, handle: Handler): Route => ({
  path: http.path,
  entry: http.public === true ? "public" : (http.public ?? "token"),
  handle,
  hasOwnHost: http.ownHost === true,
  staysOpen: http.stream !== undefined,
  relays: http.relays === true,
  isSocket: http.socket !== undefined,
  isRoutine: http.routine === true,
  isPaced: http.paced === true,
  isOAuth: http.oauth === true,
  ...(http.fault && { fault: http.fault }),
});

/** The routes of what no operation answers, by path: a 405 where the path has other methods, else a 404. */
export function createUnrouted(operations: readonly RoutedOperation[]): (path: string) => Route {
  // Made when it is first needed: it takes a part of a start, and few servers are asked for what they do not have.
  let made: ReadonlyArray<{ readonly pattern: RegExp; readonly route: Route }> | undefined;
  const known = () => {
    const byPath = Map.groupBy(operations, ({ http }) => http.path);
    return operations.map(({ http }) => {
      const sharing = byPath.get(http.path) ?? [];
      return { pattern: pathPattern(http), route: routeOf(http, () => methodNotAllowed(sharing)) };
    });
  };
  const unknown = {
    path: "unmatched",
    entry: "unknown",
    handle: () => errorResponse(404, "not found"),
    staysOpen: false,
    isRoutine: false,
  } as const;
  return (path) => {
    made ??= known();
    return made.find(({ pattern }) => pattern.test(path))?.route ?? unknown;
  };
}

function methodNotAllowed(sharing: readonly RoutedOperation[]): Response {
  const methods = sharing.flatMap(({ http }) => (http.method === "GET" ? ["GET", "HEAD"] : [http.method]));
  return errorResponse(405, "method not allowed", { allow: methods.join(", ") });
}

/** What a parameter of a path matches: a segment; all that follows where that is meant, and in a public path, whose every name is public. */
const parameterPattern = ({ public: isPublic, tail }: HttpRoute) =>
  isPublic ? "[^]*" : tail ? "[^]+" : "[^/]+";

/** The path template as Hono writes it. */
export const honoPath = (http: HttpRoute): string =>
  http.path.replaceAll(/\{(\w+)\}/g, `:$1{${parameterPattern(http)}}`);

function pathPattern(http: HttpRoute): RegExp {
  const literal = http.path.replaceAll(".", "\\.");
  return new RegExp(`^${literal.replaceAll(/\{\w+\}/g, parameterPattern(http))}$`);
}
