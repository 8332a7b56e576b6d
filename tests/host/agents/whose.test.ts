/** Whose sessions and drafts a token sees. */
import { expect, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { type Grant, OWNER } from "../../../src/core/rights";
import {
  dropDraft,
  keepSession,
  listDrafts,
  listSessions,
  mendScript,
} from "../../../src/host/agents/operations";
import { addScript } from "../../../src/host/runs/operations/scripts";
import type { Service } from "../../../src/service/service";
import { testService } from "../../support";

const as = (service: Service, grant: Grant) => localCaller(service, "api", { grant });

const BOT: Grant = { name: "bot", scopes: ["operate"] };
/** Of a token that gets the name a minute from now. */
const later = (): Grant => ({ ...BOT, since: Date.now() + 60_000 });
/** A run for a token of another host, which has the same name there. */
const LIMITED: Grant = { ...BOT, limited: true };

/** A host on which the agent of a token has pressed a button. */
async function pressed(token: string | null) {
  const made = testService();
  const store = await made.service.agentStore();
  const action: [string, Record<string, unknown>] = ["AC_press_element", { element: 'button "Save"' }];
  await store.add({ key: "a", agent: "tester", token }, [{ action, typed: [], checks: [] }]);
  const sessionsOf = async (grant: Grant) =>
    (await callOperation(made.service, listSessions, {}, as(made.service, grant))).sessions.length;
  return { ...made, sessionsOf };
}

test("a token sees its own sessions of agents, and not those of a token that had the name before", async () => {
  await using made = await pressed("bot");
  const { service, sessionsOf } = made;
  expect([await sessionsOf(BOT), await sessionsOf(OWNER)]).toEqual([1, 1]);
  expect([await sessionsOf(later()), await sessionsOf(LIMITED)]).toEqual([0, 0]);
  for (const grant of [later(), LIMITED]) {
    const keep = async () =>
      callOperation(service, keepSession, { session: "last", name: "order" }, as(service, grant));
    expect(keep()).rejects.toThrow("no session is named so");
  }
});

test("what the owner limits to a scope for another host sees nothing of the owner's agents", async () => {
  await using made = await pressed(null);
  const agent: Grant = { name: null, scopes: ["operate"], owner: true };
  expect(await made.sessionsOf(agent)).toBe(1);
  expect(await made.sessionsOf({ name: null, scopes: ["operate"], limited: true })).toBe(0);
});

test("a person sees in their next session what their agents did in the one before", async () => {
  await using made = await pressed("oidc:alice@example.org~0123456789/aaaaaaaa");
  const next = (who: string): Grant => ({ name: `oidc:${who}/bbbbbbbb`, scopes: ["operate"] });
  expect(await made.sessionsOf(next("alice@example.org~0123456789"))).toBe(1);
  expect(await made.sessionsOf(next("alice@example.org~9876543210"))).toBe(0);
});

test("a token sees, mends and drops no draft of a token that had the name before", async () => {
  await using made = testService();
  const { service } = made;
  const actions = [["AC_press_element", { element: 'button "Save"' }]];
  await callOperation(service, addScript, { name: "order", actions }, as(service, OWNER));
  const mend = (grant: Grant, element: string, by: string) =>
    callOperation(service, mendScript, { name: "order", element, by }, as(service, grant));
  const { draft } = await mend(BOT, 'button "Save"', 'button "Secret"');
  const draftsOf = async (grant: Grant) =>
    (await callOperation(service, listDrafts, {}, as(service, grant))).drafts.length;
  expect([await draftsOf(BOT), await draftsOf(later()), await draftsOf(LIMITED)]).toEqual([1, 0, 0]);
  const drop = async () => callOperation(service, dropDraft, { draft }, as(service, later()));
  expect(drop()).rejects.toThrow("no draft has this id");
  // The stored script is what is mended, not the draft of the other.
  const mended = async () => mend(later(), 'button "Secret"', 'button "Store"');
  expect(mended()).rejects.toThrow("no action of order has the locator");
});
