/**
 * Hosts polled a second, beside a bare loop of fetches over the same hosts with the same concurrency and timeout: `poll.ts
 * <rounds> <port> <address>…` says `{"ratio", "subject", "baseline"}`.
 */
import type { Host } from "../../src/desk/fleet/host";
import { pollHosts } from "../../src/desk/fleet/poll";
import { paired, TOKEN } from "../support";

const CONCURRENCY = 64;
const TIMEOUT_MS = 3_000;
const [rounds = "1", port = "", ...addresses] = process.argv.slice(2);
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

const poll = () => pollHosts(hosts, { concurrency: CONCURRENCY, timeoutMs: TIMEOUT_MS });

/** What anybody would write first. */
async function bare(): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  let next = 0;
  const ask = async (host: Host) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    for (const path of ["/sessions", "/jobs"]) {
      const response = await fetch(host.base_url + path, { headers, signal });
      await response.json();
    }
  };
  const worker = async () => {
    for (let host = hosts[next++]; host; host = hosts[next++]) await ask(host).catch(() => {});
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

const pair = await paired(
  () => perSecond(poll),
  () => perSecond(bare),
  Number(rounds),
);
console.log(JSON.stringify(pair));
process.exit();
