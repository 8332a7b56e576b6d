/** Scripts, runs, jobs and history as the compiled binary, from an empty folder. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { placeBinary, post, temporaryFolder, until } from "../support";

const TOKEN = "test-token-0123456789";

/** The binary alone in a folder. */
function installed() {
  const folder = temporaryFolder();
  placeBinary(join(folder.path, "svc"));
  const env = { ...process.env, SVC_CONFIG_DIR: "config", SVC_TOKEN: TOKEN, DISPLAY: "" };
  const spawn = (args: readonly string[]) =>
    Bun.spawn(["./svc", ...args], { cwd: folder.path, env, stdio: ["ignore", "pipe", "pipe"] });
  return {
    path: folder.path,
    config: join(folder.path, "config"),
    spawn,
    script(actions: unknown, name = "script.json") {
      writeFileSync(join(folder.path, name), JSON.stringify(actions));
      return name;
    },
    async run(...args: string[]) {
      const child = spawn(args);
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return { stdout, stderr, exitCode: await child.exited };
    },
    /** A server, stopped with `signal` at the end unless it has been before. */
    async serve(...flags: string[]) {
      const child = spawn(["serve", "--port", "0", "--json", "--rate-limit", "0", ...flags]);
      const { value } = await child.stdout.getReader().read();
      const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value));
      return {
        call: (path: string, init: RequestInit = {}) =>
          fetch(url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${TOKEN}` } }),
        async stop(signal: NodeJS.Signals = "SIGTERM") {
          child.kill(signal);
          return { exitCode: await child.exited, stderr: await child.stderr.text() };
        },
        async [Symbol.asyncDispose]() {
          child.kill("SIGKILL");
          await child.exited;
        },
      };
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** Whether a process lives; a zombie does not. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("a script runs, its outcomes are printed, and the exit code says whether all was good", async () => {
  using machine = installed();
  const good = machine.script([
    ["AC_set_var", ["n", 2]],
    ["AC_loop", { times: "${n}", body: [["AC_sleep", [0]]] }],
  ]);
  const ran = await machine.run("execute", good);
  expect(ran.stdout).toMatch(/^ok {6}AC_set_var {2}2 {2}\(.*\nok {6}AC_loop {2}\{"iterations":2,/);
  expect({ stderr: ran.stderr, exitCode: ran.exitCode }).toEqual({ stderr: "", exitCode: 0 });

  const bad = await machine.run("execute", '[["AC_sleep",["${nobody}"]]]', "--json");
  expect(JSON.parse(bad.stdout)).toMatchObject({
    ok: false,
    status: "error",
    error_text: expect.any(String),
  });
  expect(bad.exitCode).toBe(1);
  const wrong = await machine.run("execute", '[["AC_loop",[1,[["AC_nonsense"]]]]]');
  expect(wrong.stderr).toBe("svc: script:1:18: actions[0].body[0]: unknown command AC_nonsense\n");
  expect(wrong.exitCode).toBe(2);
});

test("svc scripts add names what is wrong with its place, and warns of variables that nobody sets", async () => {
  using machine = installed();
  const add = (...args: string[]) => machine.run("scripts", "add", "q", ...args);
  writeFileSync(join(machine.path, "bad.json"), '[\n  ["AC_sleep", [0]],\n  ["AC_slep"]\n]\n');
  expect(await add("bad.json")).toMatchObject({
    stderr: "svc: bad.json:3:4: actions[1]: unknown command AC_slep (did you mean AC_sleep?)\n",
    exitCode: 2,
  });
  expect(existsSync(machine.config)).toBe(false);
  const script = machine.script([["AC_write", ["${nme}"]]]);
  const unset = await add(script);
  expect(unset.stderr).toContain("${nme} is not set: neither the list nor --parameter sets it");
  expect((await add(script, "--replace", "--parameter", "nme")).stderr).toBe("");
  const checked = await machine.run("execute", script, "--check", "--var", "name=1");
  expect(checked.stderr).toContain(
    "${nme} is not set: neither the list nor --var sets it (did you mean name?)",
  );
  expect(checked.stderr).toContain("--var name: the list has no ${name}");
});

test("svc execute --check warns of pictures that are not there, from the folder of the script on", async () => {
  using machine = installed();
  machine.script([], "there.png");
  const looks = ["there.png", "iVBORw0KGgo=", "${name}.png", "save.png"].map((image) => [
    "AC_wait_image",
    { image },
  ]);
  const script = machine.script([["AC_loop", { times: 1, body: looks }]]);
  const checked = await machine.run("execute", script, "--check", "--var", "name=a");
  expect(checked).toMatchObject({
    stderr: '[warn] actions[0].body[3]: image: there is no file "save.png" now\n',
    exitCode: 0,
  });
});

test("svc execute --check names what is wrong with its place, and runs nothing", async () => {
  using machine = installed();
  const good = machine.script([["AC_sleep", [600]]]);
  const checked = await machine.run("execute", good, "--check");
  expect(checked).toEqual({
    stdout: "no errors; actions: 1; nothing has run\n",
    stderr: "",
    exitCode: 0,
  });
  const answer = await machine.run("execute", good, "--check", "--json");
  expect(JSON.parse(answer.stdout)).toEqual({
    ok: true,
    commands: ["AC_sleep"],
    count: 1,
    variables: { used: [], unset: [] },
  });

  writeFileSync(join(machine.path, "bad.json"), '[\n  ["AC_sleep", [0]],\n  ["AC_scren_size"]\n]\n');
  const bad = await machine.run("execute", "bad.json", "--check");
  const what = "actions[1]: unknown command AC_scren_size (did you mean AC_screen_size?)";
  expect(bad).toEqual({ stdout: "", stderr: `svc: ${machine.path}/bad.json:3:4: ${what}\n`, exitCode: 2 });
  const three = '[\n  ["AC_hotkey", [["ctlr", "c"]]],\n  ["AC_slep"],\n  ["AC_sleep", {"seconds": "x"}]\n]\n';
  writeFileSync(join(machine.path, "three.json"), three);
  const lines = (await machine.run("execute", "three.json", "--check")).stderr.trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^svc: .*three\.json:2:19: .* but found "ctlr" \(did you mean ctrl\?\)$/),
    expect.stringMatching(/^svc: .*three\.json:3:4: .*AC_slep \(did you mean AC_sleep\?\)$/),
    expect.stringMatching(/^svc: .*three\.json:4:28: .*expected a number but found "x"$/),
  ]);
  writeFileSync(join(machine.path, "comma.json"), '[\n  ["AC_sleep", [0]],\n]\n');
  const comma = await machine.run("execute", "comma.json", "--check");
  expect(comma.stderr).toBe(`svc: ${machine.path}/comma.json:3:1: not JSON: expected a value\n`);
  expect(comma.exitCode).toBe(2);
  expect(existsSync(machine.config)).toBe(false);
});

test("--var and --var-file set variables: JSON where it parses, else text; --var counts last", async () => {
  using machine = installed();
  const names = ["list", "number", "text", "kept"];
  const script = machine.script(names.map((name) => ["AC_set_var", ["x", `\${${name}}`]]));
  writeFileSync(join(machine.path, "vars.json"), '{"kept": "from the file", "number": 1}');
  const flags = ["--var", 'list=["a,b", {"c": 1}]', "--var", "number=2", "--var", "text=007=x,y"];
  const ran = await machine.run("execute", script, ...flags, "--var-file", "vars.json", "--json");
  const { outcomes }: { outcomes: Array<{ result: unknown }> } = JSON.parse(ran.stdout);
  expect(outcomes.map(({ result }) => result)).toEqual([["a,b", { c: 1 }], 2, "007=x,y", "from the file"]);
  writeFileSync(join(machine.path, "list.json"), "[1]");
  const listed = await machine.run("execute", script, "--var-file", "list.json");
  expect(listed.stderr).toBe('svc: --var-file: expected an object such as {"count": 3}\n');
  const wrong = await machine.run("execute", script, "--var", "hunter2");
  expect(wrong).toEqual({ stdout: "", stderr: "svc: --var: expected NAME=VALUE\n", exitCode: 2 });
});

test("what a script logs is printed at once, and the server shows the outcomes of its run", async () => {
  using machine = installed();
  await using _server = await machine.serve();
  const ran = await machine.run(
    "execute",
    '[["AC_log",["row 1 is done"]],["AC_fail",["no more"]]]',
    "--json",
  );
  expect(ran.stderr).toContain("row 1 is done\n");
  const { run_id, log } = JSON.parse(ran.stdout);
  expect(log).toMatchObject([{ message: "row 1 is done" }]);
  const shown = await machine.run("runs", "show", run_id);
  expect(shown.stdout).toMatch(
    /^COMMAND .*\nAC_log +ok .*\nAC_fail +FAILED .*no more\n\n\S+ {2}row 1 is done\n$/,
  );
  expect(shown.stderr).toContain("AC_fail: no more");
});

test("programs run only with --allow-shell", async () => {
  using machine = installed();
  const actions = '[["AC_shell_command",["echo run > ran"]]]';
  const refused = await machine.run("execute", actions);
  expect(refused).toMatchObject({
    exitCode: 1,
    stderr:
      "svc: AC_shell_command needs svc to be started with --allow-shell (svc serve, svc execute) (svc help T16)\n",
  });
  expect(existsSync(join(machine.path, "ran"))).toBe(false);
  expect((await machine.run("execute", actions, "--allow-shell")).exitCode).toBe(0);
  expect(existsSync(join(machine.path, "ran"))).toBe(true);

  await using server = await machine.serve();
  const body = {
    actions: [
      ["AC_sleep", [0]],
      ["AC_shell_command", ["true"]],
    ],
  };
  expect((await server.call("/execute", post(body))).status).toBe(403);
  const { commands } = (await (await server.call("/commands")).json()) as { commands: string[] };
  expect(commands).not.toContain("AC_shell_command");
});

test.each(["execute", "jobs run"])(
  "Ctrl-C on svc %s ends the script, and the program that it runs",
  async (way) => {
    using machine = installed();
    const script = machine.script([["AC_shell_command", ["echo $$ > pid; sleep 60; sleep 60"]]]);
    await machine.run("jobs", "add", script, "--every", "1h", "--id", "job");
    const what = way === "execute" ? ["execute", script] : ["jobs", "run", "job"];
    const child = machine.spawn([...what, "--allow-shell", "--json"]);
    const pidFile = join(machine.path, "pid");
    await until("the process id", () => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
    child.kill("SIGINT");
    expect(JSON.parse(await child.stdout.text())).toMatchObject({ status: "cancelled" });
    expect(await child.exited).toBe(130);
    await until("the process to end", () => !isAlive(Number(readFileSync(pidFile, "utf8"))));
  },
);

test("a job added next to a running server runs, survives kill -9, and is in the history", async () => {
  using machine = installed();
  const script = machine.script([["AC_sleep", [0]]]);
  const runsOf = async (query: string) =>
    JSON.parse((await machine.run("history", "--json", "--source", "scheduler", ...query.split(" "))).stdout)
      .runs;
  {
    await using server = await machine.serve();
    const added = await machine.run("jobs", "add", script, "--every", "1s", "--id", "tick");
    expect(added.stdout).toStartWith("tick runs next at 20");
    await until("a good run", async () => (await runsOf("--status ok")).length > 0);
    expect(await (await server.call("/jobs")).json()).toMatchObject({
      jobs: [{ job_id: "tick", enabled: true }],
    });
    await server.stop("SIGKILL");
  }
  const before = (await runsOf("--limit 1"))[0].id;
  await using server = await machine.serve();
  await until("another run", async () => (await runsOf("--limit 1"))[0].id > before);
  expect((await machine.run("jobs", "pause", "tick")).stdout).toBe("tick is paused\n");
  await until("the server to know that the job is paused", async () => {
    const { jobs } = (await (await server.call("/jobs")).json()) as { jobs: { enabled: boolean }[] };
    return jobs[0]?.enabled === false;
  });
  expect((await runsOf("--limit 1"))[0]).toMatchObject({
    source_type: "scheduler",
    source_id: "tick",
    script_path: join(machine.path, script),
    status: "ok",
    error_text: null,
  });
  expect(await (await server.call("/metrics")).text()).toContain("\nservice_scheduler_jobs 1\n");
});

test("svc runs and svc jobs run ask the server that runs", async () => {
  using machine = installed();
  const alone = await machine.run("runs", "list");
  expect(alone).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("start one with `svc serve`") });

  await using server = await machine.serve();
  const script = machine.script([
    ["AC_sleep", [0]],
    ["AC_sleep", [600]],
  ]);
  await machine.run("jobs", "add", script, "--every", "1h", "--id", "long");
  const begun = JSON.parse((await machine.run("jobs", "run", "long", "--json")).stdout);
  expect(begun).toMatchObject({ job_id: "long", status: "running" });
  const id = begun.run_id.slice(0, 8);
  expect((await machine.run("runs", "list")).stdout).toMatch(
    new RegExp(`^RUN .*\n${id} .* running .*scheduler long`),
  );
  const again = await machine.run("jobs", "run", "long");
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("long runs already") });

  expect((await machine.run("runs", "cancel", id)).stdout).toBe(`${begun.run_id} is cancelled\n`);
  await until("the run to be cancelled", async () => {
    const { status } = (await (await server.call(`/runs/${id}`)).json()) as { status: string };
    return status === "cancelled";
  });
  const shown = await machine.run("runs", "show", id);
  expect(shown.stdout).toMatch(/AC_sleep {2}ok .*\nAC_sleep {2}FAILED .*cancelled by the command line/);
  expect((await machine.run("runs", "cancel", "nobody")).exitCode).toBe(1);
});

test("a broken jobs file is set aside and reported, with exit code 1", async () => {
  using machine = installed();
  mkdirSync(machine.config);
  writeFileSync(join(machine.config, "jobs.json"), "{ broken");
  const listed = await machine.run("jobs", "list");
  expect({ stdout: listed.stdout, exitCode: listed.exitCode }).toEqual({ stdout: "no jobs\n", exitCode: 1 });
  expect(listed.stderr).toContain("jobs.json was broken and is set aside as jobs.json.broken-");
  const aside = readdirSync(machine.config).find((name) => name.startsWith("jobs.json.broken-"));
  expect(readFileSync(join(machine.config, aside ?? ""), "utf8")).toBe("{ broken");
});

test.concurrent("a stored script that takes longer than a question is waited for at other hosts; --on-timeout says that it goes on", async () => {
  using host = installed();
  await using _server = await host.serve();
  const file = host.script({ actions: [["AC_sleep", { seconds: 11 }]] });
  expect((await host.run("scripts", "add", "slow", file)).exitCode).toBe(0);
  const { url } = JSON.parse(readFileSync(join(host.config, "run", "rest.json"), "utf8")) as { url: string };
  writeFileSync(join(host.path, "token"), TOKEN);
  expect((await host.run("admin", "add", "lab", url, "--token-file", "token")).exitCode).toBe(0);
  const [whole, short] = await Promise.all([
    host.run("scripts", "run", "slow", "--on", "lab"),
    host.run("scripts", "run", "slow", "--on", "lab", "--on-timeout", "1s"),
  ]);
  expect(whole).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("lab") });
  expect(whole.stderr).toContain("waiting until the runs have ended; Ctrl-C stops waiting, and they go on");
  expect(short.exitCode).toBe(1);
  expect(short.stderr).toMatch(
    /lab: timeout.*: its run goes on: `svc runs list --on lab` shows it, `svc runs cancel ID --on lab` ends it/,
  );
}, 120_000);

test.concurrent("a server that is stopped lets short runs end, cancels long ones with their programs, and answers them all", async () => {
  using machine = installed();
  await using server = await machine.serve("--allow-shell");
  const run = async (...actions: unknown[]) =>
    (await (await server.call("/execute", post({ actions }))).json()) as { status: string };
  const short = run(["AC_sleep", [1]], ["AC_sleep", [0]]);
  const long = run(["AC_shell_command", ["echo $$ > pid; sleep 600"]]);
  const pidFile = join(machine.path, "pid");
  await until("the process id", () => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
  const stopped = server.stop();
  expect((await short).status).toBe("ok");
  expect((await long).status).toBe("cancelled");
  expect((await stopped).exitCode).toBe(143);
  expect(isAlive(Number(readFileSync(pidFile, "utf8")))).toBe(false);
}, 180_000);

test("a secret is in no file and no line of the log", async () => {
  using machine = installed();
  const secret = "hunter2-the-secret";
  await using server = await machine.serve();
  const actions = [
    ["AC_write", { write_string: secret }],
    ["AC_set_var", { name: "password", value: secret }],
    ["AC_write", { write_string: "${password}" }],
    ["AC_hotkey", { key_code_list: ["${password}"] }],
    ["AC_try", { body: [["AC_write", { write_string: "${password}" }]], error_var: "problem" }],
  ];
  const body = { actions, variables: { other: `${secret}-2` } };
  const { run_id } = (await (await server.call("/execute", post(body))).json()) as { run_id: string };
  const seen = await Promise.all(
    [`/runs/${run_id}`, "/runs", "/history", "/audit/list"].map((path) => server.call(path)),
  );
  for (const answer of seen) expect(await answer.text()).not.toContain(secret);
  const { stderr } = await server.stop();
  expect(stderr).not.toContain(secret);
  const files = readdirSync(machine.config, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  expect(files.length).toBeGreaterThan(3);
  for (const { parentPath, name } of files) {
    expect(readFileSync(join(parentPath, name)).includes(secret), name).toBe(false);
  }
});

test("svc commands explains a command", async () => {
  using machine = installed();
  const { stdout, exitCode } = await machine.run("commands", "AC_sleep");
  expect(stdout).toStartWith(
    "AC_sleep\n  Wait.\n\nParameters\n  seconds  number from 0 to 86400, required\n",
  );
  expect(exitCode).toBe(0);
  expect((await machine.run("commands", "AC_nonsense")).exitCode).toBe(1);
});

test("Ctrl-C ends svc execute - while it waits for the script", async () => {
  using svc = installed();
  const child = Bun.spawn([join(svc.path, "svc"), "execute", "-", "--config-dir", svc.config], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  // More than a pipe holds: once it is gone, svc reads.
  child.stdin.write("[".padEnd(1_000_000));
  await child.stdin.flush();
  child.kill("SIGINT");
  await child.exited;
  expect(child.signalCode).toBe("SIGINT");
});
