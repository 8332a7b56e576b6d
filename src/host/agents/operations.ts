/**
 * The operations on what agents did: sessions, scripts made of them, mended scripts, and the drafts of both that wait for a person.
 *
 * Promise: none of them stores a script but `scripts.store`, which needs `admin`: no agent has it.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, NO_INPUT, SHA256, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { allows, type Grant, maySee, NAME_TEXT } from "../../core/rights";
import { badInput, conflict, Failure, rejected } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { nextSlice } from "../../lib/turn";
import type { StoredScript, StoredScripts } from "../runs/stored-scripts";
import { scriptOf, wordsOf } from "./keep";
import { mended } from "./mended";
import { diffOf, linesOf } from "./script-diff";
import type { AgentStore, Draft, Sees } from "./store";

interface Uses {
  agentStore(): Promise<AgentStore>;
  storedScripts(): Promise<StoredScripts>;
  checkScript(actions: unknown): Promise<void>;
  locatorLine(fields: unknown): Promise<string | undefined>;
  /** `shown`: a list as it was written, without its secrets. @throws where it is wrong. */
  executor(): Promise<{ shown(list: unknown): Promise<unknown[]> }>;
  storeScript(
    script: Parameters<StoredScripts["add"]>[0],
    replace: boolean,
    caller: Caller,
    operation: string,
  ): Promise<StoredScript>;
}

/** How long a kept script may run, in seconds. */
const TIMEOUT_S = 600;
/** How many acts of each session a list says, and of one that is asked for. */
const MAX_SAID = 5;
const MAX_SAID_OF_ONE = 500;

const leftOut = { script: "a person reads a script before it is stored" };
const NAME = field(NAME_TEXT, "Name of the script");

/** What a caller sees: all for who may do all; else what its token has made. An agent of the owner sees the owner's. */
const seenBy =
  ({ grant }: { readonly grant: Grant }): Sees =>
  (made) =>
    maySee(grant, made);

const SESSION = v.object({
  session: v.string(),
  /** What the agent calls itself. */
  agent: v.string(),
  /** Its token; null for the owner of the host. */
  token: v.nullable(v.string()),
  /** ISO 8601. */
  began: v.string(),
  last: v.string(),
  acts: v.number(),
  /** Acts for which there was no room. */
  left_out: v.number(),
  /** The last acts in words, without what was typed. Names are those of programs: untrusted. */
  did: v.array(v.string()),
});

/** A session of an agent, as it is listed. */
export type ListedSession = Readonly<v.InferOutput<typeof SESSION>>;

/** Undefined for a session that has gone while others were looked at. */
function orGone(error: unknown): undefined {
  if (error instanceof Failure && error.code === "not_found") return;
  throw error;
}

export const listSessions = operation({
  name: "mcp.sessions",
  summary: "List the sessions of agents of the last 7 days, with what they did",
  scope: "operate",
  reveals: true,
  leftOut,
  http: { method: "GET", path: "/mcp/sessions" },
  input: v.strictObject({
    session: field(
      v.optional(v.pipe(v.string(), v.minLength(4), v.maxLength(8))),
      "Only this one, with all that it did (`last`: the newest)",
    ),
  }),
  output: v.object({ sessions: v.array(SESSION) }),
  async run(service: Uses, { session }, caller) {
    const store = await service.agentStore();
    const rows =
      session === undefined
        ? await store.sessions(seenBy(caller))
        : [await store.session(session, seenBy(caller))];
    const most = session === undefined ? MAX_SAID : MAX_SAID_OF_ONE;
    const sessions: ListedSession[] = [];
    for (const { session: id, agent, token, began, last, acts, left_out } of rows) {
      const waits = nextSlice();
      if (waits) await waits;
      const found = await store.session(id, seenBy(caller)).catch(orGone);
      const did = found?.done.slice(-most).map(wordsOf);
      if (did) sessions.push({ session: id, agent, token, began, last, acts, left_out, did });
    }
    return { sessions };
  },
});

const DRAFT_VIEW = v.object({
  draft: v.string(),
  name: v.string(),
  token: v.nullable(v.string()),
  source: v.string(),
  made: v.string(),
  /** Of what would be stored, and would be in its place. */
  sha256: v.string(),
  /** Whether a script of that name is stored. */
  replaces: v.boolean(),
  parameters: v.array(v.string()),
  actions: v.number(),
  /** What differs from the stored script, a line each: `+ ` for a new one. It has what was typed. */
  diff: secret(v.array(v.string())),
});

/** Of what a person reads. */
const digestOf = (draft: Draft): string =>
  Bun.SHA256.hash(JSON.stringify([draft.name, linesOf(draft), draft.actions]), "hex");

type ShownScript = NonNullable<Parameters<typeof diffOf>[0]>;

/** A script for who may not store one: what it types, and the values of its parameters, are not for them. */
async function withoutTexts(service: Uses, script: ShownScript): Promise<ShownScript> {
  const executor = await service.executor();
  // One that this svc refuses is not known to have no secrets where it shows texts.
  const actions = await executor.shown(script.actions).catch(() => []);
  const variables = Object.fromEntries(Object.keys(script.variables ?? {}).map((name) => [name, "***"]));
  return { ...script, actions, variables };
}

/** What differs. A draft in place of a stored script has, and differs from, what somebody else wrote. */
async function differences(service: Uses, stored: ShownScript | undefined, draft: Draft, grant: Grant) {
  if (!stored || allows(grant, "admin")) return diffOf(stored, draft);
  const [before, now] = await Promise.all([withoutTexts(service, stored), withoutTexts(service, draft)]);
  return diffOf(before, now);
}

async function viewOf(
  service: Uses,
  draft: Draft,
  { grant }: Pick<Caller, "grant">,
): Promise<v.InferInput<typeof DRAFT_VIEW>> {
  const stored = (await service.storedScripts()).list().find(({ name }) => name === draft.name);
  const { name, token, source, made, parameters, actions } = draft;
  return {
    draft: draft.draft,
    name,
    token,
    source,
    made,
    parameters,
    sha256: digestOf(draft),
    replaces: stored !== undefined,
    actions: actions.length,
    diff: await differences(service, stored, draft, grant),
  };
}

const MADE = { ...DRAFT_VIEW.entries, warnings: v.array(v.string()) };

export const keepSession = operation({
  name: "mcp.keep",
  summary: "Make a script of what an agent did in a session: a draft, which a person stores",
  scope: "operate",
  changes: true,
  answeredBy: "owner",
  leftOut,
  http: { method: "POST", path: "/mcp/keep" },
  example: { session: "last", name: "order" },
  input: v.strictObject({
    session: field(
      v.pipe(v.string(), v.minLength(4), v.maxLength(8)),
      "Id of the session; `last`: the newest",
    ),
    name: NAME,
    secrets: field(
      v.optional(
        v.pipe(
          v.array(v.pipe(v.string(), v.regex(/^\w{1,64}=[\w.-]{1,64}$/, "PARAMETER=SECRET"))),
          v.maxLength(50),
        ),
        [],
      ),
      "Secrets of the host in place of parameters: PARAMETER=SECRET",
    ),
  }),
  output: v.object(MADE),
  async run(service: Uses, { session: id, name, secrets }, caller) {
    const store = await service.agentStore();
    const { session, agent, done, left_out } = await store.session(id, seenBy(caller));
    const filled = new Map(secrets.map((pair) => pair.split("=") as [string, string]));
    const made = scriptOf(done, filled);
    if (made.actions.length === 0) throw rejected(`session ${session} has done nothing that a script can do`);
    const known = filled.size > 0 ? scriptOf(done).parameters : [];
    const odd = [...filled.keys()].find((one) => !known.includes(one));
    if (odd !== undefined)
      throw badInput(`secrets: ${odd} is no parameter: expected one of ${known.join(", ") || "none"}`);
    await service.checkScript(made.actions);
    const draft = await store.propose({
      name,
      token: caller.grant.name,
      source: `session ${session} of ${agent}`,
      stop_on_error: true as const,
      timeout_s: TIMEOUT_S,
      ...made,
    });
    const given = made.parameters.filter((one) => !Object.hasOwn(made.variables, one));
    const warnings = [
      ...(left_out > 0
        ? [`${left_out} acts of the session are not in it: it has done too much to be kept`]
        : []),
      ...(given.length > 0
        ? [`whoever runs it gives ${given.join(", ")}: it was typed into a secret field`]
        : []),
    ];
    return { ...(await viewOf(service, draft, caller)), warnings };
  },
});

export const mendScript = operation({
  name: "scripts.mend",
  summary: "Put another locator in place of one that no longer fits: a draft, which a person stores",
  scope: "operate",
  changes: true,
  answeredBy: "owner",
  leftOut,
  http: { method: "POST", path: "/scripts/mend" },
  example: { name: "order", element: 'button "Save"', by: 'button "Store"' },
  input: v.strictObject({
    name: NAME,
    element: field(
      v.pipe(v.string(), v.nonEmpty(), v.maxLength(2_000)),
      "The locator that is not found any more",
    ),
    by: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(2_000)), "The locator in its place"),
  }),
  output: v.object(MADE),
  async run(service: Uses, { name, element, by }, caller) {
    const { sha256: _, added: __, variables = {}, ...stored } = (await service.storedScripts()).get(name);
    const lineOf = (fields: unknown) => service.locatorLine(fields);
    if ((await lineOf({ element: by })) === undefined)
      throw badInput(`by: ${printable(by, 200)} is no locator`);
    // A draft of the same token goes on being mended, one step after the other.
    const store = await service.agentStore();
    const { name: token } = caller.grant;
    const waiting = (await store.drafts(seenBy(caller))).find(
      (one) => one.name === name && one.token === token,
    );
    const { actions, count } = await mended(waiting?.actions ?? stored.actions, element, by, lineOf);
    if (count === 0) throw rejected(`no action of ${name} has the locator ${printable(element, 200)}`);
    await service.checkScript(actions);
    const source = `${element} is ${by} now`.slice(0, 500);
    const draft = await store.propose({ ...stored, token, source, variables, actions });
    return { ...(await viewOf(service, draft, caller)), warnings: [] };
  },
});

export const listDrafts = operation({
  name: "scripts.drafts",
  summary: "List the scripts that wait for a person, each as what differs from the stored one",
  scope: "operate",
  reveals: true,
  answeredBy: "server or here",
  leftOut,
  http: { method: "GET", path: "/scripts/drafts" },
  input: NO_INPUT,
  output: v.object({ drafts: v.array(DRAFT_VIEW) }),
  async run(service: Uses, _input, caller) {
    const all = await (await service.agentStore()).drafts(seenBy(caller));
    const drafts: Array<v.InferInput<typeof DRAFT_VIEW>> = [];
    for (const draft of all) {
      // What differs between two long scripts takes a while.
      const waits = nextSlice();
      if (waits) await waits;
      drafts.push(await viewOf(service, draft, caller));
    }
    return { drafts };
  },
});

const DRAFT_ID = field(v.pipe(v.string(), v.length(8)), "Id of the draft");

export const storeDraft = operation({
  name: "scripts.store",
  summary: "Store a script that waits for a person, as it was shown",
  answeredBy: "owner",
  scope: "admin",
  changes: "announces",
  leftOut,
  http: { method: "POST", path: "/scripts/store" },
  example: { draft: "9f1c2e4a", sha256: "0".repeat(64) },
  input: v.strictObject({
    draft: DRAFT_ID,
    sha256: field(v.optional(SHA256), "The digest that was shown: another draft is not stored"),
  }),
  output: v.object({ name: v.string(), sha256: v.string(), parameters: v.array(v.string()) }),
  async run(service: Uses, { draft: id, sha256 }, caller) {
    const store = await service.agentStore();
    const draft = await store.draft(id, undefined);
    if (sha256 !== undefined && digestOf(draft) !== sha256)
      throw conflict(`draft ${id} is not the one that was shown: look at it again`);
    const { draft: _, token: __, source: ___, made: ____, ...script } = draft;
    const {
      name,
      sha256: stored,
      parameters,
    } = await service.storeScript(script, true, caller, "scripts.store");
    await store.drop(id);
    return { name, sha256: stored, parameters };
  },
});

export const dropDraft = operation({
  name: "scripts.drop",
  summary: "Forget a script that waits for a person",
  answeredBy: "owner",
  scope: "operate",
  changes: true,
  leftOut,
  http: { method: "POST", path: "/scripts/drop" },
  example: { draft: "9f1c2e4a" },
  input: v.strictObject({ draft: DRAFT_ID }),
  output: v.object({ dropped: v.string() }),
  async run(service: Uses, { draft: id }, caller) {
    const store = await service.agentStore();
    const { name } = await store.draft(id, seenBy(caller));
    await store.drop(id);
    return { dropped: name };
  },
});

export const operations = [listSessions, keepSession, mendScript, listDrafts, storeDraft, dropDraft];
