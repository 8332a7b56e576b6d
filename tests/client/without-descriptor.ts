/** Asks the server at an address before, while and after this process may open no file, and prints what it heard, and who is gone. */
import { closeSync, openSync } from "node:fs";
import { type Host, serverOf } from "../../src/desk/fleet/host";
import { createPoller } from "../../src/desk/fleet/poll";
import { surveyed } from "../../src/desk/plans/upgrade/survey";

const [, , url = "", token = ""] = process.argv;
const { port } = new URL(url);
const urls = [url, `https://127.0.0.1:${port}`, `http://localhost:${port}`];
const hosts: Host[] = urls.map((base_url) => ({
  label: base_url.replace(`:${port}`, ""),
  base_url,
  token,
  tags: [],
}));
const reach = (host: Host) => ({ ...serverOf(host), trust: { kind: "any" } as const });

const gone: string[] = [];
const poller = createPoller(async () => {}, {
  healthy() {},
  busy() {},
  sighting: () => undefined,
  gone: ({ label }) => void gone.push(label),
});
const signal = new AbortController().signal;

const book = { reach, askAgain: async () => {} };

async function heard() {
  const polled = await poller.poll(book, hosts, { concurrency: 3, timeoutMs: 5_000 });
  // A connection that is kept needs no other file.
  poller.stop();
  const offered = [{ target: "linux-x64", version: "9.0.0" }];
  const options = { timeoutMs: 5_000, signal, client: null };
  const asked = await surveyed(hosts, (host) => ({ server: reach(host) }), offered, options);
  return {
    polled: polled.map(({ error }) => error),
    asked: asked.map(({ state, why }) => (state === "offline" ? why : state)),
  };
}

const before = await heard();
const held: number[] = [];
try {
  for (;;) held.push(openSync("/dev/null", "r"));
} catch {
  // None is left.
}
gone.length = 0;
const without = await heard();
const missed = [...gone];
// Near the limit, some file is closed before all of the poll have heard why they have no connection.
gone.length = 0;
const many = Array.from({ length: 40 }, (_, nth) => ({ label: `${nth}`, base_url: url, token, tags: [] }));
const free = () => {
  for (const one of held.splice(-1)) closeSync(one);
};
const near = await poller.poll(book, many, { concurrency: 40, timeoutMs: 5_000, polled: free });
poller.stop();
const missedNear = [...gone];
for (const one of held) closeSync(one);
const after = await heard();
console.log(
  JSON.stringify({ before, without, missed, near: near.map(({ error }) => error), missedNear, after }),
);
process.exit();
