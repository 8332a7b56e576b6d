/**
 * `nats-desk.ts URL`: a desk that asks hosts over a NATS server, all of them, five times. The ids of the hosts are on standard input, one
 * after the other, and stay bytes: they stand for an address book, which is not measured here. The credentials of the desk are in the
 * environment. Says how many answered, how many are not connected, how long each time took, and the most memory that this process had. Then
 * the same in a bare loop on the same client library, which publishes a finished message to each host and counts
 * what comes back. With several URLs, commas between, each is the server of a region, and has every nth host.
 */
import { deadlineIn, RemoteError } from "../../src/client/carrier";
import { createNatsDesk, type NatsDesk } from "../../src/desk/nats/desk";
import { silentLog } from "../../src/lib/log";
import { runPool } from "../../src/lib/pool";
import { connectNats } from "../../src/wire/nats/connect";
import { nkey } from "../../src/wire/nats/nkeys";
import { inboxOf, NO_SESSION, Outbox, subjectsOf } from "../../src/wire/nats/wire";
import { peakBytes } from "./peak";
import { identityOf } from "./sim-seed";

const ROUNDS = 5;

const ID_LENGTH = 56;

/** How many are asked at once: a request that is under way takes some 10 KiB. */
const SLOTS = 2_000;

const [url = ""] = process.argv.slice(2);
const given = await Bun.stdin.bytes();
const ids = Buffer.from(given.buffer, given.byteOffset, given.length);
const idOf = (nth: number) => ids.toString("latin1", nth * ID_LENGTH, (nth + 1) * ID_LENGTH);
/** The hosts, by their numbers. */
const hosts = Array.from({ length: ids.length / ID_LENGTH }, (_, nth) => nth);
const user = { seed: process.env.DESK_NATS_SEED ?? "", jwt: process.env.DESK_NATS_JWT ?? "" };
const logins = url.split(",").map((one) => ({ server: { urls: [one] }, ...user }));
const desks = logins.map((login) =>
  createNatsDesk({
    ...{ id: nkey(user.seed).id, login, key: identityOf("desk", 0), log: silentLog },
    hostId: (host) => host,
  }),
);
// What reading the ids has left is none of the desk's.
Bun.gc(true);
/** The desk at the server of a host. */
const deskOf = (nth: number) => desks[nth % desks.length] as NatsDesk;

/** How long something takes, in milliseconds, and how much processor time of this process. */
interface Took {
  readonly ms: number;
  readonly cpuMs: number;
}

function stopwatch(): () => Took {
  const [started, used] = [performance.now(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(used);
    return { ms: performance.now() - started, cpuMs: (user + system) / 1_000 };
  };
}

const rounds: Array<Took & { answered: number; unreachable: number }> = [];
for (let round = 0; round < ROUNDS; round++) {
  const took = stopwatch();
  const limits = { deadline: deadlineIn(60_000), maxBytes: 65_536 };
  let answered = 0;
  await runPool(hosts, { slots: SLOTS, patienceMs: Number.POSITIVE_INFINITY }, async (nth) => {
    try {
      using carrier = await deskOf(nth).via(`nats:${idOf(nth)}`, undefined, null);
      await carrier.ask({ method: "GET", path: "/sessions" }, limits);
      answered++;
    } catch (error) {
      if (!(error instanceof RemoteError) || error.fault !== "unreachable") throw error;
    }
  });
  rounds.push({ answered, unreachable: hosts.length - answered, ...took() });
}
await Promise.all(desks.map((desk) => desk.stop()));
const peak = peakBytes();

/** What anybody would write first. @returns what it takes until something has come back from each host, for each round. */
async function bareLoop(): Promise<Took[]> {
  const connections = await Promise.all(logins.map((login) => connectNats(login)));
  const inbox = inboxOf(nkey(user.seed).id);
  const message = Promise.withResolvers<Uint8Array>();
  const outbox = new Outbox({ session: NO_SESSION, publish: message.resolve });
  outbox.say({ t: "ask", id: 0, method: "GET", path: "/sessions", accept: "application/json" });
  outbox.flush();
  const bytes = await message.promise;
  let came = () => {};
  for (const connection of connections) connection.subscribe(`${inbox}.*`, { callback: () => came() });
  const rounds: Took[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const took = stopwatch();
    const { promise, resolve } = Promise.withResolvers<void>();
    let sent = 0;
    let left = hosts.length;
    const send = () => {
      for (let nth = 0; nth < SLOTS && sent < hosts.length; nth++, sent++)
        connections[sent % connections.length]?.publish(subjectsOf(idOf(sent)).ask, bytes, {
          reply: `${inbox}.${sent}`,
        });
    };
    came = () => {
      if (--left === 0) resolve();
      else if (left === hosts.length - sent) send();
    };
    send();
    await promise;
    rounds.push(took());
  }
  return rounds;
}

console.log(JSON.stringify({ rounds, peak, bare: await bareLoop() }));
process.exit();
