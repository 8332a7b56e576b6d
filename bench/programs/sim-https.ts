/** Simulated hosts that are asked over HTTP: every address of 127/8 answers as the host of that number does. */
import type { Answer, SimulatedHost } from "./sim-host";
import { addressOf } from "./sim-seed";

/** Never: nobody hears of it. */
const LOST = Promise.withResolvers<never>().promise;

/**
 * Serves `hosts` until the scope ends.
 *
 * @param more answers what is asked below `/sim` at any address.
 * @param seen is called with each request that reaches a host.
 */
export function serveHosts(
  hosts: readonly SimulatedHost[],
  { more = (_path: string): unknown => null, seen = (_host: SimulatedHost, _path: string) => {} } = {},
) {
  const byAddress = new Map(hosts.map((host) => [addressOf(host.nth), host]));
  const server = Bun.serve({
    // Only so does one socket answer for all of 127/8; nobody else is answered.
    hostname: "0.0.0.0",
    port: 0,
    idleTimeout: 60,
    async fetch(request, server) {
      if (!server.requestIP(request)?.address.startsWith("127.")) return new Response(null, { status: 403 });
      const url = new URL(request.url);
      if (url.pathname.startsWith("/sim/")) return Response.json(more(url.pathname));
      const host = byAddress.get(url.hostname);
      if (!host) return new Response(null, { status: 404 });
      seen(host, url.pathname);
      const { status, body } = await answerOf(host, request, url.pathname);
      return Response.json(body, { status });
    },
  });
  return { port: server.port ?? 0, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** What the one who asked gets to see of the host's answer. */
async function answerOf(host: SimulatedHost, request: Request, path: string): Promise<Answer> {
  const fate = host.fate();
  const body = await request.text();
  if (host.isDead || fate.lost === "request") return LOST;
  if (fate.delayMs > 0) await Bun.sleep(fate.delayMs);
  const answers = Array.from({ length: fate.twice ? 2 : 1 }, () => host.answer(request.method, path, body));
  const [answer] = await Promise.all(answers);
  return fate.lost === "answer" || answer === undefined ? LOST : answer;
}
