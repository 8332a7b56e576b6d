/**
 * Calls of tools: what only reads is done at once, a change is proposed and then confirmed. Every call leaves a row.
 */
import type { Operation } from "../../core/operation";
import { type Grant, missingFor } from "../../core/rights";
import {
  badInput,
  cancelled,
  Failure,
  type FailureCode,
  failureOf,
  HTTP_STATUS,
  messageOf,
  unavailable,
} from "../../lib/errors";
import { sizeWithin } from "../../lib/json-size";
import { printable } from "../../lib/sanitize";
import { type AgentCall, type CallsParts, callerFor, type Fields, partsOf } from "./agent-call";
import { failed, failedThere, type ToolResult } from "./content";
import { agentGrant, userOf } from "./grant";
import { type Hosts, requireSelections } from "./hosts";
import { askOrEnd, isLeaseTool, type LeasedParts, leaseFor, mayLease, useIn } from "./leased";
import { confirm, propose } from "./proposing";
import { read } from "./reading";
import { type ReadResource, type Resources, readResource, resourcesFor } from "./resources";
import { CONFIRM_TOOL, isProposed, type ListedTool, listed } from "./tools";
import { CONFIRM, toolName } from "./toolsets";

/** The calls of agents. */
export interface Calls {
  list(offered: readonly Operation[], grant: Grant): ListedTool[];
  has(offered: readonly Operation[], grant: Grant, name: string): boolean;
  /** Calls a tool. What goes wrong is the answer: the model can do something about it. Never throws. */
  call(offered: readonly Operation[], name: string, given: Fields, asking: AgentCall): Promise<ToolResult>;
  /** What there is to be read besides tools. */
  resources(offered: readonly Operation[], grant: Grant): Resources;
  /** Reads what a result has linked to. @throws a failure: `not_found` where there is no such thing, or no longer. */
  readResource(offered: readonly Operation[], uri: string, asking: AgentCall): Promise<ReadResource>;
}

export function createCalls(parts: CallsParts): Calls {
  const { operations, hosts, log } = parts;
  const { perform, quotes } = createQuoting(parts);
  const quoting = { ...parts, perform };
  const leased = parts.leases ? { operations, leases: parts.leases, perform } : undefined;
  const listedOf = new Map<Operation, ListedTool>();

  const tool = (operation: Operation) => {
    const made = listedOf.get(operation) ?? listed(operation, hosts !== null);
    listedOf.set(operation, made);
    return made;
  };

  return {
    list(offered, grant) {
      const own = usable(offered, grant);
      return [...own.map(tool), ...(own.some(isProposed) ? [CONFIRM_TOOL] : [])];
    },
    has: (offered, grant, name) =>
      usable(offered, grant).some(
        (one) => toolName(one.name) === name || (name === CONFIRM && isProposed(one)),
      ),
    resources: (offered, grant) => resourcesFor(parts, userOf(grant), usable(offered, grant)),
    async readResource(offered, uri, asking) {
      let outcome = "ok:200";
      try {
        return await readResource(parts, uri, usable(offered, asking.caller.grant), asking);
      } catch (thrown) {
        const failure = asking.signal.aborted ? cancelled("the agent has gone") : failureOf(thrown);
        outcome = failure ? `failed:${HTTP_STATUS[failure.code]}` : "error";
        if (!failure) log.error(`reading a resource failed: ${messageOf(thrown)}`, thrown);
        throw failure ?? unavailable("internal error");
      } finally {
        await asking.rows.ended(outcome, `mcp.resource ${printable(uri, 80)}`);
      }
    },
    async call(offered, name, given, asking) {
      const own = usable(offered, asking.caller.grant);
      const operation = own.find((one) => toolName(one.name) === name);
      let subject = `mcp ${printable(name, 80)}`;
      let outcome = "ok:200";
      try {
        if (sizeWithin(given, LIMITS) === undefined)
          throw badInput("arguments: expected fewer levels inside each other");
        if (operation && hosts) await requireSelections(hosts, operations, operation, given);
        const within = operation && leased && (await withinLease(leased, operation, given, asking, hosts));
        if (within) {
          subject = within.subject;
          return await within.answer();
        }
        if (operation && isProposed(operation)) {
          subject = `mcp.propose ${operation.name}`;
          const { digest, result } = await propose(quoting, operation, given, asking);
          subject += ` digest=${digest}`;
          return result;
        }
        if (operation) {
          // Not its fields: a script that is to be checked may hold a secret.
          subject = operation.name;
          return await read(quoting, operation, given, own, asking);
        }
        if (name !== CONFIRM) throw badInput(`there is no tool ${printable(name, 80)}`);
        subject = `mcp.confirm digest=${printable(`${given.digest ?? ""}`, 64)}`;
        return await confirm(quoting, given, own, asking);
      } catch (thrown) {
        const failure = asking.signal.aborted ? cancelled("the agent has gone") : failureOf(thrown);
        outcome = failure ? `failed:${HTTP_STATUS[failure.code]}` : "error";
        if (!failure) log.error(`${name} failed: ${messageOf(thrown)}`, thrown);
        if (failure && quotes(failure)) return failedThere(failure.message);
        return failed(failure?.message ?? "internal error");
      } finally {
        await asking.rows.ended(outcome, subject);
      }
    },
  };
}

/** What an agent does about its lease, or within it; undefined for what it does outside. @throws as `leaseFor`. */
async function withinLease(
  leased: LeasedParts,
  operation: Operation,
  given: Fields,
  asking: AgentCall,
  hosts: Hosts | null,
): Promise<{ readonly subject: string; answer(): Promise<ToolResult> } | undefined> {
  if (isLeaseTool(operation)) {
    const caller = callerFor(operation, asking);
    return {
      subject: operation.name,
      answer: () => askOrEnd(leased, operation, given, asking.agent, caller),
    };
  }
  // Other hosts have leases of their own.
  const lease = given.on === undefined ? await leaseFor(leased, operation, asking.caller) : undefined;
  if (!lease) return undefined;
  return {
    subject: `${operation.name} lease=${lease.id}`,
    async answer() {
      const { fields, side, look } = partsOf(leased.operations, operation, given, hosts !== null);
      // It ends with its call, as a run does.
      const caller = callerFor({ ...operation, uses: "input" }, asking);
      return useIn(leased, lease, { operation, fields, caller, side, look });
    },
  };
}

/** Those of `offered` that the token may use. */
function usable(offered: readonly Operation[], grant: Grant): Operation[] {
  const own = agentGrant(grant);
  return offered.filter(
    (operation) => missingFor(own, operation) === undefined || mayLease(grant, operation, offered),
  );
}

/** Runs operations, and remembers which failures may quote the host: not those about what the agent sent or may do. */
function createQuoting(parts: Pick<CallsParts, "perform">) {
  const quoting = new WeakSet<Failure>();
  const perform: CallsParts["perform"] = async (...call) => {
    try {
      return await parts.perform(...call);
    } catch (error) {
      if (error instanceof Failure && !OWN_WORDS.includes(error.code)) quoting.add(error);
      throw error;
    }
  };
  return { perform, quotes: (failure: Failure) => quoting.has(failure) };
}

/** The failures that are about what was sent, or who sent it. */
const OWN_WORDS: readonly FailureCode[] = ["bad_input", "forbidden", "too_many"];

/** A body has its own limit; JSON can be too deep to be gone through. */
const LIMITS = { bytes: Number.POSITIVE_INFINITY, depth: 200 };
