/**
 * Many hosts in one process, with what goes wrong with hosts (`sim-host.ts`):
 *
 *     sim.ts --hosts 2000 --dead 10% --slow 1% --lose 0.1% --dup 0.1% --seed 7
 *
 * Every address of 127/8 answers as the host of that number does. Says `{"url", "seed"}` once it listens; `GET /sim/faults` at
 * any address says what must not have happened.
 */
import { parseArgs } from "node:util";
import { type Answer, addressOf, createFleet, faultsIn, parseShare, type SimulatedHost } from "./sim-host";

const { values } = parseArgs({
  options: {
    hosts: { type: "string", default: "2000" },
    seed: { type: "string", default: `${Math.floor(Math.random() * 2 ** 32)}` },
    dead: { type: "string", default: "0%" },
    slow: { type: "string", default: "0%" },
    lose: { type: "string", default: "0%" },
    dup: { type: "string", default: "0%" },
    skew: { type: "string", default: "0" },
    flap: { type: "string", default: "0" },
    "run-ms": { type: "string", default: "0" },
  },
});
const [dead, slow, lose, dup] = [values.dead, values.slow, values.lose, values.dup].map(parseShare) as [
  number,
  number,
  number,
  number,
];
const skewMs = Number(values.skew) * 1_000;
const faults = { dead, slow, lose, dup, skewMs, flapMs: Number(values.flap) * 1_000 };
const fleet = createFleet(Number(values.hosts), values.seed, faults, { runMs: Number(values["run-ms"]) });
const byAddress = new Map(fleet.hosts.map((host) => [addressOf(host.nth), host]));

/** Never: nobody hears of it. */
const LOST = Promise.withResolvers<never>().promise;

/** What the one who asked gets to see of the host's answer. */
async function asked(
  host: SimulatedHost,
  request: Request,
  { pathname, searchParams }: URL,
): Promise<Answer> {
  const fate = host.fate();
  const body = await request.text();
  if (host.isDead || fate.lost === "request") return LOST;
  if (fate.delayMs > 0) await Bun.sleep(fate.delayMs);
  const answers = Array.from({ length: fate.twice ? 2 : 1 }, () =>
    host.answer(request.method, pathname, searchParams, body),
  );
  const [answer] = await Promise.all(answers);
  return fate.lost === "answer" || answer === undefined ? LOST : answer;
}

const server = Bun.serve({
  // Only so does one socket answer for all of 127/8; nobody else is answered.
  hostname: "0.0.0.0",
  port: 0,
  idleTimeout: 60,
  async fetch(request, server) {
    if (!server.requestIP(request)?.address.startsWith("127.")) return new Response(null, { status: 403 });
    const url = new URL(request.url);
    if (url.pathname === "/sim/faults") return Response.json(faultsIn(fleet.runs, skewMs));
    const host = byAddress.get(url.hostname);
    if (!host) return new Response(null, { status: 404 });
    const { status, body } = await asked(host, request, url);
    return Response.json(body, { status });
  },
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}`, seed: values.seed }));
