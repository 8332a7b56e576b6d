/** The simulated hosts that benches and soaks rely on: the same seed makes the same faults, and a fault in svc would be seen. */
import { expect, test } from "bun:test";
import { createFleet, faultsIn, NO_FAULTS } from "../../bench/programs/sim-host";
import { addressOf, identityOf, parseShare, seeded, shareOf } from "../../bench/programs/sim-seed";
import { hostIdOf, isSignedBy } from "../../src/trust/identity";
import { nextTurn } from "../support";

const FAULTS = { dead: 0.1, slow: 0.2, lose: 0.3, dup: 0.1, skewMs: 5_000, flapMs: 10_000 };
const NOW = Date.UTC(2026, 0, 1);

/** A clock that stands still until it is put forward. */
function clock(start = NOW) {
  let now = start;
  const waiting = new Set<{ until: number; wake: () => void }>();
  return {
    now: () => now,
    sleep: (ms: number) => new Promise<void>((wake) => void waiting.add({ until: now + ms, wake })),
    async advance(ms: number) {
      now += ms;
      for (const one of waiting) if (one.until <= now && waiting.delete(one)) one.wake();
      await nextTurn();
    },
  };
}

const envelopeOf = (id: string, plan: string, from: number, until: number) =>
  JSON.stringify({ v: 1, id, plan, nbf: new Date(from).toISOString(), exp: new Date(until).toISOString() });

const job = (
  id: string,
  { plan = "plan", from = NOW - 1_000, until = NOW + 60_000, ...more } = {} as {
    plan?: string;
    from?: number;
    until?: number;
    content?: undefined;
    wait_s?: number;
  },
) => {
  const body = { envelope: envelopeOf(id, plan, from, until), content: "{}", wait_s: 0, ...more };
  return ["POST", "/plans/jobs", JSON.stringify(body)] as const;
};

/** The same without the content. */
const asking = (id: string) => job(id, { content: undefined });

const cancelling = (id: string) => {
  const body = { envelope: envelopeOf(id, "plan", NOW, NOW + 60_000) };
  return ["POST", "/plans/jobs/cancel", JSON.stringify(body)] as const;
};

test("one seed makes one fleet: the same dead hosts, fates, links and identities, whoever is asked first", () => {
  const described = (order: readonly number[]) => {
    const { hosts } = createFleet(50, 7, FAULTS);
    const of = (nth: number) => {
      const host = hosts[nth];
      return [
        host?.isDead,
        ...Array.from({ length: 20 }, () => host?.fate()),
        host?.linkMs(),
        host?.linkMs(),
      ];
    };
    return new Map(order.map((nth) => [nth, of(nth)]));
  };
  const numbers = Array.from({ length: 50 }, (_, nth) => nth);
  const [forth, back] = [described(numbers), described(numbers.toReversed())];
  expect(numbers.map((nth) => forth.get(nth))).toEqual(numbers.map((nth) => back.get(nth)));
  expect(createFleet(50, 8, FAULTS).hosts.map((host) => host.fate())).not.toEqual(
    createFleet(50, 7, FAULTS).hosts.map((host) => host.fate()),
  );
  expect(identityOf(7, 3).publicKey).toBe(identityOf(7, 3).publicKey);
  expect(identityOf(7, 3).publicKey).not.toBe(identityOf(7, 4).publicKey);
});

test("shares are exact, and the fates of many requests are near theirs", () => {
  expect(shareOf(50_000, 0.1, seeded(1, "dead")).size).toBe(5_000);
  expect(shareOf(3, 1, seeded(1, "dead"))).toEqual(new Set([0, 1, 2]));
  expect(parseShare("0.1%")).toBeCloseTo(0.001);
  for (const wrong of ["10", "-1%", "101%", "ten"]) expect(() => parseShare(wrong)).toThrow("such as 10%");
  const fates = Array.from({ length: 10_000 }, createFleet(1, 1, FAULTS).hosts[0]?.fate ?? (() => null));
  const share = (is: (fate: (typeof fates)[number]) => unknown) => fates.filter(is).length / fates.length;
  expect(share((fate) => fate?.lost === "request")).toBeCloseTo(0.15, 1);
  expect(share((fate) => fate?.lost === "answer")).toBeCloseTo(0.15, 1);
  expect(share((fate) => fate?.twice)).toBeCloseTo(0.1, 1);
});

test("each host has an address of 127/8 and an identity that svc verifies", () => {
  const addresses = new Set(Array.from({ length: 50_000 }, (_, nth) => addressOf(nth)));
  expect(addresses.size).toBe(50_000);
  for (const address of addresses) expect(address).toMatch(/^127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$/);
  const { publicKey, hostId, sign } = identityOf("seed", 1);
  expect(hostId).toBe(hostIdOf(publicKey));
  expect(isSignedBy(publicKey, "a message", sign("a message"))).toBe(true);
});

test("a job runs once and is remembered, also through a crash in its middle", async () => {
  const time = clock();
  const {
    hosts: [host],
    runs,
  } = createFleet(1, 1, NO_FAULTS, { runMs: 1_000, clock: time });
  expect(await host?.answer(...job("a"))).toMatchObject({
    body: { id: "a", state: "running", outcome: null },
  });
  await time.advance(1_000);
  expect(await host?.answer(...job("a"))).toMatchObject({ body: { state: "done", outcome: { ok: true } } });
  await host?.answer(...job("b"));
  host?.crash();
  await time.advance(1_000);
  expect(await host?.answer(...asking("b"))).toMatchObject({ body: { state: "interrupted", outcome: null } });
  expect(await host?.answer(...job("b"))).toMatchObject({ body: { state: "interrupted" } });
  expect(runs.map((run) => run.job)).toEqual(["a", "b"]);
});

test("a host waits for the end of a run as long as it is asked to", async () => {
  const time = clock();
  const [host] = createFleet(1, 1, NO_FAULTS, { runMs: 1_000, clock: time }).hosts;
  const answered = host?.answer(...job("a", { wait_s: 5 }));
  await time.advance(1_000);
  expect(await answered).toMatchObject({ body: { state: "done" } });
});

test("a host runs nothing that its own clock calls expired or early", async () => {
  const skewed = { ...NO_FAULTS, skewMs: 400_000 };
  const { hosts, runs } = createFleet(40, 1, skewed, { clock: clock() });
  const answers = await Promise.all(
    hosts.map((host) => host.answer(...job(`${host.nth}`, { from: NOW, until: NOW + 50_000 }))),
  );
  const done = answers.filter(({ body }) => (body as { state?: string }).state === "done");
  expect(answers).toContainEqual({ status: 409, body: { error: "this job is not to begin yet" } });
  expect(answers).toContainEqual({ status: 200, body: expect.objectContaining({ state: "expired" }) });
  expect(runs).toHaveLength(done.length);
});

test("a host runs nothing that was only asked for, and nothing that was cancelled before it came", async () => {
  const { hosts, runs } = createFleet(1, 1);
  const [host] = hosts;
  const until = Date.now() + 60_000;
  expect(await host?.answer(...asking("a"))).toMatchObject({ body: { state: "expired" } });
  expect(await host?.answer(...job("a", { until, content: undefined }))).toMatchObject({
    body: { state: "unseen" },
  });
  expect(await host?.answer(...cancelling("b"))).toMatchObject({ body: { state: "cancelled" } });
  expect(await host?.answer(...job("b", { until }))).toMatchObject({
    body: { state: "cancelled", outcome: null },
  });
  expect(runs).toEqual([]);
});

test("two runs of a plan on one host and runs of expired work are faults", () => {
  const run = { host: 1, plan: "p", job: "a", at: 100, expires: 200 };
  expect(faultsIn([run, { ...run, plan: "q" }, { ...run, host: 2 }], 0)).toEqual([]);
  expect(faultsIn([run, { ...run, job: "b" }], 0)).toEqual(["sim-1 ran plan p twice: as a and as b"]);
  expect(faultsIn([{ ...run, at: 260 }], 50)).toEqual(["sim-1 ran a 60 ms after it had expired"]);
  expect(faultsIn([{ ...run, at: 240 }], 50)).toEqual([]);
});
