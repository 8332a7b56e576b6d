/**
 * Hosts polled a second, beside a bare loop of fetches over the same hosts with the same concurrency: `poll.ts <port>
 * <address>…` says `{"ratio", "subject", "baseline"}`.
 */
import type { Host } from "../../src/admin/host";
import { pollHosts } from "../../src/admin/poll";
import { paired, TOKEN } from "../support";

const CONCURRENCY = 64;
const [port = "", ...addresses] = process.argv.slice(2);
const hosts: Host[] = addresses.map((address) => ({
  label: address,
  base_url: `http://${address}:${port}`,
  token: TOKEN,
  tags: [],
}));

const perSecond = async (work: () => Promise<unknown>) => {
  const started = performance.now();
  await work();
  return hosts.length / ((performance.now() - started) / 1_000);
};

async function poll(): Promise<void> {
  const results = await pollHosts(hosts, { concurrency: CONCURRENCY, timeoutMs: 3_000 });
  const down = results.find(({ healthy }) => !healthy);
  if (down) throw new Error(`${down.label}: expected healthy but found ${down.error}`);
}

/** What anybody would write first. */
async function bare(): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  let next = 0;
  const worker = async () => {
    for (let host = hosts[next++]; host; host = hosts[next++]) {
      for (const path of ["/sessions", "/jobs"]) {
        const response = await fetch(host.base_url + path, { headers, signal: AbortSignal.timeout(3_000) });
        if (!response.ok) throw new Error(`${host.label}: expected 200 but found ${response.status}`);
        await response.json();
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

console.log(
  JSON.stringify(
    await paired(
      () => perSecond(poll),
      () => perSecond(bare),
      11,
    ),
  ),
);
process.exit();
