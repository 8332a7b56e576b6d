/**
 * Calls within a lease: an agent asks a person for a desktop for a while, and then acts on it without proposing each act.
 *
 * The promise: what it does there goes through the lease alone, which says what is allowed and ends by itself.
 */
import type { Caller } from "../../core/caller";
import type { Operation } from "../../core/operation";
import { allows, type Grant } from "../../core/rights";
import { badInput, conflict, forbidden } from "../../lib/errors";
import type { Lease } from "../leases/lease";
import { type Content, type ToolResult, text, UNTRUSTED } from "./content";
import { agentGrant } from "./grant";
import { isPicture, isProposed } from "./tools";
import { isOfDesktop, LEASE_TOOLS, offeredInLease } from "./toolsets";

/** The leases of agents, as this process reaches them. */
export interface AgentLeases {
  /** That of the caller, also where it has ended since it was last asked for; undefined for none. */
  current(caller: Caller): Promise<Lease | undefined> | Lease | undefined;
  /** The process that asks, where it is not the server. */
  readonly holder?: string;
  /** Called before one is asked for. */
  asks?(): void;
}

type Fields = Readonly<Record<string, unknown>>;

/** What calls within a lease are made with. */
export interface LeasedParts {
  readonly operations: readonly Operation[];
  readonly leases: AgentLeases;
  perform(operation: Operation, input: unknown, caller: Caller): unknown;
}

interface LeasedCall {
  readonly operation: Operation;
  readonly fields: Fields;
  readonly caller: Caller;
  /** The longest side of a picture, in pixels. */
  readonly side: number;
  /** Whether the answer is to have a picture, also where its operation gives none. */
  readonly look: boolean;
}

/** Whether a token may act in a lease, though not by itself: it may ask for one. */
export const mayLease = (grant: Grant, operation: Operation, offered: readonly Operation[]): boolean =>
  isOfDesktop(operation.name) &&
  isProposed(operation) &&
  allows(agentGrant(grant), "screen") &&
  offered.some((one) => one.name === "lease.request");

/** Asks for a lease, or gives it back. @param agent what the client calls itself. */
export async function askOrEnd(
  { perform, leases }: LeasedParts,
  operation: Operation,
  given: Fields,
  agent: string,
  caller: Caller,
): Promise<ToolResult> {
  const odd = ["agent", "holder"].find((field) => Object.hasOwn(given, field));
  if (odd !== undefined) throw badInput(`${odd}: expected no such field`);
  const { holder } = leases;
  const isAsking = operation.name === "lease.request";
  if (isAsking) leases.asks?.();
  const own = { ...given, ...(isAsking && { agent }), ...(holder !== undefined && { holder }) };
  const lease = (await perform(operation, own, caller)) as Lease;
  // Its end is told here.
  if (lease.state === "ended") await leases.current(caller);
  return { content: [text(stateText(lease))], structuredContent: { lease: ownOf(lease) } };
}

/**
 * The lease through which a call goes; undefined where it does not.
 *
 * @throws `cancelled` once after a lease has ended; `conflict` while it waits; `forbidden` for a token that may act in a lease alone.
 */
export async function leaseFor(
  { leases }: LeasedParts,
  operation: Operation,
  caller: Caller,
): Promise<Lease | undefined> {
  if (!isOfDesktop(operation.name)) return undefined;
  const lease = await leases.current(caller);
  const acts = isProposed(operation);
  if (lease?.state === "active") {
    // An act that it does not have ends it; a look that it does not have is that of any agent.
    return acts || offeredInLease(lease.toolsets).has(operation.name) ? lease : undefined;
  }
  if (lease?.state === "ended" && acts) throw conflict(`${endText(lease)} Nothing was done now.`);
  if (acts && !allows(agentGrant(caller.grant), operation.scope))
    throw forbidden(
      `this token acts within a lease alone: ${lease ? `${lease.id} has not begun yet, a person has to allow it` : "ask for one with lease_request"}`,
    );
  return undefined;
}

/** Does a call within a lease. */
export async function useIn(
  { operations, perform, leases }: LeasedParts,
  { id }: Lease,
  { operation, fields, caller, side, look }: LeasedCall,
): Promise<ToolResult> {
  const use = named(operations, "lease.use");
  const { holder } = leases;
  const run = async (one: Operation, input: Fields) =>
    (await perform(
      use,
      { id, operation: one.name, input, ...(holder !== undefined && { holder }) },
      caller,
    )) as { readonly result: unknown; readonly lease: Lease };
  const { result, lease } = await run(operation, fields);
  const { contentOf, pictureOf } = await import("./picture");
  const content: Content[] = await (isPicture(operation) ? pictureOf(result, { side }) : contentOf(result));
  if (look || showsNothing(operation, result)) {
    const { result: shot } = await run(named(operations, "desktop.screenshot"), {});
    content.push(...(await pictureOf(shot, { side })));
  }
  return { content: [text(leftText(lease)), ...content], _meta: { ...UNTRUSTED, "svc/lease": id } };
}

/** Whether a look by name shows nothing at all: programs that have no names for what they show. */
const showsNothing = ({ name }: Operation, result: unknown): boolean => {
  const { lines, since } = Object(result);
  return name === "desktop.snapshot" && since === null && Array.isArray(lines) && lines.length === 0;
};

function named(operations: readonly Operation[], name: string): Operation {
  const found = operations.find((one) => one.name === name);
  if (!found) throw conflict(`${name} is not among the operations of this svc`);
  return found;
}

export const isLeaseTool = ({ name }: Operation): boolean => LEASE_TOOLS.has(name);

const leftText = ({ id, state, actions, used, left_s, reason }: Lease): string =>
  state === "active"
    ? `Lease ${id}: ${actions - used} of ${actions} actions and ${minutesText(left_s ?? 0)} left.`
    : `Lease ${id} has ended: ${reason}.`;

const minutesText = (seconds: number): string =>
  seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} minutes`;

const endText = ({ id, reason }: Lease): string =>
  `The lease ${id} has ended: ${reason}. Ask for another with lease_request, if a person should give one.`;

function stateText(lease: Lease): string {
  const { id, state } = lease;
  if (state === "ended") return endText(lease);
  if (state !== "active")
    return [
      `Nothing is allowed yet: lease ${id} waits for a person with another token (\`svc approvals list\`, or the page Approvals).`,
      "Call `lease_request` with the same arguments again to go on waiting.",
    ].join("\n");
  return [
    leftText(lease),
    "desktop_snapshot and desktop_act are on its desktop now, and what acts there is done at once.",
    "An act outside of it ends it. Call `lease_end` when you are done.",
  ].join("\n");
}

/** What is of use to its agent. */
const ownOf = ({ id, state, desktop, desktop_name, actions, used, left_s, reason }: Lease) => ({
  id,
  state,
  desktop,
  desktop_name,
  actions,
  used,
  left_s,
  reason,
});
