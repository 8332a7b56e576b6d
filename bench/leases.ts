/**
 * Leases of agents: how long after *Stop*, after a person's first move of the pointer and after the last second an agent that acts all the time
 * has ended, with keys released; and how much it did after that.
 *
 * The desktop is one on demand, with the hands of the compiled binary; the person is another client of its X server. What an agent
 * did after the end is counted as calls that begin at the desktop. Times are divided by the 200 ms that they may be.
 */

import { localCaller } from "../src/core/caller";
import { createApprovals } from "../src/host/approvals/approvals";
import { createDesktop, type Desktop } from "../src/host/desktop/desktop";
import { createDesktops, type DesktopLease } from "../src/host/desktops/desktops";
import { requireTools } from "../src/host/desktops/tools";
import type { Terms } from "../src/host/leases/lease";
import { Leases } from "../src/host/leases/leases";
import { offeredInLease } from "../src/host/mcp/toolsets";
import { silentLog } from "../src/lib/log";
import { operations } from "../src/operations";
import { BINARY, type Figure, median } from "./support";

const PROGRAMS = ["Xvfb", "openbox", "dbus-daemon"];
/** Of each way to end. */
const TRIES = Math.ceil(Number(process.env.SVC_BENCH_LEASES ?? 1_000) / 3);
const ALLOWED_MS = 200;
/** A lease is this long, at the least, before it is ended, in milliseconds; each try has another moment. */
const BEGUN_MS = 20;
const SPREAD_MS = 37;
const MOUSE_MS = 8;

const TERMS: Terms = {
  ...{ what: "act all the time", minutes: 1, desktop: "session", toolsets: ["desktop"], windows: [] },
  ...{ programs: [], actions: 10_000, secrets: [], start: [], record: false },
};
const AGENT = { name: "agent", scopes: ["screen" as const] };
const OWNER = { name: null, scopes: ["admin" as const] };

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0)
    return [{ name: "leases", ratio: Number.NaN, goal: "<= 1", detail: `needs ${missing.join(", ")}` }];
  const all = createDesktops({
    ...{ log: silentLog, publish: () => {}, env: process.env },
    tools: () => requireTools(process.env),
    account: async () => undefined,
    createDesktop: async (session, lockFile) => handsOn(session, lockFile),
  });
  const signal = new AbortController().signal;
  const place = await all.lease({ name: "new" }, "benchmark", { token: null, share: null, signal });
  const person = handsOn(place.session, "/nowhere/person.lock");
  try {
    // Its hands start with their first call.
    await person.pointer();
    const ways: ReadonlyArray<readonly [string, Way]> = [
      ["Stop", async ({ leases, id }) => void leases.end(id, "somebody stopped it")],
      ["a person's first move", async ({ leases, id }) => movesUntilEnded(person, leases, id)],
      ["its last second", async ({ until }) => Bun.sleep(Math.max(0, until - performance.now()))],
    ];
    const figures: Figure[] = [];
    let after = 0;
    for (const [name, how] of ways) {
      const times: number[] = [];
      for (let at = 0; at < TRIES; at++) {
        const one = await tried(place, how, name === "its last second", BEGUN_MS + (at % SPREAD_MS));
        times.push(one.ms);
        after += one.after;
      }
      const most = Math.max(...times);
      figures.push({
        ...{ name: `a lease has ended after ${name}, of ${TRIES}`, ratio: most / ALLOWED_MS, goal: "<= 1" },
        detail: `${Math.round(median(times))} ms, ${Math.round(most)} ms at most; allowed ${ALLOWED_MS}`,
      });
    }
    figures.push({
      ...{ name: `acts after the end of a lease, of ${3 * TRIES}`, ratio: after, goal: "<= 0" },
      detail: `${after} calls of pointer and keyboard begun after the end`,
    });
    return figures;
  } finally {
    await person.stop();
    await all.stop();
  }
}

type Way = (lease: {
  readonly leases: Leases;
  readonly id: string;
  /** When its time is up. */
  readonly until: number;
}) => Promise<void>;

const handsOn = ({ env, as }: DesktopLease["session"], lockFile: string): Desktop =>
  createDesktop({
    ...{ env, as, lockFile, imagesFolder: "/nowhere", ocrFolder: "/nowhere", log: silentLog },
    command: [BINARY, "desktop-child"],
  });

/** As a person does: a mouse reports a move every eight milliseconds. */
async function movesUntilEnded(person: Desktop, leases: Leases, id: string): Promise<void> {
  for (let at = 0; leases.show(id).state !== "ended"; at++) {
    await person.move({ x: 700 + (at % 200), y: 500 });
    await Bun.sleep(MOUSE_MS);
  }
}

/** One lease, whose agent holds a key and clicks all the time. @param ms how long it goes on before it is ended. */
async function tried(place: DesktopLease, how: Way, isTimed: boolean, ms: number) {
  const approvals = createApprovals({});
  const over = Promise.withResolvers<number>();
  let hasEnded = () => false;
  let after = 0;
  const desktop = new Proxy(place.desktop, {
    get(whole, name) {
      if ((name === "click" || name === "strike") && hasEnded()) after++;
      return Reflect.get(whole, name);
    },
  });
  const leases = new Leases({
    log: silentLog,
    publish: (type) => type.name === "lease.ended" && over.resolve(performance.now()),
    approvals: async () => approvals,
    open: async () => ({ name: null, desktop, launch: async () => {}, end: async () => {} }),
    record: async () => {},
    untilRevoked: () => new AbortController().signal,
    offered: offeredInLease,
    operation: async (wanted) => operations.find(({ name }) => name === wanted) ?? fail(wanted),
    async perform(_operation, _input, hands) {
      await hands.strike(["shift"], "press");
      for (let at = 0; ; at++) await hands.click({ x: 100 + (at % 300), y: 100 }, "left", "tap");
    },
    secrets: async () => new Map(),
    film: async () => async () => {},
    ...(isTimed && { minuteMs: ms }),
  });
  const caller = { grant: AGENT, client: null };
  const { id } = await leases.request(TERMS, { holder: "agent", agent: "bench", caller });
  approvals.decide(id, "allowed", OWNER);
  const begun = await leases.wait(id, 10_000, new AbortController().signal);
  if (begun.state !== "active" && !isTimed) throw new Error(`${begun.reason}`);
  const until = performance.now() + ms;
  hasEnded = () => leases.show(id).state === "ended";
  const call = { id, holder: "agent", operation: "desktop.click_mouse", input: {} };
  const using = leases
    .use(call, localCaller({ audit: async () => null }, "api", { grant: AGENT }))
    .catch(() => {});
  if (!isTimed) await Bun.sleep(ms);
  const began = isTimed ? until : performance.now();
  await how({ leases, id, until });
  const ended = await over.promise;
  await using;
  return { ms: Math.max(0, ended - began), after };
}

function fail(name: string): never {
  throw new Error(`no operation ${name}`);
}
