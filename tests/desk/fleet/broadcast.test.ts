import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { serverOf } from "../../../src/desk/fleet/host";
import { broadcastExecute } from "../../../src/desk/fleet/operations/fleet";
import { labelsToRetry } from "../../../src/desk/fleet/results";
import { deliver } from "../../../src/desk/plans/action-list";
import type { Delivery } from "../../../src/wire/job/delivery";
import { answering, ok, rawServer } from "../../client/support";
import { post, testServer, testService } from "../../support";
import { host } from "./support";

describe("an action list sent to a host", () => {
  const delivery = {
    actions: [["AC_rest_api_status"]],
    commands: ["AC_rest_api_status"],
    stop_on_error: false,
    delivery_timeout_s: 30,
    timeout_s: 30,
  };
  const to = (url: string, more: Partial<Parameters<typeof deliver>[1]> = {}) =>
    deliver({ label: "a", server: serverOf(host("a", url)) }, { ...delivery, ...more });
  /** A host that offers the command, and does what `behave` says with the list. */
  const offering = (behave: (socket: import("node:net").Socket) => void) =>
    rawServer((socket) => {
      socket.on("data", (bytes) => {
        if (bytes.includes("GET /commands"))
          socket.write(ok('{"commands":["AC_rest_api_status"],"count":1}'));
        else behave(socket);
      });
    });

  test("that runs well is ok and carries the host's result", async () => {
    await using server = await testServer();
    const result = await to(server.server.url);
    expect(result).toMatchObject({ label: "a", ok: true, status: "ok", delivered: true });
    expect(result.run_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(result.result).toMatchObject({
      'execute: ["AC_rest_api_status"]': { running: true, token: null },
    });
    expect(result.outcomes).toMatchObject([{ command: "AC_rest_api_status", ok: true }]);
  });

  test("with a failing action is failed and carries the outcomes", async () => {
    await using server = await testServer();
    const actions = [["AC_rest_api_status"], ["AC_admin_tag_host", ["nobody", ["lab"]]]];
    const result = await to(server.server.url, { actions });
    expect(result).toMatchObject({ ok: false, status: "failed", delivered: true });
    expect(result.error).toBe("AC_admin_tag_host: no host is labelled nobody");
    expect(result.outcomes).toHaveLength(2);
  });

  test("with a command that the host lacks is refused before it is sent", async () => {
    await using server = await testServer();
    const result = await to(server.server.url, { commands: ["AC_rest_api_status", "AC_of_tomorrow"] });
    expect(result).toMatchObject({
      status: "failed",
      delivered: false,
      error: "the host has no AC_of_tomorrow",
    });
  });

  test("that the host refuses is failed, with the host's message", async () => {
    await using server = await testServer();
    const result = await to(server.server.url, { actions: [["AC_rest_api_status", { odd: 1 }]] });
    expect(result).toMatchObject({ status: "failed", delivered: true });
    expect(result.error).toStartWith("HTTP 400: actions[0].odd: ");
  });

  test("that takes too long is timeout, and the host has ended the run", async () => {
    await using server = await testServer();
    const actions = [["AC_sleep", { seconds: 30 }]];
    const result = await to(server.server.url, { actions, commands: ["AC_sleep"], timeout_s: 0.3 });
    expect(result).toMatchObject({ ok: false, status: "timeout", delivered: true });
    expect((await server.service.runs()).list()).toMatchObject([{ status: "timeout" }]);
  });

  test("is unreachable when it cannot have run: connection refused, silent host, not a svc host, rate limit", async () => {
    await using silent = await rawServer(() => {});
    await using page = await answering(ok("<html>"));
    await using busy = await offering((socket) =>
      socket.write("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"),
    );
    const cases = [
      ["http://127.0.0.1:1", "connection refused"],
      [silent.url, "timeout after 0.2 s"],
      [page.url, "not a svc host"],
      [busy.url, "HTTP 429"],
    ] as const;
    for (const [url, error] of cases) {
      const result = await to(url, { delivery_timeout_s: url === silent.url ? 0.2 : 30 });
      expect(result).toMatchObject({ ok: false, status: "unreachable", delivered: false, error });
    }
  });

  test("is unauthorized with a wrong token", async () => {
    await using server = await testServer({ token: "another-token-0123456789" });
    const result = await to(server.server.url);
    expect(result).toMatchObject({ status: "unauthorized", delivered: false, error: "HTTP 401" });
  });

  test("is unauthorized with a read-only token, and has not run", async () => {
    const body = '{"error":"this token allows read"}';
    await using server = await offering((socket) =>
      socket.write(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    const result = await to(server.url);
    expect(result).toMatchObject({
      status: "unauthorized",
      delivered: false,
      error: "HTTP 403: this token allows read",
    });
  });

  test("may have run when no answer comes: timeout, or failed when the connection breaks", async () => {
    await using silent = await offering(() => {});
    await using breaking = await offering((socket) => socket.destroy());
    expect(await to(silent.url, { timeout_s: 0.2 })).toMatchObject({
      status: "timeout",
      delivered: true,
      error: "timeout after 0.2 s: it may still run",
    });
    expect(await to(breaking.url)).toMatchObject({
      status: "failed",
      delivered: true,
      error: "connection closed: it may have run",
    });
  });

  test("is cancelled when the caller stops waiting", async () => {
    const cancel = new AbortController();
    await using silent = await offering(() => cancel.abort());
    const result = await to(silent.url, { signal: cancel.signal });
    expect(result).toMatchObject({
      status: "cancelled",
      delivered: true,
      error: "cancelled: it may still run",
    });
  });

  test.each([
    ["as text", '{"result":{"execute: x":"ValueError(\'no\')"}}'],
    ["as an object", '{"result":{"execute: x":{"error":"no"}}}'],
    ["as ok: false", '{"result":{},"ok":false,"error_text":"no"}'],
    ["in the outcomes alone", '{"result":{},"ok":true,"outcomes":[{"ok":false,"error":"no"}]}'],
  ])("is failed when the host reports the failure %s", async (_how, body) => {
    await using server = await offering((socket) => socket.write(ok(body)));
    expect(await to(server.url)).toMatchObject({ ok: false, status: "failed", delivered: true });
  });

  test("is failed when the host's answer is nested too deep", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    await using server = await offering((socket) => socket.write(ok(`{"result":{"execute: x":${deep}}}`)));
    expect(await to(server.url)).toMatchObject({
      status: "failed",
      delivered: true,
      error: "answer with more than 100000 values, or 500 levels",
    });
  });

  test("is ok when the host reports no outcomes and no result is an error", async () => {
    await using server = await offering((socket) => socket.write(ok('{"result":{"execute: x":[1,2]}}')));
    expect(await to(server.url)).toMatchObject({ ok: true, result: { "execute: x": [1, 2] } });
  });
});

describe("AC_admin_broadcast_execute", () => {
  test("checks the whole list against its own table before it contacts a host", async () => {
    await using target = await testServer();
    await using server = await testServer();
    await (await server.service.addressBook()).add(host("a", target.server.url));
    const actions = [["AC_admin_broadcast_execute", { actions: [["AC_nope"], ["AC_sleep"]], on: "all" }]];
    const response = await server.call("/execute", post({ actions }));
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: string }).error).toContain(
      "actions[0].actions[0]: unknown command AC_nope; actions[0].actions[1].seconds: missing",
    );
    expect(await (await target.service.metrics()).render()).not.toContain('path="/commands"');
  });

  test("takes its positional arguments in the order that scripts know, new ones last", () => {
    expect(Object.keys(broadcastExecute.input.entries)).toEqual([
      ...["actions", "on", "max_parallel", "max_failures", "canary", "stop_on_error"],
      ...["delivery_timeout_s", "timeout_s", "retry", "only", "output", "labels", "ask_again"],
      ...["variables", "variables_by_host", "desktop"],
    ]);
  });

  test("goes to the hosts in labels, as existing scripts name them", async () => {
    await using target = await testServer();
    await using server = await testServer();
    const book = await server.service.addressBook();
    await book.addAll([host("a", target.server.url), host("b"), host("lab 2", target.server.url)], false);
    const actions = [
      ["AC_admin_broadcast_execute", { actions: [["AC_rest_api_status"]], labels: ["lab 2", "a"] }],
      ["AC_admin_poll", { labels: ["lab 2"] }],
      ["AC_admin_broadcast_execute", [[["AC_rest_api_status"]], ["lab 2", "a"]]],
      ["AC_admin_poll", [["lab 2"]]],
      ["AC_admin_poll", ["lab 2"]],
    ];
    const report = (await (await server.call("/execute", post({ actions }))).json()) as {
      outcomes: Array<{ result: Delivery[] }>;
    };
    const both = [
      { label: "a", ok: true },
      { label: "lab 2", ok: true },
    ];
    const polled = [{ label: "lab 2", healthy: true }];
    expect(report.outcomes.map(({ result }) => result)).toMatchObject([both, polled, both, polled, polled]);
    expect(await (await server.call("/audit/list")).text()).toContain('on=\\"lab 2,a\\" hosts=2');
  });

  test("leaves an audit row with its hosts and commands", async () => {
    await using target = await testServer();
    await using server = await testServer();
    await (await server.service.addressBook()).add(host("a", target.server.url, "lab"));
    const actions = [["AC_admin_broadcast_execute", { actions: [["AC_rest_api_status"]], on: "tag:lab" }]];
    const report = (await (await server.call("/execute", post({ actions }))).json()) as {
      outcomes: [{ result: Delivery[] }];
    };
    expect(report.outcomes[0].result).toMatchObject([{ label: "a", ok: true }]);
    const rows = await (await server.call("/audit/list")).text();
    expect(rows).toContain(
      'admin.broadcast_execute on=\\"tag:lab\\" hosts=1 commands=AC_rest_api_status args=sha256:',
    );
  });
});

describe("svc admin broadcast", () => {
  test("writes its results to a file, from which a later one retries the hosts that failed", async () => {
    await using target = await testServer();
    await using console = testService();
    const book = await console.service.addressBook();
    await book.addAll([host("good", target.server.url), host("dead"), host("other")], false);
    const output = join(console.configDir, "results.jsonl");
    const seen: unknown[] = [];
    const caller = localCaller(console.service, "cli", { progress: ({ item }) => seen.push(item) });
    const call = (input: object) =>
      callOperation(
        console.service,
        broadcastExecute,
        { actions: [["AC_rest_api_status"]], ...input },
        caller,
      );
    const first = await call({ on: "!other,all", output });
    expect(first.map(({ label, status }) => [label, status])).toEqual([
      ["good", "ok"],
      ["dead", "unreachable"],
    ]);
    const written = readFileSync(output, "utf8").trimEnd().split("\n");
    expect(written.map((line) => JSON.parse(line))).toEqual(seen);
    expect(await call({ retry: output })).toMatchObject([{ label: "dead", status: "unreachable" }]);
    expect(await call({ retry: output, only: ["timeout"] })).toEqual([]);
    const refused = [
      [{}, "on: missing"],
      [{ on: "all", labels: ["good"] }, "on, labels: expected one of them"],
      [{ labels: ["good", "ghost"] }, "labels: no host is labelled ghost"],
      [{ labels: [] }, "labels: expected at least 1 item but found 0"],
      [{ on: "all", only: ["failed"] }, "only: expected together with retry"],
      [{ retry: output, output }, "output: expected another file than retry"],
      [{ retry: output, on: "good" }, "retry: none of its hosts is selected"],
    ] as const;
    for (const [input, message] of refused) await expect(async () => call(input)).toThrow(message);
  });
});

test("at a terminal too, what hosts returned is kept up to 32 MiB together", async () => {
  await using console = testService();
  const book = await console.service.addressBook();
  const labels = Array.from({ length: 12 }, (_, nth) => `h${nth}`);
  await book.addAll(
    labels.map((label) => host(label)),
    false,
  );
  const result = { "0": "x".repeat(4 * 1_048_576) };
  const service = Object.create(console.service, {
    runBroadcast: {
      value: async ({ done }: { done(delivery: object): unknown }) => {
        for (const label of labels) done({ label, ok: true, status: "ok", duration_ms: 1, result });
      },
    },
  }) as typeof console.service;
  const ask = (on: string) =>
    callOperation(
      service,
      broadcastExecute,
      { actions: [["AC_rest_api_status"]], on },
      localCaller(console.service, "cli"),
    );
  const all = await ask("all");
  expect(all.map(({ label }) => label)).toEqual(labels);
  expect(all.filter((one) => one.result !== undefined)).toEqual([]);
});

test("a result of none of its hosts takes the place of none of them, and shows nothing of what it returned", async () => {
  await using console = testService();
  const book = await console.service.addressBook();
  await book.addAll([host("h0"), host("h1")], false);
  const service = Object.create(console.service, {
    runBroadcast: {
      value: async ({ done }: { done(delivery: object): unknown }) => {
        for (const label of ["h0", "h1", "x"])
          done({ label, ok: true, status: "ok", duration_ms: 1, result: { "execute: []": label } });
      },
    },
  }) as typeof console.service;
  const input = { actions: [["AC_rest_api_status"]], on: "all" };
  const all = await callOperation(service, broadcastExecute, input, localCaller(console.service, "cli"));
  expect(all.map(({ label, result }) => [label, result?.["execute: []"]])).toEqual([
    ["h0", "h0"],
    ["h1", "h1"],
    ["x", undefined],
  ]);
});

describe("a retry", () => {
  const line = (label: string, status: string) => JSON.stringify({ label, ok: false, status });

  test("goes to the hosts whose last result has one of the statuses", () => {
    const results = [
      line("a", "failed"),
      line("b", "ok"),
      line("c", "unreachable"),
      line("a", "ok"),
      "",
    ].join("\n");
    expect(labelsToRetry(results, ["failed", "unreachable"])).toEqual(["c"]);
    expect(labelsToRetry(`[${line("a", "failed")},${line("b", "timeout")}]`, ["timeout"])).toEqual(["b"]);
  });

  test("refuses a file that does not hold results", () => {
    expect(() => labelsToRetry("not results", ["failed"])).toThrow(
      "retry: expected the results of a broadcast",
    );
  });
});

describe("a broadcast by a token that may not do everything", () => {
  async function desk() {
    const [here, there] = [await testServer(), await testServer()];
    const book = await here.service.addressBook();
    await book.add(host("there", there.server.url));
    await (await there.service.addressBook()).add(host("there", there.server.url));
    const grant = { name: "anna", scopes: ["operate" as const] };
    const caller = localCaller(here.service, "api", { grant });
    return {
      send: (input: object) =>
        callOperation(
          here.service,
          broadcastExecute,
          { on: "all", actions: [["AC_sleep", [0]]], ...input },
          caller,
        ),
      there,
      async [Symbol.asyncDispose]() {
        await here[Symbol.asyncDispose]();
        await there[Symbol.asyncDispose]();
      },
    };
  }

  test("sends nothing that the token may not use, and touches no file of the desk", async () => {
    await using made = await desk();
    await expect(made.send({ actions: [["AC_config_export"]] })).rejects.toThrow(
      "this token allows operate, but AC_config_export needs admin",
    );
    await expect(made.send({ output: "/tmp/results.jsonl" })).rejects.toThrow("need admin");
    expect((await made.there.service.runs()).list()).toEqual([]);
    expect(await made.send({})).toMatchObject([{ label: "there", ok: true }]);
  });

  test("does not use what the desk's own token may do on a host", async () => {
    await using made = await desk();
    const carried = { on: "all", actions: [["AC_config_export"]] };
    const filledIn = [
      ["AC_set_var", { name: "list", value: carried.actions }],
      ["AC_admin_broadcast_execute", { on: "all", actions: "${list}" }],
    ];
    for (const actions of [[["AC_admin_broadcast_execute", carried]], filledIn]) {
      const [result] = await made.send({ actions });
      expect(result).toMatchObject({
        ok: false,
        error: expect.stringContaining("allows operate, but AC_config_export"),
      });
    }
  });
});
