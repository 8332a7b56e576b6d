/**
 * The check of the `Host` header of a server bound to loopback. Any page can point a name of its own at 127.0.0.1 and have
 * the browser talk to svc (DNS rebinding); its requests carry that name.
 */
import type { Step } from "./exchange";
import { errorResponse } from "./responses";

/** Refuses a request to a host name that the server does not answer to. */
export const checkHost =
  (answersTo: (host: string | null) => boolean): Step =>
  (next) =>
  (exchange) => {
    if (answersTo(exchange.request.raw.headers.get("host"))) return next(exchange);
    exchange.refusal = "misdirected";
    return errorResponse(421, "this server does not answer to that host name (see --allow-host)");
  };

/** Whether `host` (an address to bind to) is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return (
    bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare) || bare === "::ffff:127.0.0.1"
  );
}

/**
 * Which hosts a server bound to `boundTo` answers to; ports do not matter.
 *
 * @param allowed further names that the operator allows.
 */
export function createHostCheck(
  boundTo: string,
  allowed: readonly string[],
): (host: string | null) => boolean {
  if (!isLoopback(boundTo)) return () => true;
  const withoutPort = (host: string) => host.toLowerCase().replace(/:\d*$/, "");
  const names = new Set(allowed.map(withoutPort));
  const answersTo = (host: string | null) => {
    const name = withoutPort(host ?? "");
    return isLoopback(name) || name.endsWith(".localhost") || names.has(name);
  };
  // Nearly every request names the same host as the one before it.
  let last: { host: string | null; answers: boolean } = { host: null, answers: answersTo(null) };
  return (host) => {
    if (host !== last.host) last = { host, answers: answersTo(host) };
    return last.answers;
  };
}
