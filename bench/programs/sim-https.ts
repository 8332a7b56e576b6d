/**
 * Simulated hosts that are asked over HTTP: every address of 127/8 answers as the host of that number does. At 127.0.0.1, one
 * WebSocket takes the requests to any of them.
 */
import type { Answer, SimulatedHost } from "./sim-host";
import { addressOf } from "./sim-seed";

/** Never: nobody hears of a dead host. */
const SILENCE = Promise.withResolvers<never>().promise;

/** A request on the WebSocket for all hosts, and its answer; with status 0 where it was lost. */
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
    development: false,
    async fetch(request, server) {
      if (!server.requestIP(request)?.address.startsWith("127.")) return new Response(null, { status: 403 });
      const { hostname, pathname } = new URL(request.url);
      if (pathname === "/sim") return Response.json(about());
      if (pathname === "/all" && server.upgrade(request)) return undefined;
      const host = byAddress.get(hostname);
      if (!host) return new Response(null, { status: 404 });
      seen(host, pathname);
      const answer = await answerOf(host, request.method, pathname, await request.text());
      return answer ? Response.json(answer.body, { status: answer.status }) : new Response(broken());
    },
    websocket: {
      async message(socket, message) {
        const [id, nth, method, path, text]: AskOne = JSON.parse(`${message}`);
        const host = hosts[nth];
        if (!host) return;
        seen(host, path);
        const { status, body } = (await answerOf(host, method, path, text)) ?? { status: 0, body: null };
        socket.send(JSON.stringify([id, status, JSON.stringify(body)] satisfies AnswerOne));
      },
    },
  });
  return { port: server.port ?? 0, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** A body at which the connection breaks before anything is sent. */
const broken = () => new ReadableStream({ pull: (body) => body.error("lost") });

/** What the one who asks gets to see of the host's answer; null: the connection breaks. */
async function answerOf(
  host: SimulatedHost,
  method: string,
  path: string,
  body: string,
): Promise<Answer | null> {
  const fate = host.fate();
  if (host.isDead) return SILENCE;
  if (fate.delayMs > 0) await Bun.sleep(fate.delayMs);
  if (fate.lost === "request") return null;
  const answers = Array.from({ length: fate.twice ? 2 : 1 }, () => host.answer(method, path, body));
  const [answer] = await Promise.all(answers);
  return fate.lost === "answer" ? null : (answer ?? null);
}
