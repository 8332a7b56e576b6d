/**
 * `plan.ts FOLDER HOSTS URL SEED DEAD`: a plan as the server of a desk runs it, for simulated hosts to which one WebSocket at `URL` leads
 * (`sim.ts --carrier all`), but for the share of them that is not linked. Then the same in a bare loop, which signs a job for each host,
 * sends it and writes down how it ended. Says what came of both, and the most memory that this process had before that loop. With the URL of a NATS server, over that (`sim.ts --carrier nats`);
 * with several, commas between, each is the server of a region, and has every nth host. `turnMs` is the processor time of the longest
 * turn of the event loop, from the creation of a plan to its end.
 *
 * The hosts stand for an address book, which is not measured here: of each, this process has its label, its id and the bytes of its
 * NATS id.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Carrier, deadlineIn, RemoteError, type Request, type Via } from "../../src/client/carrier";
import { createDelivery } from "../../src/desk/plans/deliver";
import type { Spec } from "../../src/desk/plans/plan";
import { createPlans } from "../../src/desk/plans/plans";
import { usedMs } from "../../src/lib/clock";
import { silentLog } from "../../src/lib/log";
import { openSigningKey } from "../../src/trust/identity";
import { digestOf, seal } from "../../src/wire/job/envelope";
import { NatsIds } from "./nats-ids";
import { peakBytes } from "./peak";
import type { AnswerOne, AskOne } from "./sim-https";
import { labelOf, memberOf, natsIdOf, parseShare, recordsOf, seeded, shareOf } from "./sim-seed";

const [folder = "", count = "", url = "", seed = "", dead = ""] = process.argv.slice(2);
const isDead = shareOf(Number(count), parseShare(dead), seeded(seed, "dead"));
const key = openSigningKey(join(folder, "desk_key"));

/** What leads to the hosts, and how one of them is asked in the bare loop. */
interface Way {
  readonly via: Via;
  readonly scheme: "link" | "nats";
  addressOf(nth: number): string;
  /** The number of the host at an address. */
  nthAt(address: string): number;
  ask(nth: number, request: Request): Promise<unknown>;
}

/** The number of a host whose address ends with its label. */
const numberOf = (address: string) => Number(address.slice(address.lastIndexOf("-") + 1));

/** One WebSocket to all of them, as a hub would be. */
async function overSocket(): Promise<Way> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/all`);
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const waiting = new Map<number, (answer: AnswerOne) => void>();
  let asked = 0;
  socket.onmessage = ({ data }) => {
    const answer: AnswerOne = JSON.parse(`${data}`);
    waiting.get(answer[0])?.(answer);
    waiting.delete(answer[0]);
  };
  const ask = (nth: number, { method, path, body = "" }: Request): Promise<AnswerOne> => {
    const { promise, resolve } = Promise.withResolvers<AnswerOne>();
    const id = asked++;
    waiting.set(id, resolve);
    socket.send(JSON.stringify([id, nth, method, path, body] satisfies AskOne));
    return promise;
  };
  const via: Via = async (address) => {
    const nth = numberOf(address);
    const carrier: Carrier = {
      async ask(request, { deadline }) {
        if (isDead.has(nth)) throw new RemoteError("unreachable", "not linked", false);
        if (deadline.at < performance.now()) throw new RemoteError("timeout", "too late", false);
        const [, status, body] = await ask(nth, request);
        if (status === 0) throw new RemoteError("unreachable", "the link was lost", true);
        return { status, body: Buffer.from(body) };
      },
      open() {
        throw new Error("not asked for");
      },
      pin: () => undefined,
      [Symbol.dispose]() {},
    };
    return carrier;
  };
  return { via, scheme: "link", addressOf: (nth) => `link:${labelOf(nth)}`, nthAt: numberOf, ask };
}

/** The connections of a desk to NATS servers. */
async function overNats(): Promise<Way> {
  const [{ createNatsDesk }, { nkey }, { FIRST, natsAddress, natsPlaceOf }] = await Promise.all([
    import("../../src/desk/nats/desk"),
    import("../../src/wire/nats/nkeys"),
    import("../../src/wire/nats/region"),
  ]);
  const user = { seed: process.env.DESK_NATS_SEED ?? "", jwt: process.env.DESK_NATS_JWT ?? "" };
  const urls = url.split(",");
  const regionOf = (nth: number) => (nth % urls.length === 0 ? FIRST : `r${nth % urls.length}`);
  const desks = new Map(
    urls.map((one, nth) => [
      regionOf(nth),
      createNatsDesk({
        ...{ region: regionOf(nth), id: nkey(user.seed).id, key, log: silentLog },
        login: { server: { urls: [one] }, ...user },
        hostId: (host) => host,
      }),
    ]),
  );
  const via: Via = async (address, ...asked) => {
    const desk = desks.get(natsPlaceOf(address)?.region ?? FIRST);
    if (!desk) throw new Error(`no region of ${address}`);
    return desk.via(address, ...asked);
  };
  const ids = new NatsIds(Number(count), (nth) => natsIdOf(seed, nth));
  const addressOf = (nth: number) => natsAddress(ids.of(nth), regionOf(nth));
  const nthAt = (address: string) => ids.indexOf(address.slice(-ids.length));
  const ask: Way["ask"] = async (nth, request) => {
    using carrier = await via(addressOf(nth), undefined, null);
    return await carrier.ask(request, { deadline: deadlineIn(60_000), maxBytes: 65_536 });
  };
  return { via, scheme: "nats", addressOf, nthAt, ask };
}

const way = await (url.startsWith("nats:") ? overNats() : overSocket());

/** A host as the address book has it. What is long and asked for now and then is made each time. */
class BookHost {
  readonly token = undefined;
  readonly label: string;
  readonly hostId: string;

  constructor(readonly nth: number) {
    this.label = labelOf(nth);
    this.hostId = memberOf(seed, nth).host_id;
  }

  get base_url() {
    return way.addressOf(this.nth);
  }

  get tags() {
    return [];
  }

  get member() {
    return { host_id: this.hostId, host_key: "", nonce: "" };
  }
}

const hosts = Array.from({ length: Number(count) }, (_, nth) => new BookHost(nth));
const { via, ask, nthAt } = way;
// What making the list has left is none of the desk's.
Bun.gc(true);

const { deliver, cancel } = createDelivery(() => key);
const plans = createPlans({
  files: { plans: join(folder, "plans.db"), planLocks: join(folder, "locks") },
  log: silentLog,
  publish() {},
  book: {
    hosts: () => hosts,
    reach: ({ base_url }) => ({ url: base_url, token: undefined, trust: { kind: "any" }, via }),
  },
  deliver,
  cancelJob: cancel,
  endings: async () => () => null,
  isExpected: () => false,
  // As its hosts say when they connect to a desk.
  recordsAt: (address) => recordsOf(nthAt(address)),
  isGone: (address) => way.scheme === "link" && isDead.has(numberOf(address)),
  events: { newest: 0, at: () => undefined, listen: () => () => {} },
  goesOn: () => true,
});

const content = JSON.stringify({
  actions: [["AC_screenshot", { file: "x.png" }]],
  commands: ["AC_screenshot"],
  ...{ stop_on_error: false, timeout_s: 300, scope: null, name: "", files: {}, blobs: {} },
});

/** The processor time of the longest turn of the event loop, in milliseconds, until it is asked. */
function watchTurns(): () => number {
  let [longest, before] = [0, usedMs()];
  const note = () => {
    const now = usedMs();
    longest = Math.max(longest, now - before);
    before = now;
  };
  const timer = setInterval(note, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

/** What it is made of goes with the call, as with that of an operation. */
const create = (spec: Spec) => {
  const planned = hosts.map(({ label, hostId }) => ({ label, identity: hostId }));
  return plans.create(content, digestOf(content), spec, planned, null);
};

async function run() {
  const started = performance.now();
  const turns = watchTurns();
  const spec: Spec = {
    ...{ kind: "plan", on: "all", commands: ["AC_screenshot"], waves: [hosts.length], pause_s: 0 },
    ...{ max_failures: hosts.length, queue: false, expires_s: 86_400, max_parallel: null },
    ...{ delivery_timeout_s: 10, timeout_s: 300 },
  };
  const plan = await create(spec);
  plans.apply(plan, plan.digest, null);
  plans.runner.run(plan.seq);
  await plans.runner.over(plan.seq);
  const ms = performance.now() - started;
  return { ms, turnMs: turns(), counts: plans.ledger.counts(plan.seq) };
}

/** What anybody would write first. */
async function bare() {
  const started = performance.now();
  const db = new Database(join(folder, "bare.db"));
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("CREATE TABLE target (n INTEGER PRIMARY KEY, state TEXT)");
  const insert = db.prepare("INSERT INTO target VALUES (?, 'planned')");
  const update = db.prepare("UPDATE target SET state = ? WHERE n = ?");
  const write = db.transaction((ended: ReadonlyArray<readonly [string, number]>) => {
    for (const one of ended) update.run(...one);
  });
  db.transaction(() => hosts.forEach((_, nth) => void insert.run(nth)))();
  const [not_before, expires] = [new Date(), new Date(Date.now() + 86_400_000)].map((at) => at.toISOString());
  const about = {
    plan: "bare-plan",
    content,
    digest: digestOf(content),
    delivery_timeout_s: 10,
    timeout_s: 300,
  };
  for (let from = 0; from < hosts.length; from += 2_000) {
    const batch = hosts.slice(from, from + 2_000).map(async ({ hostId }, at) => {
      const nth = from + at;
      if (isDead.has(nth)) return ["unreachable", nth] as const;
      const job = { ...about, id: `bare-job-${nth}`, not_before: `${not_before}`, expires: `${expires}` };
      const body = JSON.stringify({ ...seal(job, "execute", hostId, key), content, wait_s: 10 });
      await ask(nth, { method: "POST", path: "/plans/jobs", body });
      return ["ok", nth] as const;
    });
    write(await Promise.all(batch));
  }
  db.close();
  return performance.now() - started;
}

const first = await run();
const again = await run();
const peak = peakBytes();
console.log(JSON.stringify({ first, again, peak, bareMs: await bare() }));
process.exit();
