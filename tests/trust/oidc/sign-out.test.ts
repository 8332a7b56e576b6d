/** What ends when a person signs out at the provider, which tells this server (back-channel logout). */
import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { unavailable } from "../../../src/lib/errors";
import { configFiles } from "../../../src/lib/paths";
import { STREAM_PROTOCOL } from "../../../src/wire/screen/stream";
import { GREETING, standIn } from "../../host/desktop/screen/stand-in";
import { post, until } from "../../support";
import { logoutToken, signingKey } from "./provider";
import { pageOf, setUp } from "./support";

setDefaultTimeout(60_000);

/** Within how many milliseconds all of a session ends. */
const ENDED_MS = 5_000;

/** The live screen of a ticket: what came over it, and its end. */
function watch({ ticket, url }: { readonly ticket: string; readonly url: string }) {
  const socket = new WebSocket(url, [STREAM_PROTOCOL, `ticket.${ticket}`]);
  socket.binaryType = "arraybuffer";
  let text = "";
  socket.onmessage = ({ data }) => {
    text += Buffer.from(data).toString("latin1");
  };
  const closed = new Promise<void>((resolve) => {
    socket.onclose = () => resolve();
  });
  return { closed, text: () => text };
}

test("signing out at the provider ends the live screen, the stream of events and the run of that person within 5 s, and nothing of others", async () => {
  using screen = standIn();
  // Without a look each second at what has ended: the word of the provider alone does it.
  await using desk = await setUp({ groups: { "*": { scope: ["desk"] } }, background: false });
  Object.assign(desk.service, { desktop: async () => screen.desktop });
  const headers = { ...Object(pageOf(desk.url).headers), "content-type": "application/json" };
  /** Somebody who has a screen, a stream and a run. */
  const busy = async (account: string) => {
    const { browser } = await desk.signIn(account);
    const ask = (path: string, body: unknown) =>
      browser.ask(`${desk.url}${path}`, { ...post(body), headers });
    const seen = watch(Object(await (await ask("/screen/ticket", {})).json()));
    await until("the screen", () => seen.text() === GREETING);
    const stream = await browser.ask(`${desk.url}/events`, {
      headers: { ...headers, accept: "text/event-stream" },
    });
    const reader = stream.body?.getReader();
    await reader?.read();
    const events = (async () => {
      for (let read = await reader?.read(); read && !read.done; read = await reader?.read());
    })();
    const run = ask("/execute", { actions: [["AC_sleep", { seconds: 60 }]] }).catch(() => {});
    const token = async () => (await browser.ask(`${desk.url}/token`, { headers })).status;
    return { browser, seen, events, run, token };
  };
  const statuses = () => runsOf(desk);
  const alice = await busy("alice");
  const bob = await busy("bob");
  await until("both runs", async () => `${await statuses()}` === "running,running");

  const started = performance.now();
  await alice.browser.signIn(`${desk.peer.issuer}/session/end`, "alice", () => false);
  await Promise.all([alice.seen.closed, alice.events, alice.run]);
  await until("the end of the run", async () => `${await statuses()}` === "cancelled,running");
  expect(performance.now() - started).toBeLessThan(ENDED_MS);
  expect([await alice.token(), await bob.token()]).toEqual([401, 200]);
  await until("the screen of bob alone", () => screen.streams.size === 1);
  // Else the desk would wait for his run as it stops.
  await bob.browser.signIn(`${desk.peer.issuer}/session/end`, "bob", () => false);
  await bob.run;
});

/** How its runs are, in the order of these words. */
async function runsOf({ call }: { readonly call: (path: string) => Promise<Response> }): Promise<string[]> {
  const { runs } = Object(await (await call("/runs")).json());
  return runs.map(({ status }: { status: string }) => status).toSorted();
}

/** A desk at which alice is signed in, and the word of the provider that she is not. */
async function signedOutDesk() {
  const key = await signingKey("first");
  const desk = await setUp({ keys: [key], background: false });
  const { browser } = await desk.signIn("alice");
  const token = await logoutToken(key, desk.peer.issuer);
  const logout = async () => {
    const body = new URLSearchParams({ logout_token: token });
    return (await fetch(`${desk.url}/oidc/backchannel-logout`, { method: "POST", body })).status;
  };
  const status = async () => (await browser.ask(`${desk.url}/token`, pageOf(desk.url))).status;
  const headers = { ...Object(pageOf(desk.url).headers), "content-type": "application/json" };
  const ask = (path: string, body: unknown) => browser.ask(`${desk.url}${path}`, { ...post(body), headers });
  return { ...desk, logout, status, ask, runs: () => runsOf(desk) };
}

test("a log that cannot be written keeps nobody signed in, and has its row once the provider says it again", async () => {
  await using desk = await signedOutDesk();
  const log = await desk.service.audit();
  if (!log) throw new Error("no log");
  const broken = spyOn(log, "append").mockRejectedValue(unavailable("the disk is full"));
  expect(await desk.logout()).toBe(503);
  broken.mockRestore();
  expect(await desk.status()).toBe(401);
  expect(await desk.logout()).toBe(200);
  expect(JSON.stringify(await (await desk.call("/audit/list?limit=50")).json())).toContain(
    "started oidc.provider_logout of all sessions of a person",
  );
  expect(await desk.logout()).toBe(400);
});

test("a file that cannot be written keeps nobody signed in either, and is written once the provider says it again", async () => {
  await using desk = await signedOutDesk();
  const { tokens, tokensLock } = configFiles(desk.configDir);
  rmSync(tokensLock);
  // Nobody can lock that.
  mkdirSync(tokensLock);
  const run = desk.ask("/execute", { actions: [["AC_sleep", { seconds: 60 }]] });
  await until("the run", async () => `${await desk.runs()}` === "running");
  expect(await desk.logout()).toBeGreaterThanOrEqual(500);
  expect(await desk.status()).toBe(401);
  await run.catch(() => {});
  expect(await desk.runs()).toEqual(["cancelled"]);
  rmSync(tokensLock, { recursive: true });
  expect(await desk.logout()).toBe(200);
  expect(JSON.parse(readFileSync(tokens, "utf8")).tokens).toEqual([]);
});

test("work that could not be ended is ended once the provider says it again", async () => {
  await using desk = await signedOutDesk();
  const ending = spyOn(desk.service, "endWorkOf").mockRejectedValueOnce(unavailable("not now"));
  expect(await desk.logout()).toBe(503);
  expect(ending).toHaveBeenCalledTimes(1);
  expect(await desk.status()).toBe(401);
  expect(await desk.logout()).toBe(200);
  expect(ending).toHaveBeenCalledTimes(2);
  const [[first], [second]] = [ending.mock.calls[0] ?? [], ending.mock.calls[1] ?? []];
  expect(second).toBe(first ?? "none");
});
