/** What is kept of agents: sessions and drafts, each within bounds. */
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

function openStore() {
  const folder = temporaryFolder();
  const store = createAgentStore(join(folder.path, "agents.db"));
  return {
    store,
    [Symbol.dispose]() {
      store.close();
      folder[Symbol.dispose]();
    },
  };
}

test("a client's acts are one session, and a token sees its own alone", () => {
  using opened = openStore();
  const { store } = opened;
  expect(store.sessions(undefined)).toEqual([]);
  store.add(of("a", "bot"), [act("one")]);
  store.add(of("a", "bot"), [act("two")]);
  store.add(of("b"), [act("three")]);
  expect(store.sessions(by("bot")).map(({ acts }) => acts)).toEqual([2]);
  expect(store.sessions(undefined)).toHaveLength(2);
  const { session, done } = store.session("last", by("bot"));
  expect(done.map(({ action }) => action[1].element)).toEqual(["one", "two"]);
  expect(() => store.session(session, by("another"))).toThrow("no session is named so");
});

test("what a token does that got the name of another is a session of its own", async () => {
  using opened = openStore();
  const { store } = opened;
  store.add(of("a", "bot"), [act("one")]);
  const since = Date.now() + 1;
  await until("another millisecond", () => Date.now() >= since);
  const later = { ...of("a", "bot"), since };
  store.add(later, [act("two")]);
  store.add(later, [act("three")]);
  expect(store.sessions(undefined).map(({ acts }) => acts)).toEqual([2, 1]);
});

test("a session has 500 acts at most, and says how many are left out; 50 sessions are kept", () => {
  using opened = openStore();
  const { store } = opened;
  store.add(
    of("long"),
    Array.from({ length: 510 }, () => act("x")),
  );
  expect(store.session("last", undefined)).toMatchObject({ acts: 500, left_out: 10 });
  for (let nth = 0; nth < 60; nth++) store.add(of(`${nth}`), [act("x")]);
  expect(store.sessions(undefined)).toHaveLength(50);
});

test("a draft takes the place of one of the same token and name, and is there until it is dropped", () => {
  using opened = openStore();
  const { store } = opened;
  const draft = (name: string) => ({
    ...{ name, token: null, source: "session x", parameters: [], stop_on_error: true },
    ...{ timeout_s: 600, variables: {}, actions: [["AC_sleep", { seconds: 1 }]] },
  });
  const first = store.propose(draft("order"));
  const second = store.propose(draft("order"));
  expect(store.drafts(undefined).map((one) => one.draft)).toEqual([second.draft]);
  expect(() => store.draft(first.draft, undefined)).toThrow("no draft has this id");
  store.drop(second.draft);
  expect(store.drafts(undefined)).toEqual([]);
});
