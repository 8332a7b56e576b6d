/** What ends when a person signs out at the provider, which tells this server (back-channel logout). */
import { expect, setDefaultTimeout, test } from "bun:test";
import { STREAM_PROTOCOL } from "../../../src/wire/screen/stream";
import { GREETING, standIn } from "../../host/desktop/screen/stand-in";
import { post, until } from "../../support";
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
  await using desk = await setUp({ groups: { "*": { scope: ["desk"] } } });
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
  const statuses = async () => {
    const { runs } = Object(await (await desk.call("/runs")).json());
    return runs.map(({ status }: { status: string }) => status).toSorted();
  };
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
});
