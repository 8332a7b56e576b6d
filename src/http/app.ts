/**
 * The HTTP app: the table's routes, and the steps that a request passes on its way, from top to bottom.
 */
import { type Context, Hono } from "hono";
import { getPath } from "hono/utils/url";
import type { Operation } from "../core/operation";
import { messageOf } from "../lib/errors";
import type { SessionKeeper } from "../trust/oidc/sign-in";
import type { TokensInForce } from "../trust/scopes";
import { takeAccessToken } from "./access-token";
import { type ClientResolver, identifyClient } from "./client-address";
import { type Connections, keepConnection } from "./connections";
import { type EntryOf, nameEntry } from "./entry";
import { type Answer, chain, Exchange, type Handler, type LinkEntry, type Listener, where } from "./exchange";
import type { Gate } from "./gate";
import { createHoldBack } from "./hold-back";
import { checkHost } from "./host-header";
import { measure, type RequestMetrics } from "./measure";
import { call, type HandlerParts } from "./operation-handler";
import { passGate, passSigned, passUnknown } from "./pass-gate";
import { auditRequests, type RequestAudit } from "./request-audit";
import { completeHead, errorResponse, speakFaults } from "./responses";
import {
  createUnrouted,
  type Entry,
  honoPath,
  type Route,
  type RoutedOperation,
  route,
  routeOf,
} from "./route";
import { checkScope } from "./scope";
import { noteToken, type TokenUses } from "./token-use";

/** What the app is made of. */
export interface AppParts extends HandlerParts {
  readonly operations: readonly Operation[];
  readonly gate: Gate;
  readonly clients: ClientResolver;
  readonly connections: Pick<Connections, "accept">;
  /** Whether the server answers to this `Host`. */
  readonly answersTo: (host: string) => boolean;
  readonly metrics: RequestMetrics;
  readonly audit: RequestAudit;
  readonly uses: TokenUses;
  readonly entryOf: EntryOf;
  /** The sessions of people; absent or null where nobody can sign in. */
  readonly sessions?: Pick<SessionKeeper, "resource" | "bring"> | null;
  /** What became of a token that is over; undefined for any other. */
  readonly ended?: TokensInForce["ended"];
}

/** What Bun.serve hands along with a request; `link` for one that came over the link to the desk. */
export type Bindings = { readonly server: Listener; readonly link?: LinkEntry };

/** The app over the operations of the table that have an HTTP route. Its `fetch` never throws. */
export function createApp(parts: AppParts): Hono<{ Bindings: Bindings }> {
  const { clients, connections, audit, answersTo, gate, metrics, uses, entryOf, log, sessions, ended } =
    parts;

  const answered = [speakFaults, completeHead, nameEntry(entryOf), measure(metrics)];
  const noted = [...answered, identifyClient(clients), auditRequests(audit, createHoldBack())];
  const counted = [...noted, checkHost(answersTo)];
  const entries: Record<Entry, Handler> = {
    public: chain([...answered, checkHost(answersTo)], route),
    // Hosts may know this server by any name, and no page can sign.
    signed: chain(
      [
        ...noted,
        where(({ route: { hasOwnHost = false } }) => hasOwnHost, checkHost(answersTo)),
        passSigned(gate),
      ],
      route,
    ),
    token: chain(
      [
        ...[
          ...counted,
          takeAccessToken(sessions ?? null, gate, ended),
          passGate(gate, metrics, sessions?.resource),
        ],
        ...[noteToken(uses), keepConnection(connections)],
      ],
      route,
    ),
    unknown: chain([...counted, passUnknown(gate)], route),
  };
  const failed = (error: unknown) => {
    log.error(`request failed: ${messageOf(error)}`, error);
    return errorResponse(500, "internal error");
  };
  const answer = (context: Context<{ Bindings: Bindings }>, targetOf: () => Route): Answer => {
    const { req, env } = context;
    try {
      const target = targetOf();
      const answered = entries[target.entry](new Exchange(req, env.server, target, env.link));
      return answered instanceof Promise ? answered.catch(failed) : answered;
    } catch (error) {
      return failed(error);
    }
  };

  const app = new Hono<{ Bindings: Bindings }>({ getPath: pathOf });
  const routed = parts.operations.filter((one): one is RoutedOperation => one.http !== undefined);
  for (const operation of routed) {
    const { http, scope } = operation;
    let target: Route | undefined;
    // Made with the first request for it: most servers are asked for few of them.
    const targetOf = () => {
      target ??= routeOf(http, chain([checkScope(scope)], call(operation, parts)));
      return target;
    };
    app.on(http.method, honoPath(http), (c) => answer(c, targetOf));
  }
  const unrouted = createUnrouted(routed);
  app.notFound((c) => answer(c, () => unrouted(c.req.path)));
  app.onError(failed);
  return app;
}

/** The path of a request; without a `Host` (HTTP/1.0), Bun's address of it has no host either. */
function pathOf(request: Request): string {
  return request.url.startsWith("/") ? request.url.replace(/[?#].*$/s, "") : getPath(request);
}
