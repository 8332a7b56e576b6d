/** What becomes of work whose client has gone. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { NO_INPUT } from "../../src/core/fields";
import { operation } from "../../src/core/operation";
import type { Log } from "../../src/lib/log";
import { silentLog } from "../../src/lib/log";
import { operations } from "../../src/operations";
import { post, testServer, until } from "../support";

/** A server with an operation that waits until its caller's signal is aborted or it is made to end. */
async function serverThatWaits(changes?: true) {
  const begun = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<null>();
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (text) => void errors.push(text) };
  const waits = operation({
    name: "test.waits",
    summary: "Wait",
    scope: "read",
    ...(changes && { changes }),
    http: { method: "POST", path: "/test" },
    input: NO_INPUT,
    output: v.null(),
    run: (_service, _input, { signal }) => {
      begun.resolve(signal);
      const aborted = new Promise<null>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
      return Promise.race([end.promise, aborted]);
    },
  });
  const host = await testServer({ service: { operations: [...operations, waits], log } });
  const lastRow = async () => (await (await host.service.audit())?.list({ limit: 1 }))?.[0]?.detail ?? "";
  return { host, begun: begun.promise, end, errors, lastRow };
}

test("a question ends when its client goes: its signal is aborted, and the log shows no bug", async () => {
  const { host, begun, errors, lastRow } = await serverThatWaits();
  await using _ = host;
  const client = new AbortController();
  const asked = host.call("/test", { ...post({}), signal: client.signal }).catch(() => null);
  const signal = await begun;
  expect(signal.aborted).toBe(false);
  client.abort();
  await asked;
  await until("the row", async () => (await lastRow()) === "POST /test -> failed:409");
  expect(signal.aborted).toBe(true);
  expect(errors).toEqual([]);
});

test("a change goes on to its end when its client goes, and its row says how it ended", async () => {
  const { host, begun, end, lastRow } = await serverThatWaits(true);
  await using _ = host;
  const client = new AbortController();
  const asked = host.call("/test", { ...post({}), signal: client.signal }).catch(() => null);
  const signal = await begun;
  client.abort();
  await asked;
  // The server has noticed by the time that it has answered a later request.
  await host.call("/health");
  expect(signal.aborted).toBe(false);
  end.resolve(null);
  await until("the row", async () => (await lastRow()).startsWith("POST /test -> ok:200"));
});
