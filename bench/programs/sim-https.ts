/**
 * Simulated hosts that are asked over HTTP: every address of 127/8 answers as the host of that number does. At 127.0.0.1, one
 * WebSocket takes the requests to any of them.
 */
import type { Answer, SimulatedHost } from "./sim-host";
import { addressOf } from "./sim-seed";

/** Never: nobody hears of it. */
const LOST = Promise.withResolvers<never>().promise;

/** A request on the WebSocket for all hosts, and its answer; absent where none comes. */
export type AskOne = readonly [id: number, nth: number, method: string, path: string, body: string];
export type AnswerOne = readonly [id: number, status: number, body: string];

/**
 * Serves `hosts` until the scope ends.
 *
 * @param about what `GET /sim` answers.
 * @param seen is called with each request that reaches a host.
 */
export function serveHosts(
  hosts: readonly SimulatedHost[],
  { about = (): unknown => null, seen = (_host: SimulatedHost, _path: string) => {} } = {},
) {
  const byAddress = new Map(hosts.map((host) => [addressOf(host.nth), host]));
  const server = Bun.serve({
    // Only so does one socket answer for all of 127/8; nobody else is answered.
    hostname: "0.0.0.0",
    port: 0,
    idleTimeout: 60,
    async fetch(request, server) {
      if (!server.requestIP(request)?.address.startsWith("127.")) return new Response(null, { status: 403 });
      const { hostname, pathname } = new URL(request.url);
      if (pathname === "/sim") return Response.json(about());
      if (pathname === "/all" && server.upgrade(request)) return undefined;
      const host = byAddress.get(hostname);
      if (!host) return new Response(null, { status: 404 });
      seen(host, pathname);
      const { status, body } = await answerOf(host, request.method, pathname, await request.text());
      return Response.json(body, { status });
    },
    websocket: {
      async message(socket, message) {
        const [id, nth, method, path, text]: AskOne = JSON.parse(`${message}`);
        const host = hosts[nth];
        if (!host) return;
        seen(host, path);
        const { status, body } = await answerOf(host, method, path, text);
        socket.send(JSON.stringify([id, status, JSON.stringify(body)] satisfies AnswerOne));
      },
    },
  });
  return { port: server.port ?? 0, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** What the one who asked gets to see of the host's answer. */
async function answerOf(host: SimulatedHost, method: string, path: string, body: string): Promise<Answer> {
  const fate = host.fate();
  if (host.isDead || fate.lost === "request") return LOST;
  if (fate.delayMs > 0) await Bun.sleep(fate.delayMs);
  const answers = Array.from({ length: fate.twice ? 2 : 1 }, () => host.answer(method, path, body));
  const [answer] = await Promise.all(answers);
  return fate.lost === "answer" || answer === undefined ? LOST : answer;
}
