/** What a caller of a desk hears of a host that the desk has asked for it. */
import { expect, test } from "bun:test";
import { callHost, getFromHost } from "../../src/client/for-caller";
import { OWNER } from "../../src/core/rights";
import { showUpgrade } from "../../src/host/jobs/upgrade-operations";
import { Failure } from "../../src/lib/errors";

/** A host that answers with `status` and `body`; without them, never. */
function host(status?: number, body: object = {}) {
  const answer = () =>
    status === 304 ? new Response(null, { status }) : Response.json(body, { status: status ?? 200 });
  const server = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    fetch: () => (status === undefined ? new Promise<Response>(() => {}) : answer()),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const asked = { label: "lab", server: { url, token: undefined, trust: { kind: "any" } as const } };
  const caller = { grant: OWNER, signal: new AbortController().signal };
  return {
    called: (ms = 5_000, gone?: AbortSignal) =>
      failureOf(callHost(asked, showUpgrade, {}, { ...caller, request: { gone } }, ms)),
    got: (ms = 5_000, mayBeSame = false) =>
      failureOf(getFromHost(asked, "/x", { ms, maxBytes: 100, mayBeSame }, caller)),
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => (error instanceof Failure ? [error.code, error.message] : error),
  );

test("its refusal is that of the desk, but for what the client repeats: that would take it for one of the desk", async () => {
  await using limited = await host(429, { error: "rate limited" });
  expect(await limited.called()).toEqual(["too_many", "lab: rate limited"]);
  expect(await limited.got()).toEqual(["unavailable", "lab: HTTP 429: rate limited"]);
  await using off = await host(403, { error: "off here" });
  expect(await off.called()).toEqual(["forbidden", "lab: off here"]);
  expect(await off.got()).toEqual(["unavailable", "lab: HTTP 403: off here"]);
});

test("that nothing has changed is an answer only where it was asked", async () => {
  await using same = await host(304);
  expect(await same.got()).toEqual(["unavailable", "lab: HTTP 304"]);
  expect(await same.got(5_000, true)).toBeUndefined();
});

test("one that answers nothing of svc, or not in time, is named", async () => {
  await using other = await host(500, { error: "a\u001b[2Jb" });
  expect(await other.called()).toEqual(["unavailable", "lab: HTTP 500: a\\x1b[2Jb"]);
  await using silent = await host();
  expect(await silent.called(20)).toEqual(["timeout", "lab: timeout after 0.02 s"]);
  expect(await silent.got(20)).toEqual(["timeout", "lab: timeout after 0.02 s"]);
});

test("nobody waits for it once the caller has gone, also while it changes something", async () => {
  await using silent = await host();
  expect(await silent.called(60_000, AbortSignal.timeout(20))).toEqual(["unavailable", "lab: cancelled"]);
});

test("an answer at an endpoint is short, whatever the host sends", async () => {
  await using chatty = await host(200, { version: "x".repeat(1_000_000) });
  expect(await chatty.called()).toEqual(["unavailable", "lab: answer larger than 0.25 MiB"]);
});
