/**
 * `nats-desk.ts URL`: a desk that asks hosts over a NATS server, all of them, five times. The ids of the hosts are a JSON list on
 * standard input, the credentials of the desk in the environment. Says how many answered, how many are not connected, and how long
 * each time took.
 */
import { deadlineIn, RemoteError } from "../../src/client/carrier";
import { silentLog } from "../../src/lib/log";
import { runPool } from "../../src/lib/pool";
import { createNatsDesk } from "../../src/nats/desk";
import { nkey } from "../../src/nats/nkeys";
import { identityOf } from "./sim-seed";

const ROUNDS = 5;

/** How many are asked at once: a request that is under way takes some 10 KiB. */
const SLOTS = 2_000;

const [url = ""] = process.argv.slice(2);
const ids: readonly string[] = await Bun.stdin.json();
const user = { seed: process.env.DESK_NATS_SEED ?? "", jwt: process.env.DESK_NATS_JWT ?? "" };
const login = { server: { urls: [url] }, ...user };
const desk = createNatsDesk({
  ...{ id: nkey(user.seed).id, login, key: identityOf("desk", 0), log: silentLog },
  hostId: (host) => host,
});

const rounds: Array<{ answered: number; unreachable: number; ms: number }> = [];
for (let round = 0; round < ROUNDS; round++) {
  const started = performance.now();
  const limits = { deadline: deadlineIn(60_000), maxBytes: 65_536 };
  let answered = 0;
  await runPool(ids, { slots: SLOTS, patienceMs: Number.POSITIVE_INFINITY }, async (id) => {
    try {
      using carrier = await desk.via(`nats:${id}`, undefined, null);
      await carrier.ask({ method: "GET", path: "/sessions" }, limits);
      answered++;
    } catch (error) {
      if (!(error instanceof RemoteError) || error.fault !== "unreachable") throw error;
    }
  });
  const ms = performance.now() - started;
  rounds.push({ answered, unreachable: ids.length - answered, ms });
}
console.log(JSON.stringify({ rounds }));
process.exit();
