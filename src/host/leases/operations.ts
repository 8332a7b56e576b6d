/**
 * The operations of leases.
 */
import * as v from "valibot";
import { type Caller, isRemote } from "../../core/caller";
import { field, NO_INPUT, secret, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { allows, beyond, requireOwnToken } from "../../core/rights";
import { isAlive } from "../../lib/alive";
import { forbidden } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Passkeys } from "../../trust/passkeys/passkeys";
import { LEASE, type Narrower, TERMS } from "./lease";
import type { Leases } from "./leases";

export type { Lease } from "./lease";

interface Uses {
  leases(): Promise<Leases>;
}

interface AllowUses extends Uses {
  passkeys(): Promise<Pick<Passkeys, "sign">>;
}

/** How long a request waits for a person, in milliseconds: clients give up after a minute. */
const WAIT_MS = 45_000;

const ID = {
  id: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(40)), "Id of the lease, as of its approval"),
};

/** Which process of this host asks, where it is one: all of them have the owner's token. */
const HOLDER = {
  holder: field(
    v.optional(
      v.pipe(v.string(), v.regex(/^\(svc mcp [0-9a-f-]{1,60}\)$/, "the name of a process of this host")),
    ),
    "The process of this host that asks",
  ),
};

/** Whose lease it is. @throws a `forbidden` failure for a process that is not on this host. */
function holderOf(caller: Caller, holder: string | undefined): string {
  if (holder !== undefined && isRemote(caller)) throw forbidden("holder: is for processes of this host");
  const { name, since } = caller.grant;
  return holder ?? (name === null ? "" : `${name} ${since ?? ""}`);
}

/** How the name of a process of this host begins. */
const PROCESS = /^\(svc mcp (\d{1,10})-/;

/** Whether the process that asks is still there; undefined where that cannot be seen: none asks, or it is in a container of its own. */
function watchOf(holder: string | undefined): (() => boolean) | undefined {
  const [, pid] = PROCESS.exec(holder ?? "") ?? [];
  return pid !== undefined && isAlive(Number(pid)) ? () => isAlive(Number(pid)) : undefined;
}

const leftOut = { script: "a person gives a lease to an agent, not to a script" };
const BY_AGENT = "an agent asks by its tool lease_request";

const requestLease = operation({
  name: "lease.request",
  summary:
    "Ask a person for a desktop for a while, to act on it without proposing each act; waits, and may be called again",
  scope: "screen",
  asksFirst: true,
  changes: "announces",
  attended: true,
  answeredBy: "server",
  leftOut: { ...leftOut, cli: BY_AGENT },
  http: { method: "POST", path: "/leases/request", repeatable: true },
  example: { what: "enter the three orders of today", minutes: 15, desktop: "new" },
  input: v.strictObject({
    ...TERMS,
    agent: field(v.optional(v.pipe(v.string(), v.maxLength(200)), "unknown"), "What the client calls itself"),
    ...HOLDER,
  }),
  output: LEASE,
  async run(service: Uses, { holder, agent, ...terms }, caller) {
    const { grant, client } = caller;
    requireOwnToken(grant, "a lease");
    const leases = await service.leases();
    const asker = holder === undefined ? grant : { ...grant, name: holder };
    const isThere = watchOf(holder);
    const lease = await leases.request(terms, {
      holder: holderOf(caller, holder),
      agent,
      caller: { grant: asker, client },
      ...(isThere && { isThere }),
    });
    return leases.wait(lease.id, WAIT_MS, caller.signal);
  },
});

export const listLeases = operation({
  name: "lease.list",
  summary:
    "List the leases of agents: those that wait for a person, those that go on, and the last that ended",
  scope: "operate",
  answeredBy: "server",
  leftOut,
  http: { method: "GET", path: "/leases" },
  input: NO_INPUT,
  output: v.object({ leases: v.array(LEASE), active: v.number() }),
  async run(service: Uses) {
    const leases = (await service.leases()).list();
    return { leases, active: leases.filter(({ state }) => state === "active").length };
  },
});

export const showLease = operation({
  name: "lease.show",
  summary: "Show a lease of an agent",
  scope: "operate",
  answeredBy: "server",
  leftOut,
  http: { method: "GET", path: "/leases/{id}" },
  input: v.strictObject(ID),
  output: LEASE,
  run: async (service: Uses, { id }) => (await service.leases()).show(id),
});

const LESS = "than was asked for";

export const allowLease = operation({
  name: "lease.allow",
  summary: "Allow a lease that waits, or less of it; `approvals.allow` allows it as it was asked for",
  scope: "operate",
  changes: "announces",
  answeredBy: "server",
  leftOut,
  http: { method: "POST", path: "/leases/allow", repeatable: true },
  example: { id: "9f1c2e4a", minutes: 5 },
  input: v.strictObject({
    ...ID,
    minutes: field(v.optional(whole(1, 240)), `Fewer minutes ${LESS}`),
    actions: field(v.optional(whole(1, 10_000)), `Fewer actions ${LESS}`),
    windows: field(v.optional(TERMS.windows.wrapped), "Only windows whose title has one of these"),
    programs: field(v.optional(TERMS.programs.wrapped), "Only windows of these programs"),
  }),
  output: LEASE,
  async run(service: AllowUses, { id, ...narrower }, caller) {
    const leases = await service.leases();
    const offer = await leases.offer(id, narrower, caller.grant);
    const wanted = { ...offer, what: "lease.allow", words: `allowing the lease ${id}` };
    const signed = await (await service.passkeys()).sign("leases", wanted, caller);
    await caller.announce(`lease.allow id=${id}${lessText(narrower)}${signed}`);
    return leases.allow(id, narrower, caller.grant);
  },
});

/** How a row shows what is less than was asked for. */
const lessText = (narrower: Narrower): string =>
  Object.entries(narrower)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${printable(JSON.stringify(value) ?? "null", 200)}`)
    .join("");

export const endLease = operation({
  name: "lease.end",
  summary:
    "End a lease at once: keys are released, and nothing of it goes on; that of another token needs operate",
  scope: "screen",
  asksFirst: true,
  changes: true,
  answeredBy: "server",
  leftOut,
  http: { method: "POST", path: "/leases/end", repeatable: true },
  input: v.strictObject({ ...ID, ...HOLDER }),
  output: LEASE,
  async run(service: Uses, { id, holder }, caller) {
    const leases = await service.leases();
    const isOwn = leases.holderOf(id) === holderOf(caller, holder);
    if (!isOwn && !allows(caller.grant, "operate"))
      throw forbidden(beyond(caller.grant, "ending the lease of another needs operate"));
    return leases.end(
      id,
      isOwn ? "the agent gave it back" : `${caller.grant.name ?? "the owner"} stopped it`,
    );
  },
});

const BY_SVC = "what an agent does within its lease goes there by itself";
const INNER = { http: BY_SVC, cli: BY_SVC, script: BY_SVC };

export const currentLease = operation({
  name: "lease.current",
  summary: "Say which lease an agent has",
  scope: "screen",
  asksFirst: true,
  acts: true,
  answeredBy: "server",
  leftOut: INNER,
  input: v.strictObject(HOLDER),
  output: v.object({ lease: v.nullable(LEASE) }),
  run: async (service: Uses, { holder }, caller) => ({
    lease: (await service.leases()).of(holderOf(caller, holder)) ?? null,
  }),
});

export const useLease = operation({
  name: "lease.use",
  summary: "Do what an agent wants within its lease",
  scope: "screen",
  asksFirst: true,
  acts: true,
  attended: true,
  answeredBy: "server",
  leftOut: INNER,
  input: v.strictObject({
    ...ID,
    ...HOLDER,
    operation: field(v.pipe(v.string(), v.maxLength(100)), "Name of the operation"),
    input: field(secret(v.record(v.string(), v.unknown())), "Its input"),
  }),
  output: v.object({ result: v.unknown(), lease: LEASE }),
  run: async (service: Uses, { holder, ...use }, caller) =>
    (await service.leases()).use({ ...use, holder: holderOf(caller, holder) }, caller),
});

export const operations = [requestLease, listLeases, showLease, allowLease, endLease, currentLease, useLease];
