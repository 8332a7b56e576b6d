/** What is kept of agents: sessions and drafts, each within bounds. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Origin } from "../../../src/core/rights";
import { type Act, createAgentStore } from "../../../src/host/agents/store";
import { temporaryFolder, until } from "../../support";

const act = (element: string): Act => ({ action: ["AC_press_element", { element }], typed: [], checks: [] });
const of = (key: string, token: string | null = null) => ({ key, agent: "tester", token });
/** Sees what the token of that name has made. */
const by =
  (token: string) =>
  ({ maker }: Origin) =>
    maker === token;

function openStore(oldest?: (keptMs: number) => number) {
  const folder = temporaryFolder();
  const store = createAgentStore(join(folder.path, "agents.db"), oldest);
  return {
    ...{ store, path: join(folder.path, "agents.db") },
    [Symbol.dispose]() {
      store.close();
      folder[Symbol.dispose]();
    },
  };
}

test("a client's acts are one session, and a token sees its own alone", async () => {
  using opened = openStore();
  const { store } = opened;
  expect(await store.sessions(undefined)).toEqual([]);
  await store.add(of("a", "bot"), [act("one")]);
  await store.add(of("a", "bot"), [act("two")]);
  await store.add(of("b"), [act("three")]);
  expect((await store.sessions(by("bot"))).map(({ acts }) => acts)).toEqual([2]);
  expect(await store.sessions(undefined)).toHaveLength(2);
  const { session, done } = await store.session("last", by("bot"));
  expect(done.map(({ action }) => action[1].element)).toEqual(["one", "two"]);
  await expect(store.session(session, by("another"))).rejects.toThrow("no session is named so");
});

test("what a token does that got the name of another is a session of its own", async () => {
  using opened = openStore();
  const { store } = opened;
  await store.add(of("a", "bot"), [act("one")]);
  const since = Date.now() + 1;
  await until("another millisecond", () => Date.now() >= since);
  const later = { ...of("a", "bot"), since };
  await store.add(later, [act("two")]);
  await store.add(later, [act("three")]);
  expect((await store.sessions(undefined)).map(({ acts }) => acts)).toEqual([2, 1]);
});

test("a session has 500 acts at most, and says how many are left out; 50 sessions are kept", async () => {
  using opened = openStore();
  const { store } = opened;
  await store.add(
    of("long"),
    Array.from({ length: 510 }, () => act("x")),
  );
  expect(await store.session("last", undefined)).toMatchObject({ acts: 500, left_out: 10 });
  for (let nth = 0; nth < 60; nth++) await store.add(of(`${nth}`), [act("x")]);
  expect(await store.sessions(undefined)).toHaveLength(50);
});

test("a draft takes the place of one of the same token and name, and is there until it is dropped", async () => {
  using opened = openStore();
  const { store } = opened;
  const draft = (name: string) => ({
    ...{ name, token: null, source: "session x", parameters: [], stop_on_error: true },
    ...{ timeout_s: 600, variables: {}, actions: [["AC_sleep", { seconds: 1 }]] },
  });
  const first = await store.propose(draft("order"));
  const second = await store.propose(draft("order"));
  expect((await store.drafts(undefined)).map((one) => one.draft)).toEqual([second.draft]);
  await expect(store.draft(first.draft, undefined)).rejects.toThrow("no draft has this id");
  await store.drop(second.draft);
  expect(await store.drafts(undefined)).toEqual([]);
});

test("while another process writes, what is kept waits, and the event loop does not", async () => {
  using opened = openStore();
  const { store, path } = opened;
  await store.add(of("a"), [act("one")]);
  using other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  const before = performance.now();
  const adding = store.add(of("a"), [act("two")]);
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(performance.now() - before).toBeLessThan(500);
  other.run("COMMIT");
  await adding;
  expect((await store.sessions(undefined)).map(({ acts }) => acts)).toEqual([2]);
});

test("one token pushes out no sessions of others, and leaves room for their drafts", async () => {
  using opened = openStore();
  const { store } = opened;
  for (const key of ["a", "b", "c"]) await store.add(of(key, "careful"), [act(key)]);
  for (let nth = 0; nth < 60; nth++) await store.add(of(`${nth}`, "eager"), [act("x")]);
  expect(await store.sessions(undefined)).toHaveLength(50);
  expect(await store.sessions(by("careful"))).toHaveLength(3);
  const draft = (name: string, token: string) =>
    store.propose({
      ...{ name, token, source: "", parameters: [], stop_on_error: true, timeout_s: 1 },
      ...{ variables: {}, actions: [["AC_sleep", [0]]] },
    });
  for (let nth = 0; nth < 25; nth++) await draft(`one-${nth}`, "eager");
  await expect(draft("another", "eager")).rejects.toThrow("and leaves the rest to others");
  expect(await draft("another", "careful")).toMatchObject({ name: "another" });
});

test("what is older than a week goes, and not before that is sure: the clock may be ahead", async () => {
  let now = 0;
  using opened = openStore((keptMs) => now - keptMs);
  const { store } = opened;
  const draft = (name: string) =>
    store.propose({
      ...{ name, token: null, source: "", parameters: [], stop_on_error: true, timeout_s: 1 },
      ...{ variables: {}, actions: [["AC_sleep", [0]]] },
    });
  await store.add(of("old"), [act("x")]);
  await draft("old");
  using db = new Database(opened.path);
  for (const set of ["session SET last", "draft SET made"])
    db.run(`UPDATE ${set} = '2020-01-01T00:00:00.000Z'`);
  await store.add(of("new"), [act("x")]);
  await draft("new");
  now = 7 * 86_400_000;
  expect([(await store.drafts(undefined)).length, (await store.sessions(undefined)).length]).toEqual([2, 2]);
  now = Date.now();
  await store.add(of("new"), [act("x")]);
  await draft("newer");
  expect((await store.drafts(undefined)).map(({ name }) => name).toSorted()).toEqual(["new", "newer"]);
  expect(await store.sessions(undefined)).toHaveLength(1);
});

test("a draft that is too old by the clock makes room for a new one, whether or not that is sure", async () => {
  using opened = openStore(() => 0);
  const draft = (name: string) =>
    opened.store.propose({
      ...{ name, token: null, source: "", parameters: [], stop_on_error: true, timeout_s: 1 },
      ...{ variables: {}, actions: [["AC_sleep", [0]]] },
    });
  for (let nth = 0; nth < 50; nth++) await draft(`${nth}`);
  await expect(draft("one more")).rejects.toMatchObject({ code: "conflict" });
  using db = new Database(opened.path);
  db.run("UPDATE draft SET made = '2020-01-01T00:00:00.000Z' WHERE name = '7'");
  await draft("one more");
  expect((await opened.store.drafts(undefined)).length).toBe(50);
});
