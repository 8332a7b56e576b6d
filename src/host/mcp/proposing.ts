/** The two steps of a change: it is proposed, and nothing is done; then it is confirmed, and done once. */
import { parseCall } from "../../core/call";
import type { Caller, CallRows } from "../../core/caller";
import type { Operation } from "../../core/operation";
import { beyond, missingFor } from "../../core/rights";
import { metadataOf } from "../../core/schema";
import { deadline } from "../../lib/deadline";
import { badInput, forbidden } from "../../lib/errors";
import { type AgentCall, type CallsParts, callerFor, type Fields, partsOf } from "./agent-call";
import { said, type ToolResult, text, UNTRUSTED } from "./content";
import { commandsIn, effectsOf, joined, MAX_FULL } from "./effects";
import { agentGrant, proposerOf, userOf } from "./grant";
import { LIFETIME_MS, type Proposal } from "./proposals";
import { traceLinks } from "./resources";
import { CONFIRM, toolName } from "./toolsets";

/** How long `confirm` waits for a person, in milliseconds: clients give up after a minute. */
const WAIT_MS = 45_000;

/** @throws `forbidden` for what was offered when it was proposed, and is not now. */
function requireOffered(offered: readonly Operation[], operation: Operation): void {
  if (!offered.includes(operation)) throw forbidden(`${toolName(operation.name)} is not offered any longer`);
}

/** Checks a change and keeps it; nothing is done. */
export async function propose(
  parts: CallsParts,
  operation: Operation,
  args: Fields,
  asking: AgentCall,
): Promise<{ readonly digest: string; readonly result: ToolResult }> {
  const { operations, hosts, proposals, perform } = parts;
  const check = checkIn(operations);
  const { caller } = asking;
  const user = proposerOf(caller.grant);
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
}

/** Does what was proposed, once a person has allowed it where one is asked. */
export async function confirm(
  parts: CallsParts,
  { digest }: Fields,
  usable: readonly Operation[],
  asking: AgentCall,
): Promise<ToolResult> {
  const { budget, perform, proposals } = parts;
  const user = proposerOf(asking.caller.grant);
  if (typeof digest !== "string") throw badInput("digest: expected the digest of a proposal");
  const proposal = proposals.find(user, digest);
  const { operation, input } = proposal;
  requireOffered(usable, operation);
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
  const keep = (png: Uint8Array) => parts.pictures.keep(userOf(asking.caller.grant), operation, png);
  const shown = [...(await contentOf(answer, { keep })), ...traceLinks(operation, input, answer, usable)];
  return {
    content: [text(`Done. ${budget.words(user)}`), ...shown],
    structuredContent: { state: "done", digest },
    _meta: UNTRUSTED,
  };
}

/** @returns the answer where there is no yes yet; undefined where there is. */
async function permission(parts: CallsParts, proposal: Proposal, { caller, agent, signal }: AgentCall) {
  const { proposals, budget } = parts;
  const { digest, operation, effects } = proposal;
  if (!parts.ask) return undefined;
  if (!proposal.decision) {
    // Also when it is denied: a person is not to be asked without end.
    budget.spend(proposerOf(caller.grant));
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
    const words = said(
      "Nothing is done yet: it waits for a person with another token (`svc approvals list`, or the dashboard).",
      `Call \`${CONFIRM}\` with the same digest again to go on waiting.`,
    );
    return { ...words, structuredContent: { state: "waiting", digest } };
  }
  proposals.forget(proposerOf(caller.grant), digest);
  throw forbidden(decision === "denied" ? "a person has denied it" : "no person has allowed it in time");
}

/** Rows that say which approval they rest on: a receipt of a run shows it. */
const withApproval = (rows: CallRows, digest: string): CallRows => ({
  announce: (subject) => rows.announce(`approved=sha256:${digest} ${subject}`),
  ended: (outcome, subject) => rows.ended(outcome, subject),
});

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
  const words = said(
    "Proposed, nothing is done yet. It would do this:",
    ...(effects.full ?? effects.masked),
    `Digest: ${digest}`,
    `Call \`${CONFIRM}\` with this digest within ${minutes} ${minutes === 1 ? "minute" : "minutes"} to do it.${ask ? " It then waits for a person with another token." : ""}`,
    budget.words(user),
  );
  const structuredContent = { state: "proposed", digest, minutes, needs_person: Boolean(ask) };
  return { ...words, structuredContent };
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

const TOO_LONG = `this is too long for a person to judge: expected at most ${MAX_FULL} characters of effects and texts`;
