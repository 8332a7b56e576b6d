import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { callRemote } from "../../src/client/remote-call";
import { field, flag, NO_INPUT } from "../../src/core/fields";
import { type InputSchema, type Operation, type OutputSchema, operation } from "../../src/core/operation";
import { operations } from "../../src/operations";
import { TOKEN, testServer } from "../support";
import { answering, ok } from "./support";

const call = <I extends InputSchema, O extends OutputSchema>(
  url: string,
  called: Operation<I, O>,
  input: v.InferInput<I>,
): Promise<v.InferOutput<O>> =>
  callRemote({ url, token: TOKEN, trust: { kind: "system" } }, called, input, 60_000);

const INPUT = v.strictObject({
  text: field(v.optional(v.string()), "Text"),
  count: field(v.optional(v.number()), "Number"),
  names: field(v.optional(v.array(v.string())), "List"),
  id: field(v.optional(v.string()), "In the path"),
});
const echoing = (http: Operation["http"]) =>
  operation({
    name: "test.echo",
    summary: "Say what was given",
    scope: "read",
    ...(http && { http }),
    command: "AC_test_echo",
    input: INPUT,
    output: v.object({ given: v.unknown() }),
    run: (_service, given) => ({ given }),
  });

describe("an operation called on another server gets the same input", () => {
  const input = { text: "a b&c=ü/?", count: -1.5, names: ["x", "y z"] };
  test.each([
    ["in the query of a GET", { method: "GET", path: "/test" }, input],
    ["in the body of a POST", { method: "POST", path: "/test" }, input],
    ["in the path", { method: "GET", path: "/test/{id}" }, { ...input, id: "a/b ?#" }],
    ["as a command, when it has no path", undefined, input],
  ] as const)("%s", async (_where, http, given) => {
    const echo = echoing(http);
    await using host = await testServer({ service: { operations: [...operations, echo] } });
    expect(await call(host.server.url, echo, given)).toEqual({ given });
  });
});

test("what looks like a variable in it is a text as any other, however it is sent", async () => {
  const given = { text: "${customer} $${customer} ${= 1 + 1} ${secret:crm}", names: ["${names[0].first}"] };
  for (const http of [undefined, { method: "POST", path: "/test" }] as const) {
    const echo = echoing(http);
    await using host = await testServer({ service: { operations: [...operations, echo] } });
    expect(await call(host.server.url, echo, given)).toEqual({ given });
  }
  const odd = call("http://127.0.0.1:1", echoing(undefined), { text: "${= 1" });
  await expect(odd).rejects.toThrow("expected } at the end");
});

describe("its answer", () => {
  const rows = operation({
    name: "test.rows",
    summary: "List rows",
    scope: "read",
    http: { method: "GET", path: "/rows" },
    input: NO_INPUT,
    output: v.object({ rows: v.array(v.object({ id: v.number(), note: v.nullable(v.string()) })) }),
    run: () => ({ rows: [] }),
  });

  test("has the operation's output type: further fields are dropped, nullable ones may be missing", async () => {
    await using server = await answering(ok('{"rows":[{"id":1,"odd":2}],"odd":3}'));
    expect(await call(server.url, rows, {})).toEqual({ rows: [{ id: 1, note: null }] });
  });

  test("of another type is refused, and the message names the field", async () => {
    await using server = await answering(ok('{"rows":[{"id":"1","note":null}]}'));
    await expect(call(server.url, rows, {})).rejects.toThrow("unexpected answer: rows.0.id");
  });

  test("with many errors is refused at the first", async () => {
    let looks = 0;
    const note = v.custom<string>(() => {
      looks += 1;
      return false;
    });
    const picky = operation({
      name: "test.rows",
      summary: "List rows",
      scope: "read",
      http: { method: "GET", path: "/rows" },
      input: NO_INPUT,
      output: v.object({ rows: v.array(v.object({ note })) }),
      run: () => ({ rows: [] }),
    });
    await using server = await answering(ok(`{"rows":[${'{"note":0},'.repeat(1_000)}{"note":0}]}`));
    await expect(call(server.url, picky, {})).rejects.toThrow("unexpected answer: rows.0.note");
    expect(looks).toBe(1);
  });

  test("with more values than any needs is refused before it is read", async () => {
    const wide = `{"rows":[${"0,".repeat(300_000)}0]}`;
    const deep = `{"rows":${"[".repeat(1_000)}${"]".repeat(1_000)}}`;
    for (const body of [wide, deep]) {
      await using server = await answering(ok(body));
      await expect(call(server.url, rows, {})).rejects.toThrow("answer with more than 100000 values");
    }
  });

  test("that is an error has the server's message", async () => {
    await using host = await testServer();
    await expect(call(host.server.url, rows, {})).rejects.toThrow("HTTP 404: not found");
  });

  test("through /execute is the action's result, or its error", async () => {
    const failing = operation({
      name: "test.failing",
      summary: "Fail",
      scope: "read",
      command: "AC_admin_tag_host",
      input: v.strictObject({ label: field(v.string(), "Label"), clear: flag("Clear") }),
      output: v.object({ label: v.string() }),
      run: (_service: object, { label }) => ({ label }),
    });
    await using host = await testServer();
    await expect(call(host.server.url, failing, { label: "x", clear: true })).rejects.toThrow(
      "no host is labelled x",
    );
  });
});
