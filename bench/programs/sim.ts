/**
 * Many hosts in one process, with what goes wrong with hosts (`sim-host.ts`):
 *
 *     sim.ts --hosts 2000 --dead 10% --slow 1% --lose 0.1% --dup 0.1% --seed 7
 *     sim.ts --hosts 5000 --carrier link --hub wss://127.0.0.1:9939 --pin spki:… --flap 30 --skew 60
 *
 * `--carrier https`: every address of 127/8 answers as the host of that number does. `link`: each dials the hub. `all`: one
 * WebSocket carries the requests to all of them. `nats`: one connection to the NATS server `--hub nats://127.0.0.1:4222`, or with
 * `--users FILE` (JSON, a list of `{id, seed, jwt}`) one for each host; of several servers with commas between, each has every nth host. Times in seconds, but for `--run-ms` and
 * `--find-ms`.
 *
 * Says `{"url", "seed"}` once it listens; `GET /sim` says how many are linked, what ended links, how many jobs ran and what must not
 * have happened.
 */
import { parseArgs } from "node:util";
import { createFleet, faultsIn } from "./sim-host";
import { serveHosts } from "./sim-https";
import { linkHosts } from "./sim-links";
import { connectHosts, type NatsUser, type Where } from "./sim-nats";
import { natsIdOf, parseShare } from "./sim-seed";

const { values } = parseArgs({
  options: {
    hosts: { type: "string", default: "2000" },
    carrier: { type: "string", default: "https" },
    hub: { type: "string", default: "" },
    pin: { type: "string", default: "" },
    users: { type: "string", default: "" },
    seed: { type: "string", default: `${Math.floor(Math.random() * 2 ** 32)}` },
    dead: { type: "string", default: "0%" },
    slow: { type: "string", default: "0%" },
    lose: { type: "string", default: "0%" },
    dup: { type: "string", default: "0%" },
    skew: { type: "string", default: "0" },
    flap: { type: "string", default: "0" },
    "run-ms": { type: "string", default: "0" },
    "find-ms": { type: "string", default: "0" },
  },
});
const { seed, hub: url, pin, carrier } = values;
const faults = {
  dead: parseShare(values.dead),
  slow: parseShare(values.slow),
  lose: parseShare(values.lose),
  dup: parseShare(values.dup),
  skewMs: Number(values.skew) * 1_000,
  flapMs: Number(values.flap) * 1_000,
};
const { hosts, runs } = createFleet(Number(values.hosts), seed, faults, {
  ...{ runMs: Number(values["run-ms"]), findMs: Number(values["find-ms"]) },
});
const links = carrier === "link" ? linkHosts(hosts, { url, seed, pin }) : undefined;
const nats = carrier === "nats" ? connectHosts(await usersOf(values.users)) : undefined;
const about = () => ({
  linked: links?.linked() ?? nats?.up() ?? 0,
  ended: Object.fromEntries(links?.reasons ?? nats?.ended ?? []),
  runs: runs.length,
  faults: faultsIn(runs, faults.skewMs),
});
const { port } = serveHosts(links || nats ? [] : hosts, { about });
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, seed }));

/** Without a file, one user of each server stands for all of its hosts that are not dead; its seed is in the environment. */
async function usersOf(file: string): Promise<NatsUser[]> {
  const servers = url.split(",").map(whereIn);
  if (file === "") {
    const alive = hosts.filter(({ isDead }) => !isDead);
    return servers.map((where, at) => ({
      ...{ seed: process.env.SIM_NATS_SEED ?? "", where },
      hosts: new Map(
        alive
          .filter(({ nth }) => nth % servers.length === at)
          .map((host) => [natsIdOf(seed, host.nth), host]),
      ),
    }));
  }
  const users: ReadonlyArray<{ id: string; seed: string; jwt: string }> = await Bun.file(file).json();
  return users.map(({ id, ...user }, nth) => ({
    ...user,
    hosts: new Map(hosts.slice(nth, nth + 1).map((host) => [id, host])),
    where: servers[nth % servers.length] as Where,
  }));
}

function whereIn(text: string): Where {
  const { hostname, port } = new URL(text);
  return { hostname, port: Number(port) };
}
