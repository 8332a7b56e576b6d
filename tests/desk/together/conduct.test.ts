/** Conducting blocks, of hosts that do as a test says. */
import { describe, expect, test } from "bun:test";
import type { Host } from "../../../src/desk/fleet/host";
import { meetingsOf, partsOf } from "../../../src/desk/together/blocks";
import { conduct } from "../../../src/desk/together/conduct";
import {
  type BlockStep,
  codeOf,
  type HostJob,
  type HostResult,
  stepsOf,
} from "../../../src/desk/together/job";
import type { PreparedBlock, PreparedBranches } from "../../../src/desk/together/prepare";
import { Failure } from "../../../src/lib/errors";
import type { JobState } from "../../../src/wire/job/job";
import { host } from "../fleet/support";

/** A block whose parts may set any variable, and use these. */
function block(
  label: string,
  branch: number,
  body: readonly unknown[],
  more: Partial<PreparedBlock> = {},
  uses = ["order"],
) {
  const place = `[0].branches[${branch}][0]`;
  const parts = partsOf(body, "body").map((part) => ({
    ...part,
    ...{ commands: [], secrets: [], described: "", uses, sets: undefined },
  }));
  const target: Host = host(label);
  return { place, host: label, target, body, parts, share: [], variables: {}, timeout: 20, ...more };
}

const prepared = (...blocks: PreparedBlock[]): PreparedBranches => ({
  branches: blocks.map((one) => [one]),
  meetings: meetingsOf(
    blocks.map(({ parts }) => parts.flatMap(({ barrier }) => (barrier ? [barrier.name] : []))),
  ),
});

const done = (actions: readonly unknown[], values: Readonly<Record<string, unknown>> = {}): HostResult => ({
  state: "ok",
  result: {
    ...{ label: "", ok: true, status: "ok", delivered: true, duration_ms: 1, run_id: "r" },
    outcomes: actions.map((action) => {
      const name = /"AC_try",\{"body":\[\["AC_set_var",\{"name":"(\w+)"/.exec(JSON.stringify(action))?.[1];
      const inner = name === undefined || !(name in values) ? [] : [{ ok: true, result: values[name] }];
      return {
        command: "AC_x",
        ok: true,
        duration_ms: 1,
        ...(name !== undefined && { result: { outcomes: inner } }),
      };
    }),
  },
});

const ended = (state: JobState | undefined, delivered = true): HostResult => ({
  state,
  result: { label: "", ok: false, status: "failed", delivered, duration_ms: 1, error: "so it is" },
});

/** Resolves once the job is to end, as a host does that was asked to. */
const whenEnded = ({ signal }: HostJob) =>
  new Promise<HostResult>((resolve) => {
    const end = () => resolve(ended("cancelled"));
    if (signal.aborted) end();
    signal.addEventListener("abort", end);
  });

async function conducted(
  those: PreparedBranches,
  run: (job: HostJob) => Promise<HostResult>,
  { timeout = 20, known = {}, signal = new AbortController().signal } = {},
) {
  const steps: BlockStep[] = [];
  const jobs: HostJob[] = [];
  let maskers = 0;
  const uses = {
    run(job: HostJob) {
      jobs.push(job);
      return run(job);
    },
    shown: async (actions: readonly unknown[]) => [...actions],
    masker: (values: unknown) => {
      maskers++;
      return (text: string, most: number) =>
        Object.values(Object(values))
          .reduce((left: string, one) => left.replaceAll(`${one}`, "***"), text)
          .slice(0, most);
    },
    step: (step: BlockStep) => void steps.push(step),
  };
  const found = await conduct(those, known, timeout, uses, signal).catch((error) => error);
  return { found, steps, jobs, maskers, labels: jobs.map(({ target }) => target.label) };
}

const act = (nth: number) => ["AC_log", { message: `${nth}` }];
const meet = (name: string, timeout = 5) => ["AC_barrier", { name, timeout }];

test("the values of a part are gathered once, however much its host says of its steps", async () => {
  const those = prepared(
    block(
      "lab-1",
      0,
      Array.from({ length: 50 }, (_, nth) => act(nth)),
    ),
  );
  const { steps, maskers } = await conducted(those, async ({ actions }) => {
    const outcomes = actions.map(() => ({ ok: false, error: "x".repeat(20_000) }));
    return { state: "failed", result: { ...ended("failed").result, outcomes } } as unknown as HostResult;
  });
  expect([steps.length, steps[0]?.error?.length, maskers]).toEqual([50, 4_000, 1]);
});

describe("blocks side by side", () => {
  test("wait for each other at a barrier, and have then what was shared before it", async () => {
    const those = prepared(
      block("lab-1", 0, [act(0), meet("ready"), act(1)], { share: ["order"] }),
      block("lab-2", 1, [meet("ready"), act(2)]),
    );
    const order: string[] = [];
    const { found, jobs } = await conducted(those, async ({ target, actions }) => {
      order.push(`${target.label} ${JSON.stringify(actions[0])}`);
      return done(actions, { order: "A-17" });
    });
    expect(order[0]).toBe(`lab-1 ${JSON.stringify(act(0))}`);
    expect(order.toSorted()).toEqual(
      [0, 1].map((nth) => `lab-1 ${JSON.stringify(act(nth))}`).concat(`lab-2 ${JSON.stringify(act(2))}`),
    );
    expect(jobs.find(({ target }) => target.label === "lab-2")?.variables).toEqual({ order: "A-17" });
    expect(found.shared).toEqual({ order: "A-17" });
    expect(found.blocks).toMatchObject([
      { host: "lab-1", runs: ["r", "r"], actions: 2 },
      { host: "lab-2", runs: ["r"], actions: 1 },
    ]);
  });

  test("have what a branch shared as it was where they met it, and nothing of one they did not meet", async () => {
    const those = prepared(
      block("lab-1", 0, [act(0), meet("a"), act(1), meet("b")], { share: ["order"] }),
      block("lab-2", 1, [meet("a"), meet("c"), act(2), meet("d")]),
      block("lab-3", 2, [meet("b"), meet("c"), act(3), meet("d")]),
      block("lab-4", 3, [meet("d"), act(4)]),
    );
    let nth = 0;
    const { found, jobs } = await conducted(those, async ({ target, actions }) =>
      done(actions, target.label === "lab-1" ? { order: `v${++nth}` } : {}),
    );
    const given = (label: string) => jobs.findLast(({ target }) => target.label === label)?.variables;
    expect(given("lab-2")).toEqual({ order: "v1" });
    expect(given("lab-3")).toEqual({ order: "v2" });
    expect(given("lab-4")).toEqual({});
    expect(found.shared).toEqual({ order: "v2" });
  });

  test("get no value but those that they name, also where they compute the name of a variable", async () => {
    const those = prepared(block("lab-1", 0, [act(0)], { variables: { own: 1 } }), block("lab-2", 1, []));
    const known = { order: "A-17", password: "hunter2" };
    const { jobs } = await conducted(those, async ({ actions }) => done(actions), { known });
    expect(jobs[0]?.variables).toEqual({ order: "A-17", own: 1 });
  });

  test("tell no value that was given to a host", async () => {
    const those = prepared(block("lab-1", 0, [act(0)]), block("lab-2", 1, []));
    const error = 'holds "x", expected "hunter2"';
    const outcomes = [{ command: "AC_log", ok: false, error, duration_ms: 1 }];
    const { found, steps } = await conducted(
      those,
      async () => ({ state: "failed", result: { ...ended("failed").result, error, outcomes } }),
      { known: { order: "hunter2" } },
    );
    expect(found.message).toEndWith('holds "x", expected "***"');
    expect(steps).toMatchObject([{ error: 'holds "x", expected "***"' }]);
  });

  test("are unknown where another branch ended so beside a fault of this program", async () => {
    const those = prepared(block("lab-1", 0, [act(0)]), block("lab-2", 1, [act(1)]));
    const { found } = await conducted(those, async (job) => {
      if (job.target.label === "lab-1") throw new TypeError("a fault");
      return ended("unknown");
    });
    expect(found).toBeInstanceOf(Failure);
    expect(found.more.hosts).toEqual([
      { host: "lab-1", end: "unknown" },
      { host: "lab-2", end: "unknown" },
    ]);
  });

  test("tell of a fault of this program how far the others came, where that is unknown", async () => {
    const those = prepared(block("lab-1", 0, [act(0)]), block("lab-2", 1, [act(1)]));
    const nothing: unknown = {};
    const { found } = await conducted(those, async (job) =>
      job.target.label === "lab-1" ? (nothing as HostResult) : ended("unknown"),
    );
    expect(found).toBeInstanceOf(Failure);
    expect(found.more.hosts).toMatchObject([{ end: "failed" }, { end: "unknown" }]);
  });

  test("say of what could not be sent whether it may be sent again", async () => {
    for (const [failure, code] of [
      [new Failure("bad_input", "no"), "failed"],
      [new Failure("forbidden", "no"), "refused"],
      [new Failure("unavailable", "no"), "unreachable"],
    ] as const) {
      const those = prepared(block("lab-1", 0, [act(0)]), block("lab-2", 1, []));
      const { found } = await conducted(those, () => Promise.reject(failure));
      expect(found.more.code).toBe(code);
    }
  });

  test("may not share a text that no host takes: the failure names who did", async () => {
    const those = prepared(block("lab-1", 0, [act(0)], { share: ["order"] }), block("lab-2", 1, []));
    const { found } = await conducted(those, async ({ actions }) => done(actions, { order: "${= 1" }));
    expect(found.more).toMatchObject({ code: "failed", host: "lab-1" });
  });

  test("end with the first failure, which names host and step and says how far each came", async () => {
    const those = prepared(block("lab-1", 0, [act(0), act(1)]), block("lab-2", 1, [act(2)]));
    const { found, jobs } = await conducted(those, async (job) => {
      if (job.target.label === "lab-2") return whenEnded(job);
      const outcomes = [
        { command: "AC_log", ok: true, duration_ms: 1 },
        { command: "AC_log", ok: false, error: "no", duration_ms: 1 },
      ];
      return { state: "failed", result: { ...ended("failed").result, outcomes } };
    });
    expect(found).toBeInstanceOf(Failure);
    expect(found.message).toBe("lab-1: [0].branches[0][0].body[1] (AC_log): so it is");
    expect(found.more).toMatchObject({
      ...{ code: "failed", host: "lab-1", step: "[0].branches[0][0].body[1] (AC_log)" },
      hosts: [
        { host: "lab-1", end: "failed" },
        { host: "lab-2", end: "cancelled" },
      ],
    });
    expect(jobs.every(({ signal }) => signal.aborted)).toBe(true);
  });

  test("send nothing again of which nobody knows how it ended", async () => {
    for (const state of ["unknown", "interrupted", "lost", "unseen", undefined] as const) {
      const those = prepared(block("lab-1", 0, [act(0), act(1)]), block("lab-2", 1, []));
      const { found, labels, steps } = await conducted(those, async () => ended(state));
      expect(found.more).toMatchObject({ code: "unknown", host: "lab-1" });
      expect(found.message).toContain(
        "lab-1: [0].branches[0][0].body[0] to [1]: what became of it is unknown",
      );
      expect(labels).toEqual(["lab-1"]);
      expect(steps).toMatchObject([{ host: "lab-1", ok: null, error: "unknown" }]);
    }
  });

  test("give up at a barrier to which somebody does not come", async () => {
    const those = prepared(
      block("lab-1", 0, [meet("ready", 0.1)]),
      block("lab-2", 1, [act(0), meet("ready")]),
    );
    const { found } = await conducted(those, whenEnded);
    expect(found.more).toMatchObject({ code: "timeout", host: "lab-1" });
    expect(found.message).toContain("(AC_barrier): the barrier ready: lab-2 did not come within 0.1 s");
  });

  test("end with the time limit of all of them, whatever hosts do", async () => {
    const began = performance.now();
    const { found } = await conducted(
      prepared(block("lab-1", 0, [act(0)]), block("lab-2", 1, [act(1)])),
      whenEnded,
      { timeout: 0.2 },
    );
    expect(found.more.code).toBe("timeout");
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  test("begin nothing more once their caller has left", async () => {
    const left = new AbortController();
    const those = prepared(block("lab-1", 0, [act(0), meet("a"), act(1)]), block("lab-2", 1, [meet("a")]));
    const { found, labels } = await conducted(
      those,
      (job) => {
        left.abort();
        return whenEnded(job);
      },
      { signal: left.signal },
    );
    expect(found.code).toBe("cancelled");
    expect(labels).toEqual(["lab-1"]);
  });

  test("fail where a shared variable was not set in the end", async () => {
    const those = prepared(block("lab-1", 0, [act(0)], { share: ["x"] }), block("lab-2", 1, []));
    const { found } = await conducted(those, async ({ actions }) => done(actions));
    expect(found.message).toBe("lab-1: [0].branches[0][0].body: share: x was not set, or to null");
  });
});

test("whether a job ran is decided by its state, not by words", () => {
  const codes = (["ok", "failed", "refused", "offline", "cancelled", "expired", "timeout"] as const).map(
    (state) => [state, codeOf(ended(state))],
  );
  expect(codes).toEqual([
    ["ok", "ok"],
    ["failed", "failed"],
    ["refused", "refused"],
    ["offline", "unreachable"],
    ["cancelled", "cancelled"],
    ["expired", "expired"],
    ["timeout", "unknown"],
  ]);
  expect(codeOf({ state: "timeout", result: { ...ended("timeout").result, run_id: "r" } })).toBe("timeout");
  expect(codeOf(ended(undefined, false))).toBe("cancelled");
});

test("steps stay within the time of their part, whatever their host says", () => {
  const said = [-5, 1e308, Number.POSITIVE_INFINITY, Number.NaN, 3];
  const steps = stepsOf({
    ...{ host: "lab-1", place: "body", from: 0, at_ms: 100, took_ms: 50, code: "ok" },
    shown: said.map((nth) => act(nth)),
    outcomes: said.map((duration_ms) => ({ ok: true, duration_ms })),
  });
  expect(steps.map(({ at_ms, duration_ms }) => [at_ms, duration_ms])).toEqual([
    [100, 0],
    [100, 50],
    [150, null],
    [150, null],
    [150, 0],
  ]);
});
