/**
 * `hub.ts FOLDER`: a server of svc on that folder, as `svc serve --hub` is. Says `{"url"}`, where `GET /hub` says what to dial,
 * `GET /links` how many links there are, and `GET /ask` asks all of them and says what came of it.
 */
import { deadlineIn } from "../../src/client/carrier";
import { stderrLog } from "../../src/lib/log";
import { createService } from "../../src/service/service";
import { TOKEN } from "../support";

const [configDir = ""] = process.argv.slice(2);
const service = createService({ configDir, log: stderrLog(), hub: true });
const rest = await service.rest();
const options = { port: 0, token: TOKEN, rate_limit: 0, max_connections: 1_000_000 };
const { url } = await rest.start(options);
const links = () => (service.hub()?.links() ?? []).filter(({ linked }) => linked);
const count = () => service.hub()?.counts().links ?? 0;

async function askAll() {
  const hub = service.hub();
  const asked = links();
  const started = performance.now();
  const limits = { deadline: deadlineIn(60_000), maxBytes: 65_536 };
  const request = { method: "GET", path: "/sessions" } as const;
  const answers = await Promise.all(asked.map(({ host_id }) => hub?.ask(host_id, request, limits)));
  const ms = performance.now() - started;
  return { answered: answers.filter((answer) => answer?.status === 200).length, ms };
}

const control = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 120,
  async fetch({ url: asked }) {
    const { pathname } = new URL(asked);
    if (pathname === "/ask") return Response.json(await askAll());
    return Response.json(pathname === "/hub" ? url.replace("http", "ws") : count());
  },
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${control.port}` }));
