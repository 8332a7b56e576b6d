/** One call of an agent: who calls, with what, and what of it is for the operation. */
import type { AgentSession, Caller, CallRows } from "../../core/caller";
import type { Operation } from "../../core/operation";
import type { TraceContext } from "../../core/trace-context";
import { badInput } from "../../lib/errors";
import type { Log } from "../../lib/log";
import type { Budget } from "./budget";
import { agentGrant } from "./grant";
import type { Hosts } from "./hosts";
import type { AgentLeases } from "./leased";
import { onDesktop, pictureIn } from "./places";
import type { Decision, Proposals } from "./proposals";
import type { Pictures } from "./resources";
import { extrasOf, isProposed, SIDE } from "./tools";

/** What a tool is given. */
export type Fields = Readonly<Record<string, unknown>>;

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
  readonly service: object;
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
  readonly pictures: Pictures;
  /** Is awaited before the file of `budget` is opened. */
  prepare?(): Promise<void>;
}

/** One call, and who calls. */
export interface AgentCall {
  readonly caller: Caller;
  /** The trace to which the call belongs. */
  readonly trace?: TraceContext | undefined;
  readonly rows: CallRows;
  /** The names of operations that it shall not have, inside lists of actions neither. */
  readonly without?: readonly string[];
  /** The name of the client, by its own word. */
  readonly agent: string;
  readonly session?: AgentSession;
  /** Aborted when the client has cancelled the call. */
  readonly signal: AbortSignal;
  /** Takes how far it is; absent when the client does not look. */
  readonly progress?: ((done: number, total: number | undefined, message: string) => void) | undefined;
}

/** The input of the operation, and what the tool takes besides. @throws a `bad_input` failure for a bad one of these. */
export function partsOf(
  operations: readonly Operation[],
  operation: Operation,
  given: Fields,
  hasHosts: boolean,
) {
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
    fields,
    look,
    side: Number(side),
    on: extras.includes("on") ? (on as string | undefined) : undefined,
  };
}

/** The caller of an operation, for an agent. A change ends with the token and the process, a run and a read with the call too. */
export function callerFor(
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
