/** Scripts that run other scripts. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { executeFile } from "../../../src/host/runs/operations/execute";
import { addScript, runScript } from "../../../src/host/runs/operations/scripts";
import { Requester } from "../../../src/lib/slots";
import { post, runActions, testServer, testService } from "../../support";

/** A folder of scripts, by their names, and what runs one of them. */
function scripts(files: Record<string, unknown>) {
  const host = testService();
  const folder = join(host.configDir, "files");
  mkdirSync(join(folder, "lib"), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  const run = (name: string, variables = {}) =>
    callOperation(
      host.service,
      executeFile,
      { path: join(folder, name), variables },
      localCaller(host.service, "api"),
    );
  return { ...host, folder, run, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

const call = (path: string, variables?: object, more = {}) => [
  "AC_run_script",
  { path, ...(variables && { variables }), ...more },
];
const fail = (message: string) => ["AC_fail", [message]];

describe("AC_run_script", () => {
  test("runs a script beside the calling one, with variables of its own, and has those that it set", async () => {
    await using host = scripts({
      "main.json": [
        call("lib/double.yaml", { n: "${given}" }, { as: "called" }),
        ["AC_set_var", ["n", "${called.variables.n}"]],
      ],
      "lib/double.yaml":
        "- [AC_run_script, {path: ../log.json5}]\n- [AC_set_var, {name: n, op: mul, value: 2}]",
      "log.json5": "[['AC_sleep', [0]], /* what it has none of */ ['AC_set_var', ['n', 7]]]",
    });
    const report = await host.run("main.json", { given: 21 });
    expect(report.error_text).toBeNull();
    expect(report.outcomes.at(-1)?.result).toBe(42);
  });

  test("has no variables of the calling script", async () => {
    await using host = scripts({ "main.json": [call("other.json")], "other.json": [fail("${given}")] });
    const { error_text } = await host.run("main.json", { given: 21 });
    expect(error_text).toBe("AC_run_script: AC_fail: unknown variable: given");
  });

  test.each([
    ["a script that is not there", {}, "main.json:1:27: actions[0].path: no such file"],
    [
      "what is wrong in it",
      { "other.json": '[\n["AC_slep"]]' },
      "main.json:1:27: actions[0].path: the called script:2:2: actions[0]: unknown command AC_slep (did you mean AC_sleep?)",
    ],
    [
      "what is wrong in one that it calls",
      { "other.json": [call("deep.json")], "deep.json": [["AC_break"]] },
      "the called script:1:27: actions[0].path: the called script:1:2: actions[0]: expected AC_break inside",
    ],
  ])("nothing runs with %s", async (_what, files, message) => {
    await using host = scripts({ "main.json": [call("other.json")], ...files });
    expect(host.run("main.json")).rejects.toThrow(message);
    expect((await host.service.runs()).list()).toEqual([]);
  });

  test("runs what was checked, however the file changes in the meantime", async () => {
    await using host = scripts({ "other.json": [["AC_set_var", ["seen", "checked"]]] });
    const path = join(host.folder, "other.json");
    const executor = await host.service.executor();
    const checked = await executor.link(
      await executor.prepare([
        call(path, {}, { as: "called" }),
        ["AC_set_var", ["seen", "${called.variables.seen}"]],
      ]),
      "",
      new Requester(null),
    );
    writeFileSync(path, JSON.stringify([fail("changed")]));
    const { outcomes } = await executor.run(checked, localCaller(host.service, "api"));
    expect(outcomes.at(-1)?.result).toBe("checked");
  });

  test("reads a script whose path is a variable when it runs, and says then what is wrong", async () => {
    await using host = scripts({
      "main.json": [call("${which}.json"), call("${which}.json")],
      "good.json": [["AC_sleep", [0]]],
      "bad.json": [["AC_slep"]],
    });
    expect((await host.run("main.json", { which: "good" })).ok).toBe(true);
    const { error_text } = await host.run("main.json", { which: "bad" });
    expect(error_text).toContain("the called script:1:3: actions[0]: unknown command AC_slep");
  });

  test("scripts that are sure to call themselves are refused before anything runs", async () => {
    await using host = scripts({
      "one.json": [["AC_sleep", [0]], call("one.json")],
      "two.json": [call("three.json")],
      "three.json": [call("two.json")],
    });
    expect(host.run("one.json")).rejects.toThrow("actions[1].path: the script calls itself, without end");
    expect(host.run("two.json")).rejects.toThrow("the scripts call each other in a circle, without end");
    const executor = await host.service.executor();
    const [two, three] = ["two.json", "three.json"].map((name) => join(host.folder, name));
    const linked = executor.link(await executor.prepare([call("three.json")]), `${two}`, new Requester(null));
    expect(linked).rejects.toThrow(`a circle, without end: ${two} -> ${three} -> ${two}`);
  });

  test("a script that calls itself under a condition ends, at the depth that is allowed", async () => {
    const again = ["AC_if_var", { name: "n", value: 1, then: [] as unknown[], else: [call("main.json")] }];
    await using host = scripts({ "main.json": [["AC_set_var", ["n", 0]], again] });
    expect((await host.run("main.json")).error_text).toBe(
      "AC_if_var: AC_run_script: expected at most 16 scripts that call each other",
    );
  });

  test("an error of scripts that call each other names the command once", async () => {
    await using host = scripts({
      "main.json": [call("deep.json")],
      "deep.json": [call("deeper.json")],
      "deeper.json": [["AC_fail", ["no such customer"]]],
    });
    expect((await host.run("main.json")).error_text).toBe("AC_run_script: AC_fail: no such customer");
  });

  test("all actions of called scripts count", async () => {
    await using host = scripts({
      "main.json": [["AC_loop", { times: 100_000, body: [call("other.json")] }]],
      "other.json": [["AC_loop", { times: 50_000, body: [] }]],
    });
    expect((await host.run("main.json")).error_text).toBe("more than 200000 actions in one run");
  });

  test("in a list that is in no file a path is absolute", async () => {
    await using host = testService();
    expect(runActions(host.service, [call("other.json")])).rejects.toThrow(
      "actions[0].path: expected an absolute path: the list that calls it is in no file",
    );
  });

  test("needs the scopes of what it calls, and the permission of the process, before anything runs", async () => {
    await using host = scripts({
      "main.json": [call("windows.json"), call("${which}")],
      "windows.json": [["AC_list_windows"]],
      "shell.json": [call("deeper.json")],
      "deeper.json": [["AC_shell_command", ["true"]]],
    });
    const caller = localCaller(host.service, "api", { grant: { name: "ci", scopes: ["operate"] } });
    const run = (name: string, variables = {}) =>
      callOperation(host.service, executeFile, { path: join(host.folder, name), variables }, caller);
    expect(run("main.json")).rejects.toThrow("AC_list_windows needs screen");
    expect(run("shell.json")).rejects.toThrow("AC_shell_command needs svc to be started with --allow-shell");
    const path = join(host.folder, "windows.json");
    const { outcomes } = await runActions(
      host.service,
      [call("${which}")],
      { variables: { which: path } },
      caller,
    );
    expect(outcomes[0]?.error).toContain("AC_list_windows needs screen");
  });

  test("a secret stays masked through a call, and what is none stays shown", async () => {
    await using host = scripts({ "other.json": [["AC_try", { body: [fail("in ${shown} ${password}")] }]] });
    const report = await runActions(
      host.service,
      [
        ["AC_set_var", { name: "step", value: "first-step", secret: false }],
        call(join(host.folder, "other.json"), { shown: "${step}", password: "${pw}" }, { as: "called" }),
        fail("${called.variables.password}"),
      ],
      { variables: { pw: "hunter2-secret" } },
    );
    expect(JSON.stringify(report.outcomes)).toContain("in first-step hunter2-secret");
    const kept = JSON.stringify((await host.service.runs()).show(report.run_id));
    expect(kept).toContain("in first-step ***");
    expect(kept).not.toContain("hunter2");
  });

  test("a token that only reads learns of no file by a check", async () => {
    await using host = await testServer();
    const list = [call("/nonexistent/other.json")];
    expect((await host.call("/execute/check", post({ actions: list }))).status).toBe(400);
    const service = host.service;
    const caller = localCaller(service, "api", { grant: { name: "wall", scopes: ["read"] } });
    const { checkActionList } = await import("../../../src/host/runs/operations/execute");
    expect(await callOperation(service, checkActionList, { actions: list }, caller)).toMatchObject({
      ok: true,
    });
  });
});

describe("a stored script", () => {
  const stored = async (files: Record<string, { actions: unknown[]; parameters?: string[] }>) => {
    const host = testService();
    const owner = localCaller(host.service, "api");
    for (const [name, script] of Object.entries(files)) {
      await callOperation(host.service, addScript, { name, ...script }, owner);
    }
    const run = (name: string, scopes: readonly "run:main"[]) =>
      callOperation(host.service, runScript, { name }, { ...owner, grant: { name: "ci", scopes } });
    return { ...host, owner, run, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
  };

  test("calls stored scripts, also for a token that may run the first alone", async () => {
    await using host = await stored({
      other: { actions: [["AC_sleep", ["${pause}"]]], parameters: ["pause"] },
      main: { actions: [call("script:other", { pause: 0 })] },
    });
    expect(await host.run("main", ["run:main"])).toMatchObject({ ok: true });
    expect(host.run("other", ["run:main"])).rejects.toThrow("needs run:other");
  });

  test("calls no file, and none whose name is known only when it runs", async () => {
    await using host = await stored({});
    const add = (path: string) =>
      callOperation(host.service, addScript, { name: "main", actions: [call(path)] }, host.owner);
    const message = "actions[0].path: expected script: and the name of a stored script, in a stored script";
    expect(add("/srv/other.json")).rejects.toThrow(message);
    expect(add("other.json")).rejects.toThrow(message);
    expect(add("${which}")).rejects.toThrow(message);
    expect(add("script:nobody")).rejects.toThrow("actions[0].path: no script is named nobody");
  });

  test("takes no variable that it does not declare", async () => {
    await using host = await stored({
      other: { actions: [["AC_sleep", [0]]], parameters: ["pause"] },
      main: { actions: [call("script:other", { pase: 0 })] },
    });
    expect((await host.run("main", ["run:main"])).error_text).toBe(
      "AC_run_script: variables: script:other takes pause (did you mean pause?)",
    );
  });

  test("does not call one that was edited in its file", async () => {
    await using host = await stored({
      other: { actions: [["AC_sleep", [0]]] },
      main: { actions: [call("script:other")] },
    });
    const file = join(host.configDir, "scripts.json");
    writeFileSync(file, (await Bun.file(file).text()).replace('"AC_sleep"', '"AC_screen_size"'));
    expect(host.run("main", ["run:main"])).rejects.toThrow("the script other is not the one that was stored");
  });
});
