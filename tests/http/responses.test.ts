import { expect, test } from "bun:test";
import { failureResponse } from "../../src/http/responses";
import { badInput, conflict } from "../../src/lib/errors";

test("the fields of a failure are in its body", async () => {
  const response = failureResponse(badInput("x: wrong", { fields: ["x"] }));
  expect([response.status, await response.json()]).toEqual([400, { error: "x: wrong", fields: ["x"] }]);
});

test("the body of a failure is short: a list keeps its first values, and what is large otherwise is left out", async () => {
  const hosts = Array.from({ length: 100_000 }, (_, n) => ({ label: `host-${n}` }));
  const deep = JSON.parse("[".repeat(2_000) + "]".repeat(2_000));
  const more = { hosts, deep, text: "x".repeat(1_000_000), map: Object.fromEntries(hosts.entries()), n: 1 };
  const text = await failureResponse(conflict("x".repeat(1_000_000), more)).text();
  expect(text.length).toBeLessThan(32_768);
  const body = JSON.parse(text) as Record<string, unknown>;
  expect(Object.keys(body)).toEqual(["error", "hosts", "deep", "text", "n"]);
  expect((body.hosts as unknown[])[0]).toEqual({ label: "host-0" });
});
