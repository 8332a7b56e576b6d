/** The ledger of plans: every host in exactly one state, and what is committed stays. */

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { openLedger } from "../../../../src/desk/plans/ledger/ledger";
import {
  END_STATES,
  FAILURES,
  jobId,
  RETRIABLE,
  STEPS,
  type StepName,
  TARGET_STATES,
  type TargetState,
  wavesOf,
} from "../../../../src/desk/plans/plan";
import { digestOfPlan } from "../../../../src/wire/job/plan-digest";
import { newPlan, plannedHosts, specOf, testLedger } from "../support";

const names = Object.keys(STEPS) as StepName[];
const isEnd = (state: TargetState) => (END_STATES as readonly string[]).includes(state);
const sum = (counts: Readonly<Partial<Record<string, number>>>) =>
  Object.values(counts).reduce<number>((all, one = 0) => all + one, 0);

test("that a plan has not expired is known while another process writes", () => {
  using made = testLedger();
  const hosts = plannedHosts(1);
  const { seq } = made.ledger.create(newPlan(hosts), hosts, 0);
  made.ledger.apply(seq, null, 0);
  using other = new Database(made.path);
  other.run("BEGIN IMMEDIATE");
  expect(made.ledger.expire(seq, 1)).toBeUndefined();
});

describe("a plan", () => {
  test("has waves that each begin some hosts, and end with all of them", () => {
    expect(wavesOf(["1", "10%", "100%"], 200)).toEqual([1, 20, 200]);
    expect(wavesOf(["1", "10%", "100%"], 3)).toEqual([1, 3]);
    expect(wavesOf(["5", "20%"], 9)).toEqual([5, 9]);
    expect(wavesOf([], 4)).toEqual([4]);
    const share = fc.oneof(
      fc.integer({ min: 1, max: 50 }).map(String),
      fc.integer({ min: 1, max: 100 }).map((percent) => `${percent}%`),
    );
    const growing = fc
      .array(share)
      .map((shares) => shares.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)));
    fc.assert(
      fc.property(growing, fc.integer({ min: 1, max: 1_000 }), (shares, total) => {
        const waves = wavesOf(shares, total);
        expect(waves.at(-1)).toBe(total);
        expect(waves).toEqual([...new Set(waves)].toSorted((a, b) => a - b));
        expect(waves[0]).toBeGreaterThan(0);
      }),
    );
  });

  test("has no wave without a host, and none smaller than the one before", () => {
    expect(() => wavesOf(["0"], 9)).toThrow("waves: expected 1 or more hosts in each, not 0");
    expect(() => wavesOf(["1", "0%"], 9)).toThrow("not 0%");
    expect(() => wavesOf(["5", "20%", "2"], 9)).toThrow("2 follows 5");
    expect(() => wavesOf(["100%", "50%"], 9)).toThrow("50% follows 100%");
  });

  test("has another digest when anything that it does is another", () => {
    const hosts = plannedHosts(2);
    const digest = (...given: Parameters<typeof digestOfPlan>) => digestOfPlan(...given);
    const first = digest("c", specOf(2), hosts);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    const others = [
      digest("d", specOf(2), hosts),
      digest("c", specOf(2, { waves: [1, 2] }), hosts),
      digest("c", specOf(2, { queue: true }), hosts),
      digest("c", specOf(2), hosts.toReversed()),
      digest("c", specOf(2), [{ label: "h0", identity: "another" }, ...hosts.slice(1)]),
    ];
    expect(new Set([first, ...others]).size).toBe(6);
    expect(digest("c", specOf(2), plannedHosts(2))).toBe(first);
  });

  test("names the job of a host the same way again, and each attempt another", () => {
    const id = jobId("a", 3, 0);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(jobId("a", 3, 0)).toBe(id);
    expect(new Set([id, jobId("a", 3, 1), jobId("a", 4, 0), jobId("b", 3, 0)]).size).toBe(4);
  });
});

describe("the table of steps", () => {
  test("reaches every state, and leaves an end state only to retry what is not ok", () => {
    expect(new Set(names.map((name) => STEPS[name].to))).toEqual(new Set(TARGET_STATES));
    for (const name of names) {
      const left = (STEPS[name].from as readonly TargetState[]).filter(isEnd);
      expect(left).toEqual(name === "retry" ? RETRIABLE : []);
    }
    expect(RETRIABLE).not.toContain("ok");
  });
});

describe("a job that was cancelled", () => {
  const ended = () => {
    const made = testLedger();
    const hosts = plannedHosts(3);
    const { seq } = made.ledger.create(newPlan(hosts), hosts, 0);
    made.ledger.apply(seq, null, 0);
    const step = (n: number, name: StepName, way?: "job") => ({ plan: seq, n, attempt: 0, step: name, way });
    made.ledger.commit(
      [0, 1, 2].map((n) => step(n, "send", "job")),
      1,
    );
    made.ledger.commit([step(0, "cancelled"), step(1, "stopped"), step(2, "failed")], 2);
    return { ...made, seq, [Symbol.dispose]: () => made[Symbol.dispose]() };
  };

  test("has a time at which it was sent where it had begun alone", () => {
    using made = ended();
    expect(made.ledger.targets(made.seq)).toMatchObject([
      { state: "cancelled", sent_at: null },
      { state: "cancelled", sent_at: 1 },
      { state: "failed", sent_at: 1 },
    ]);
  });

  test("is repeated by itself only where it had not begun", () => {
    using made = ended();
    expect(made.ledger.retry(made.seq, undefined, 3).retried).toBe(2);
    expect(made.ledger.targets(made.seq).map(({ attempt }) => attempt)).toEqual([1, 0, 1]);
    expect(made.ledger.retry(made.seq, ["cancelled"], 4).retried).toBe(1);
  });
});

test("a job that was cut off in the middle is repeated where `unknown` is named alone", () => {
  using made = testLedger();
  const { ledger } = made;
  const hosts = plannedHosts(2);
  const { seq } = ledger.create(newPlan(hosts), hosts, 0);
  ledger.apply(seq, null, 0);
  const about = { plan: seq, attempt: 0 };
  const sent = hosts.map((_, n) => ({ ...about, n, step: "send", way: "job" }) as const);
  // Whatever the texts say.
  const error = "AC_sleep: the process that runs it is stopping";
  const ends = (["interrupted", "failed"] as const).map((step, n) => ({ ...about, n, step, error }));
  ledger.commit([...sent, ...ends], 1);
  expect(ledger.retry(seq, undefined, 2).retried).toBe(1);
  expect(ledger.targets(seq).map(({ state, attempt }) => [state, attempt])).toEqual([
    ["unknown", 0],
    ["planned", 1],
  ]);
  expect(ledger.retry(seq, ["unknown"], 3).retried).toBe(1);
});

describe("a ledger", () => {
  test("has every host in one state that the table allows, whatever happens in whatever order", () => {
    using made = testLedger();
    const { ledger } = made;
    const HOSTS = 6;
    const step = fc.record({
      n: fc.nat(HOSTS - 1),
      attempt: fc.constantFrom(0, 0, 0, 1, 2),
      step: fc.constantFrom(...names.filter((name) => name !== "retry")),
    });
    const batch = fc.array(step, { maxLength: 8 });
    const decision = fc.constantFrom("pause", "resume", "cancel", "expire", "retry" as const);
    fc.assert(
      fc.property(fc.array(fc.oneof(batch, decision), { maxLength: 25 }), (events) => {
        const plan = ledger.create(newPlan(plannedHosts(HOSTS)), plannedHosts(HOSTS), 0);
        ledger.apply(plan.seq, null, 0);
        const states = () => ledger.targets(plan.seq).map(({ state }) => state);
        for (const event of events) {
          const before = states();
          if (event === "retry") ledger.retry(plan.seq, ["failed", "cancelled", "expired"], 0);
          else if (event === "expire") ledger.expire(plan.seq, 3_600_001);
          else if (typeof event === "string") {
            try {
              if (event === "pause") ledger.pause(plan.seq, "by hand");
              else if (event === "resume") ledger.resume(plan.seq);
              else ledger.cancel(plan.seq, "by hand", 1);
            } catch (error) {
              expect(String(error)).toContain("only one that is");
            }
          } else {
            const expected = [...before];
            const attempts = ledger.targets(plan.seq).map(({ attempt }) => attempt);
            const allowed = event.map(({ n, attempt, step: name }) => {
              const isPossible = (STEPS[name].from as readonly TargetState[]).includes(
                expected[n] as TargetState,
              );
              const fits = isPossible && attempt === attempts[n];
              if (fits) expected[n] = STEPS[name].to;
              return fits;
            });
            const steps = event.map((one) => ({ plan: plan.seq, ...one }));
            expect(ledger.commit(steps, 1)).toEqual(allowed);
            expect(states()).toEqual(expected);
          }
          const after = states();
          expect(sum(ledger.counts(plan.seq))).toBe(HOSTS);
          const left = before.filter((state, n) => isEnd(state) && after[n] !== state);
          expect(event === "retry" ? left.filter((state) => state === "ok") : left).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("counts the failures, and those of before a plan was resumed no more", () => {
    using made = testLedger();
    const { ledger } = made;
    const { seq } = ledger.create(newPlan(plannedHosts(3)), plannedHosts(3), 0);
    ledger.apply(seq, "anna", 5);
    ledger.commit([{ plan: seq, n: 0, attempt: 0, step: "unreachable", error: "connection refused" }], 6);
    ledger.commit([{ plan: seq, n: 1, attempt: 0, step: "expired" }], 6);
    expect(ledger.targets(seq, FAILURES)).toHaveLength(1);
    ledger.pause(seq, "too many");
    expect(ledger.resume(seq)).toMatchObject({ state: "running", forgiven: 1, token: "anna", reason: null });
    const [first] = ledger.targets(seq);
    expect(first).toMatchObject({ state: "unreachable", error: "connection refused", done_at: 6 });
    expect(ledger.retry(seq, ["unreachable"], 9)).toMatchObject({ retried: 1, plan: { expires: 3_600_009 } });
    expect(ledger.targets(seq)[0]).toMatchObject({ state: "planned", error: null, attempt: 1 });
  });

  test("puts hosts into their waves, and finds a plan by the beginning of its id", () => {
    using made = testLedger();
    const { ledger } = made;
    const hosts = plannedHosts(5);
    const plan = ledger.create(newPlan(hosts, { waves: [1, 3, 5] }, "abcd-1"), hosts, 0);
    ledger.create(newPlan(hosts, {}, "abcd-2"), hosts, 0);
    expect(ledger.targets(plan.seq).map(({ wave }) => wave)).toEqual([0, 1, 1, 2, 2]);
    expect(ledger.find("abcd-1").seq).toBe(plan.seq);
    expect(() => ledger.find("abcd")).toThrow("several plans begin with abcd");
    expect(() => ledger.find("x")).toThrow("there is no plan x");
    expect(ledger.plans().map(({ id }) => id)).toEqual(["abcd-2", "abcd-1"]);
    expect(ledger.remove([plan])).toEqual([plan]);
    expect(ledger.targets(plan.seq)).toEqual([]);
    expect(ledger.plans({ open: true })).toEqual([]);
  });

  test("that has begun and is not over is not forgotten, whoever has applied it meanwhile", () => {
    using made = testLedger();
    const { ledger } = made;
    const hosts = plannedHosts(2);
    const plan = ledger.create(newPlan(hosts), hosts, 0);
    ledger.apply(plan.seq, null, 1);
    expect(ledger.remove([plan])).toEqual([]);
    ledger.commit([{ plan: plan.seq, n: 0, attempt: 0, step: "send", way: "job" }], 2);
    ledger.cancel(plan.seq, "by anna", 3);
    expect(ledger.remove([plan])).toEqual([]);
    expect(ledger.counts(plan.seq)).toEqual({ sent: 1, cancelled: 1 });
    ledger.update(plan.seq, ledger.plan(plan.seq).revision, { ended: 4 });
    expect(ledger.remove([plan])).toEqual([plan]);
  });

  test("names what holds up a host: no broadcast that runs, but what one has left", () => {
    using made = testLedger();
    const { ledger } = made;
    const hosts = plannedHosts(1);
    const applied = (kind: "plan" | "broadcast", now: number) => {
      const { seq } = ledger.create(newPlan(hosts, { kind }), hosts, 0);
      return ledger.apply(seq, null, now);
    };
    const before = () => ledger.plansBefore(plan, ["h0"]).get("h0")?.id;
    const broadcast = applied("broadcast", 1);
    ledger.commit([{ plan: broadcast.seq, n: 0, attempt: 0, step: "send", way: "job" }], 2);
    const plan = applied("plan", 3);
    expect(before()).toBeUndefined();
    ledger.cancel(broadcast.seq, "its process has ended", 4);
    expect(before()).toBe(broadcast.id);
  });

  test("repeats no plan that was never applied", () => {
    using made = testLedger();
    const { ledger } = made;
    const hosts = plannedHosts(1);
    const { seq } = ledger.create(newPlan(hosts), hosts, 0);
    ledger.cancel(seq, "by anna", 1);
    expect(() => ledger.retry(seq, undefined, 2)).toThrow("was cancelled before it was applied");
    expect(ledger.plan(seq)).toMatchObject({ state: "cancelled", applied: null, ended: 1 });
  });

  test("takes what follows from an earlier decision from nobody", () => {
    using made = testLedger();
    const { ledger } = made;
    const hosts = plannedHosts(1);
    const { seq } = ledger.create(newPlan(hosts), hosts, 0);
    const { revision } = ledger.apply(seq, null, 1);
    const paused = ledger.pause(seq, "by anna");
    expect(ledger.update(seq, revision, { state: "done", ended: 2 })).toBe(false);
    ledger.resume(seq);
    expect(() => ledger.pause(seq, "1 failed", paused.revision)).toThrow("has changed meanwhile");
    expect(() => ledger.cancel(seq, "its token was revoked", 3, paused.revision)).toThrow("has changed");
    expect(ledger.plan(seq)).toMatchObject({ state: "running", ended: null });
  });

  test("has what it has committed after its process was killed", async () => {
    using made = testLedger();
    const { ledger, path } = made;
    const hosts = plannedHosts(500);
    const { seq } = ledger.create(newPlan(hosts), hosts, 0);
    ledger.apply(seq, null, 0);
    const module = join(
      import.meta.dir,
      "..",
      "..",
      "..",
      "..",
      "src",
      "desk",
      "plans",
      "ledger",
      "ledger.ts",
    );
    const program = `
      const { openLedger } = await import(${JSON.stringify(module)});
      const ledger = openLedger(${JSON.stringify(path)});
      for (let n = 0; n < 500; n++) {
        ledger.commit([{ plan: ${seq}, n, attempt: 0, step: "send", way: "job" }, { plan: ${seq}, n, attempt: 0, step: "ok" }], 1);
        process.stdout.write(n + "\\n");
      }`;
    const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "inherit" });
    let printed = "";
    for await (const piece of child.stdout) {
      printed += new TextDecoder().decode(piece);
      if (printed.length > 60) child.kill("SIGKILL");
    }
    const committed = printed.split("\n").length - 1;
    const again = openLedger(path);
    try {
      const { ok = 0, planned = 0 } = again.counts(seq);
      expect(ok).toBeGreaterThanOrEqual(committed);
      expect(ok + planned).toBe(500);
    } finally {
      again.close();
    }
  });
});

test("a prefix counts only the plans that its caller may see", () => {
  using made = testLedger();
  const hosts = plannedHosts(1);
  for (const id of ["ab-1", "ab-2"]) made.ledger.create(newPlan(hosts, {}, id), hosts, 0);
  expect(() => made.ledger.find("ab")).toThrow("several plans begin with ab");
  expect(made.ledger.find("ab", ({ id }) => id === "ab-2").id).toBe("ab-2");
  expect(() => made.ledger.find("ab", () => false)).toThrow("there is no plan ab");
});

test("a file of the first version, with a column more, is used as it is", () => {
  using made = testLedger();
  const hosts = plannedHosts(2);
  const first = made.ledger.create(newPlan(hosts), hosts, 1);
  made.ledger.close();
  const old = new Database(made.path);
  old.run("ALTER TABLE plan ADD COLUMN scopes TEXT NOT NULL DEFAULT ''");
  old.close();
  const ledger = openLedger(made.path);
  expect(ledger.create(newPlan(hosts), hosts, 2)).toMatchObject({ hosts: 2, state: "new" });
  expect(ledger.apply(first.seq, "anna", 3)).toMatchObject({ id: first.id, token: "anna", state: "running" });
  ledger.close();
});
