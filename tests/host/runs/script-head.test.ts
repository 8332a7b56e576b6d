/** What a script file says of its own run, and what that is worth for runs, stored scripts, called scripts and jobs. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseScript } from "../../../src/core/script";
import { withDefaults } from "../../../src/core/script-head";
import { post, SVC, testServer, until } from "../../support";

const FAILS = ["AC_fail", ["no"]];
const NEXT = ["AC_sleep", { seconds: 0 }];

/** What these tests look at of answers. */
interface Answer {
  readonly run_id: string;
  readonly status: string;
  readonly ok: boolean;
  readonly outcomes: readonly unknown[];
  readonly log?: ReadonlyArray<{ readonly message: string }>;
  readonly error: string;
  readonly options: unknown;
  readonly variables: { readonly unset: readonly string[] };
  readonly jobs: readonly unknown[];
}

/** A server with a folder of scripts. */
async function serverWith(files: Record<string, unknown>) {
  const host = await testServer();
  const pathOf = (name: string) => join(host.configDir, name);
  for (const [name, content] of Object.entries(files)) writeFileSync(pathOf(name), JSON.stringify(content));
  const read = async (answer: Response | Promise<Response>) => (await (await answer).json()) as Answer;
  const answer = (path: string, body: object) => read(host.call(path, post(body)));
  return {
    host,
    pathOf,
    answer,
    run: (name: string, options = {}) => answer("/execute_file", { path: pathOf(name), ...options }),
    /** Runs a job that is in the file. @returns its outcomes. */
    async runJob(job_id: string) {
      const { run_id } = await answer("/jobs/run", { job_id });
      const shown = () => read(host.call(`/runs/${run_id}`));
      await until("its end", async () => !/^(running|waiting)$/.test((await shown()).status));
      return shown();
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

describe("a file that is an object with actions", () => {
  test("stops at the first failure, and a plain list or one in auto_control goes on", async () => {
    await using made = await serverWith({
      "head.json": { actions: [FAILS, NEXT] },
      "on.json": { stop_on_error: false, actions: [FAILS, NEXT] },
      "list.json": [FAILS, NEXT],
      "auto.json": { auto_control: [FAILS, NEXT] },
    });
    const ran = async (name: string, options = {}) => (await made.run(name, options)).outcomes.length;
    expect(await ran("head.json")).toBe(1);
    expect(await ran("on.json")).toBe(2);
    expect(await ran("head.json", { stop_on_error: false })).toBe(2);
    expect(await ran("list.json")).toBe(2);
    expect(await ran("auto.json")).toBe(2);
  });

  test("has its own deadline, and values for variables that nobody gives", async () => {
    const log = ["AC_log", { message: "${who} ${what}" }];
    await using made = await serverWith({
      "late.json": { timeout: "0.05s", actions: [["AC_sleep", { seconds: 20 }]] },
      "names.json": { variables: { who: "Annabel", what: 1 }, actions: [log] },
      "calls.json": [["AC_run_script", { path: "names.json", variables: { who: "Robert" } }]],
    });
    expect((await made.run("late.json")).status).toBe("timeout");
    const said = async (name: string, options = {}) => (await made.run(name, options)).log?.[0]?.message;
    // What is given may be secret.
    expect(await said("names.json")).toBe("*** 1");
    expect(await said("calls.json")).toBe("*** 1");
    expect((await made.run("names.json", { variables: { who: "Bo" } })).ok).toBe(true);
  });

  test("is refused where it says what cannot be, with the place", async () => {
    const read = (text: string) => parseScript(text, "a.json", "");
    const refused = read('{"timeout": "soon",\n "stop": true,\n "actions": []}');
    expect(refused).rejects.toThrow(
      /a\.json:1:13: timeout: expected a number.*a\.json:2:10: stop: unknown field/,
    );
    const { defaults } = await read('{"timeout": "2m", "pace": 0.3, "variables": {"a": 1}, "actions": []}');
    expect(defaults).toEqual({ stop_on_error: true, timeout_s: 120, pace: 0.3, variables: { a: 1 } });
    expect(withDefaults(defaults, { stop_on_error: false as const, variables: { b: 2 } })).toEqual({
      ...{ stop_on_error: false, timeout_s: 120, pace: 0.3 },
      variables: { a: 1, b: 2 },
    });
  });

  test("is checked with its faults in the right place, and the check answers with what it says", async () => {
    await using made = await serverWith({});
    const text =
      '{"stop_on_error": "focus",\n "variables": {"a": 1},\n "actions": [["AC_log", ["${a} ${b}"]]]}';
    const checked = await made.answer("/execute/check", { text });
    expect(checked.options).toEqual({ stop_on_error: "focus", variables: { a: 1 } });
    expect(checked.variables.unset).toEqual(["b"]);
    const { error } = await made.answer("/execute/check", { text: '{"actions": [\n["AC_slep"]]}' });
    expect(error).toContain("script:2:2: actions[0]: unknown command AC_slep");
  });
});

test("a stored script keeps what its file says of variables and pace, and does not show their values", async () => {
  await using made = await serverWith({});
  const script = {
    ...{ name: "greet", parameters: ["who"], pace: 0.2, variables: { who: "Ann", what: "hello" } },
    actions: [["AC_assert", { name: "who", value: "Bo" }]],
  };
  const stored = await made.answer("/scripts/add", script);
  expect(stored).toMatchObject({ name: "greet", pace: 0.2 });
  expect(JSON.stringify(stored)).not.toContain("hello");
  const ok = async (variables: object) => (await made.answer("/scripts/greet/run", { variables })).ok;
  expect([await ok({}), await ok({ who: "Bo" })]).toEqual([false, true]);
  expect((await made.answer("/scripts/greet/run", { variables: { what: 1 } })).error).toContain("takes who");
});

describe("a job", () => {
  const when = { interval_seconds: 86_400 };

  test("stops at the first failure, unless it or its script says otherwise", async () => {
    await using made = await serverWith({
      "list.json": [FAILS, NEXT],
      "on.json": { stop_on_error: false, actions: [FAILS, NEXT] },
    });
    const ran = async (job_id: string, script: string, more = {}) => {
      const script_path = made.pathOf(script);
      expect(await made.answer("/jobs/add", { job_id, script_path, ...when, ...more })).toMatchObject({
        job_id,
      });
      return (await made.runJob(job_id)).outcomes.length;
    };
    expect(await ran("new", "list.json")).toBe(1);
    expect(await ran("file", "on.json")).toBe(2);
    expect(await ran("asked", "list.json", { stop_on_error: false })).toBe(2);
    expect(await ran("first", "on.json", { stop_on_error: true })).toBe(1);
  });

  test("of before goes on as it did, whatever its script says", async () => {
    await using made = await serverWith({ "head.json": { actions: [FAILS, NEXT] } });
    const old = { job_id: "old", script_path: made.pathOf("head.json"), ...when, timeout_seconds: 3_600 };
    writeFileSync(made.pathOf("jobs.json"), JSON.stringify({ jobs: [old] }));
    expect((await made.runJob("old")).outcomes.length).toBe(2);
    const { jobs } = (await (await made.host.call("/jobs")).json()) as Answer;
    expect(jobs).toMatchObject([{ stop_on_error: false, timeout_s: 3_600, variables: [] }]);
  });

  test("gives variables to its script, whose values are shown nowhere", async () => {
    const check = ["AC_assert", { name: "who", value: "Ann S3cret" }];
    await using made = await serverWith({ "list.json": { variables: { who: "nobody" }, actions: [check] } });
    const script_path = made.pathOf("list.json");
    const job = { job_id: "greet", script_path, ...when, variables: { who: "Ann S3cret" } };
    const added = await made.answer("/jobs/add", job);
    expect(added).toMatchObject({ variables: ["who"], stop_on_error: null, timeout_s: null });
    expect((await made.runJob("greet")).status).toBe("ok");
    const everything = await Promise.all(
      ["/jobs", "/audit/list", "/history"].map(async (path) => (await made.host.call(path)).text()),
    );
    expect(everything.join()).not.toContain("S3cret");
    const { error } = await made.answer("/jobs/add", { ...job, job_id: "odd", variables: { "a b": 1 } });
    expect(error).toContain("variables: expected names of letters, digits and _");
  });

  test("is added with them on the command line", async () => {
    await using made = await serverWith({ "list.json": [FAILS, NEXT] });
    const words = ["jobs", "add", made.pathOf("list.json"), "--id", "typed", "--every", "1d"];
    const flags = ["--no-stop-on-error", "--var", "count=3", "--json", "--config-dir", made.host.configDir];
    const child = Bun.spawn([...SVC, ...words, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
    expect(await child.stdout.json()).toMatchObject({ stop_on_error: false, variables: ["count"] });
  });
});
