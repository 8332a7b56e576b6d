/**
 * Calls of tools: what only reads is done at once, a change is proposed and then confirmed. Every call leaves a row.
 */
import { parseCall } from "../../core/call";
import type { AgentSession, Caller, CallRows } from "../../core/caller";
import type { Operation } from "../../core/operation";
import { allows, beyond, type Grant, missingFor } from "../../core/rights";
import { metadataOf } from "../../core/schema";
import type { TraceContext } from "../../core/trace-context";
import { deadline } from "../../lib/deadline";
import {
  badInput,
  cancelled,
  Failure,
  type FailureCode,
  failureOf,
  forbidden,
  HTTP_STATUS,
  messageOf,
} from "../../lib/errors";
import { sizeWithin } from "../../lib/json-size";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Budget } from "./budget";
import { failed, failedThere, MAX_TEXT, said, type ToolResult, text, UNTRUSTED } from "./content";
import { commandsIn, effectsOf, joined, MAX_FULL } from "./effects";
import { agentGrant, userOf } from "./grant";
import { type Hosts, requireSelections } from "./hosts";
import {
  type AgentLeases,
  askOrEnd,
  isLeaseTool,
  type LeasedParts,
  leaseFor,
  mayLease,
  useIn,
} from "./leased";
import { onDesktop, pictureIn } from "./places";
import { type Decision, LIFETIME_MS, type Proposal, type Proposals } from "./proposals";
import { CONFIRM_TOOL, extrasOf, isPicture, isProposed, type ListedTool, listed, SIDE } from "./tools";
import { CONFIRM, toolName } from "./toolsets";

/** Asks a person with another token. */
export type AskPerson = (question: {
  readonly what: string;
  readonly detail: string;
  /** As `detail`, with what only who decides may see. */
  readonly full: string;
  readonly digest: string;
  readonly caller: Pick<Caller, "grant" | "client">;
  readonly signal: AbortSignal;
}) => Promise<Decision>;

/** What calls are made with. */
export interface CallsParts {
  /** What operations run on. */
  readonly service: object;
  /** The table. */
  readonly operations: readonly Operation[];
  /** Runs an operation, with all that stands before it. */
  perform(operation: Operation, input: unknown, caller: Caller): unknown;
  /** The leases of agents; null where there are none. */
  readonly leases?: AgentLeases | null;
  /** The hosts of `--on`; null where agents have this one alone. */
  readonly hosts: Hosts | null;
  /** Set where a person has to allow each change. */
  readonly ask: AskPerson | null;
  readonly log: Log;
  readonly proposals: Proposals;
  readonly budget: Budget;
  /** Is awaited before the file of `budget` is opened. */
  prepare?(): Promise<void>;
}

/** Who calls. */
interface AgentCall {
  readonly caller: Caller;
  /** The trace to which the call belongs. */
  readonly trace?: TraceContext | undefined;
  readonly rows: CallRows;
  /** The names of operations that it shall not have, inside lists of actions neither. */
  readonly without?: readonly string[];
  /** The name of the client, by its own word. */
  readonly agent: string;
  /** The session that the call is of. */
  readonly session?: AgentSession;
  /** Aborted when the client has cancelled the call. */
  readonly signal: AbortSignal;
  /** Takes how far it is; absent when the client does not look. */
  readonly progress?: ((done: number, total: number | undefined, message: string) => void) | undefined;
}

/** The calls of agents. */
export interface Calls {
  list(offered: readonly Operation[], grant: Grant): ListedTool[];
  /** Whether there is such a tool. */
  has(offered: readonly Operation[], grant: Grant, name: string): boolean;
  /** Calls a tool. What goes wrong is the answer: the model can do something about it. Never throws. */
  call(offered: readonly Operation[], name: string, given: Fields, asking: AgentCall): Promise<ToolResult>;
}

/** How long `confirm` waits for a person, in milliseconds: clients give up after a minute. */
const WAIT_MS = 45_000;

/** @throws `forbidden` for what was offered when it was proposed, and is not now. */
function requireOffered(offered: readonly Operation[], operation: Operation): void {
  if (!offered.includes(operation)) throw forbidden(`${toolName(operation.name)} is not offered any longer`);
}

export function createCalls(parts: CallsParts): Calls {
  const { operations, hosts, proposals, budget, log } = parts;
  const { perform, quotes } = createQuoting(parts);
  const leased = parts.leases ? { operations, leases: parts.leases, perform } : undefined;
  const check = checkIn(operations);
  const listedOf = new Map<Operation, ListedTool>();

  const tool = (operation: Operation) => {
    const made = listedOf.get(operation) ?? listed(operation, hosts !== null);
    listedOf.set(operation, made);
    return made;
  };

  /** Checks a change and keeps it; nothing is done. */
  const propose = async (operation: Operation, args: Fields, asking: AgentCall) => {
    const { caller } = asking;
    const user = userOf(caller.grant);
    const { fields: given } = partsOf(operations, operation, args, hosts !== null);
    const input = parseCall(operation, given);
    // Lists for other hosts have no check of their own here.
    permitCommands(operations, commandsIn(operations, operation, given), asking);
    for (const actions of listsIn(operation, given))
      if (check) await perform(check, { actions }, checkerFor(check, asking));
    operation.requires?.(parts.service, input);
    const worded = (await operation.worded?.(parts.service, input)) ?? given;
    const effects = effectsOf(operations, operation, worded);
    if (parts.ask && !effects.full) throw badInput(TOO_LONG);
    await parts.prepare?.();
    const proposal = proposals.add(user, { operation, input: structuredClone(worded), effects });
    const { digest } = proposal;
    // In its own words: what the host adds to them is for who decides.
    const own = worded === given ? effects : effectsOf(operations, operation, given);
    return { digest, result: proposed(parts, { ...proposal, effects: own }, user) };
  };

  const confirm = async ({ digest }: Fields, offered: readonly Operation[], asking: AgentCall) => {
    const user = userOf(asking.caller.grant);
    if (typeof digest !== "string") throw badInput("digest: expected the digest of a proposal");
    const proposal = proposals.find(user, digest);
    const { operation, input } = proposal;
    requireOffered(offered, operation);
    const waiting = await permission(parts, proposal, asking);
    if (waiting) return waiting;
    // What a person was asked has been counted then.
    const isCounted = parts.ask !== null;
    // Where nothing is left, the proposal stays.
    if (!isCounted) budget.require(user);
    // Another call may have done it while a person was asked.
    proposals.take(user, digest);
    if (!isCounted) budget.spend(user);
    const rows = isCounted ? withApproval(asking.rows, digest) : asking.rows;
    const answer = await perform(operation, input, callerFor(operation, { ...asking, rows }));
    const { contentOf } = await import("./picture");
    return { content: [text(`Done. ${budget.words(user)}`), ...(await contentOf(answer))], _meta: UNTRUSTED };
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
          const { digest, result } = await propose(operation, given, asking);
          subject += ` digest=${digest}`;
          return result;
        }
        if (operation) {
          // Not its fields: a script that is to be checked may hold a secret.
          subject = operation.name;
          return await read({ operations, hosts, perform }, operation, given, asking);
        }
        if (name !== CONFIRM) throw badInput(`there is no tool ${printable(name, 80)}`);
        subject = `mcp.confirm digest=${printable(`${given.digest ?? ""}`, 64)}`;
        return await confirm(given, own, asking);
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

/** @returns the answer where there is no yes yet; undefined where there is. */
async function permission(parts: CallsParts, proposal: Proposal, { caller, agent, signal }: AgentCall) {
  const { proposals, budget } = parts;
  const { digest, operation, effects } = proposal;
  if (!parts.ask) return undefined;
  if (!proposal.decision) {
    // Also when it is denied: a person is not to be asked without end.
    budget.spend(userOf(caller.grant));
    // The approval ends first, so that the agent hears what became of it.
    proposals.extend(proposal, LIFETIME_MS + WAIT_MS);
    proposal.decision = parts.ask({
      what: `${operation.name}, as an agent that says it is ${agent}`,
      detail: joined(effects.masked),
      full: joined(effects.full ?? effects.masked),
      digest,
      caller,
      signal: proposal.dropped.signal,
    });
  }
  const { decision: asked } = proposal;
  asked.catch(() => {
    if (proposal.decision === asked) delete proposal.decision;
  });
  const decision = await deadline(asked, { ms: WAIT_MS, late: () => "waiting" as const, signal });
  if (decision === "allowed") return undefined;
  if (decision === "waiting") {
    return said(
      "Nothing is done yet: it waits for a person with another token (`svc approvals list`, or the dashboard).",
      `Call \`${CONFIRM}\` with the same digest again to go on waiting.`,
    );
  }
  proposals.forget(userOf(caller.grant), digest);
  throw forbidden(decision === "denied" ? "a person has denied it" : "no person has allowed it in time");
}

/** Rows that say which approval they rest on: a receipt of a run shows it. */
const withApproval = (rows: CallRows, digest: string): CallRows => ({
  announce: (subject) => rows.announce(`approved=sha256:${digest} ${subject}`),
  ended: (outcome, subject) => rows.ended(outcome, subject),
});

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

/** Does what only reads, here or on other hosts. */
async function read(
  { operations, hosts, perform }: Pick<CallsParts, "operations" | "hosts" | "perform">,
  operation: Operation,
  given: Fields,
  asking: AgentCall,
): Promise<ToolResult> {
  const { fields, on, side } = partsOf(operations, operation, given, hosts !== null);
  const caller = callerFor(operation, asking);
  if (on !== undefined && hosts) {
    if (!allows(caller.grant, "operate")) throw forbidden("on: asking other hosts needs operate");
    const answers = await hosts.ask(on, operation, fields, caller.signal);
    const each = Math.floor(MAX_TEXT / answers.length);
    const { contentOf, pictureOf } = await import("./picture");
    const shown = answers.map(async (answer) =>
      answer.ok && isPicture(operation)
        ? [text(`Host ${printable(answer.label, 130)}:`), ...(await pictureOf(answer.result, { side }))]
        : contentOf(answer, each),
    );
    return { content: (await Promise.all(shown)).flat(), _meta: UNTRUSTED };
  }
  const answer = await perform(operation, fields, caller);
  const { contentOf, pictureOf } = await import("./picture");
  const content = isPicture(operation) ? pictureOf(answer, { side }) : contentOf(answer);
  return { content: await content, _meta: UNTRUSTED };
}

/** The lists of actions among the fields that are given. */
const listsIn = ({ input }: Operation, given: Fields): unknown[] =>
  Object.entries(given).flatMap(([name, value]) => {
    const entry = input.entries[name];
    const { actions } = entry ? metadataOf(entry as Parameters<typeof metadataOf>[0]) : {};
    return actions ? [value] : [];
  });

/** What an agent reads of its proposal. */
function proposed({ proposals, budget, ask }: CallsParts, proposal: Proposal, user: string): ToolResult {
  const { digest, effects } = proposal;
  const minutes = proposals.minutesOf(proposal);
  return said(
    "Proposed, nothing is done yet. It would do this:",
    ...(effects.full ?? effects.masked),
    `Digest: ${digest}`,
    `Call \`${CONFIRM}\` with this digest within ${minutes} ${minutes === 1 ? "minute" : "minutes"} to do it.${ask ? " It then waits for a person with another token." : ""}`,
    budget.words(user),
  );
}

/** The check before a proposal: also for a token that may run a list, but not read. */
function checkIn(operations: readonly Operation[]): Operation | undefined {
  const found = operations.find(({ name }) => name === "execute.check");
  return found && { ...found, scope: "any" };
}

/** The caller of the check before a proposal, also for an agent that shall not call it by itself. */
const checkerFor = (check: Operation, asking: AgentCall): Caller =>
  callerFor(check, { ...asking, without: (asking.without ?? []).filter((name) => name !== check.name) });

/** @throws a `forbidden` failure for commands that an agent shall not have. */
function permitCommands(
  operations: readonly Operation[],
  commands: readonly string[],
  { caller, without = [] }: AgentCall,
): void {
  const left = operations.filter(
    ({ name, command = "" }) => without.includes(name) && commands.includes(command),
  );
  const grant = agentGrant(caller.grant, without);
  const missing = left.flatMap((operation) => missingFor(grant, operation, operation.command) ?? []);
  if (missing.length > 0) throw forbidden(beyond(grant, missing.join(", "), "this agent"));
}

/** The failures that are about what was sent, or who sent it. */
const OWN_WORDS: readonly FailureCode[] = ["bad_input", "forbidden", "too_many"];

const TOO_LONG = `this is too long for a person to judge: expected at most ${MAX_FULL} characters of effects and texts`;

/** A body has its own limit; JSON can be too deep to be gone through. */
const LIMITS = { bytes: Number.POSITIVE_INFINITY, depth: 200 };

type Fields = Readonly<Record<string, unknown>>;

/** The input of the operation, and what the tool takes besides. @throws a `bad_input` failure for a bad one of these. */
function partsOf(operations: readonly Operation[], operation: Operation, given: Fields, hasHosts: boolean) {
  const extras: readonly string[] = extrasOf(operation, hasHosts);
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => !extras.includes(name)));
  const { on, max_side: side = SIDE.usual } = given;
  if (extras.includes("on") && on !== undefined && typeof on !== "string")
    throw badInput("on: expected a text");
  const isSide = Number.isInteger(side) && Number(side) >= SIDE.least && Number(side) <= SIDE.most;
  if (extras.includes("max_side") && !isSide)
    throw badInput(`max_side: expected a whole number from ${SIDE.least} to ${SIDE.most}`);
  const isPointing = extras.includes("picture") && given.picture !== undefined;
  const fields = isPointing ? onDesktop(operations, operation, own, pictureIn(given.picture)) : own;
  if (extras.includes("look") && typeof (given.look ?? false) !== "boolean")
    throw badInput("look: expected true or false");
  const look = extras.includes("look") && given.look === true;
  return {
    ...{ fields, look, side: Number(side) },
    on: extras.includes("on") ? (on as string | undefined) : undefined,
  };
}

/** The caller of an operation, for an agent. A change ends with the token and the process, a run and a read with the call too. */
function callerFor(
  operation: Operation,
  { caller, trace, rows, signal, progress, without, session }: AgentCall,
): Caller {
  const { kind, lasts, client, request } = caller;
  const lasting = request?.lasting?.() ?? caller.signal;
  const goesOn = isProposed(operation) && !operation.http?.long && !operation.uses;
  let ended: AbortSignal | undefined;
  return {
    kind,
    lasts,
    client,
    grant: agentGrant(caller.grant, without),
    trace,
    agent: session,
    get signal() {
      ended ??= goesOn ? lasting : AbortSignal.any([lasting, signal]);
      return ended;
    },
    ...(request && { request: { clientKey: request.clientKey, gone: request.gone } }),
    ...(progress && { progress: ({ done, total, what }) => progress(done, total, what) }),
    announce: rows.announce,
  };
}
