/**
 * What the tools of this process are made of, and its endpoint for HTTP.
 */

import type { Server } from "@modelcontextprotocol/server";
import { callOperation } from "../../core/call";
import type { Caller } from "../../core/caller";
import type { Operation } from "../../core/operation";
import type { Log } from "../../lib/log";
import { configFiles } from "../../lib/paths";
import type { Journal } from "../agents/journal";
import type { Leases } from "../leases/leases";
import type { AskPerson, CallsParts } from "./agent-call";
import { createBudget } from "./budget";
import { createCalls } from "./calls";
import { userOf } from "./grant";
import { createHosts } from "./hosts";
import { createEndpoint, requireOrigin } from "./http";
import type { AgentLeases } from "./leased";
import type { Rate } from "./options";
import { createProposals } from "./proposals";
import { createPictures } from "./resources";
import { createToolServer, instructionsFor, type Peer } from "./server";
import { type Choice, type Offer, offerOf } from "./toolsets";

interface McpUses {
  readonly log: Log;
  readonly configDir: string;
  prepareFolder(): Promise<void>;
  operations(): Promise<readonly Operation[]>;
  addressBook: Parameters<typeof createHosts>[0];
  leasesNow(): Leases | undefined;
  agentJournal(): Promise<Journal>;
}

/** How agents are let in. */
export interface McpOptions {
  readonly write: boolean;
  /** Asks a person about each change; null where nobody is asked. */
  readonly ask: AskPerson | null;
  /** Which hosts of the address book they may ask. */
  readonly on?: string | undefined;
  /** How many changes each token may make. */
  readonly rate: Rate;
  /** Tools that none has. */
  readonly exclude?: readonly string[] | undefined;
  /** Origins of pages that may ask over HTTP. */
  readonly origins?: readonly string[] | undefined;
}

/** The tools of this process. */
export interface Tools {
  readonly operations: readonly Operation[];
  serverFor(peer: Peer): Server;
  /** Forgets what was proposed. Resolves when no person is asked about it any longer. */
  withdraw(): Promise<void>;
  close(): void;
}

/** @param perform runs an operation (default: in this process). @param leases (default: those of this process) */
export async function createTools(
  service: McpUses,
  { ask, on, rate }: Pick<McpOptions, "ask" | "on" | "rate">,
  perform: CallsParts["perform"] = (operation, input, caller) =>
    callOperation(service, operation, input, caller),
  leases: AgentLeases = { current: ({ grant }) => service.leasesNow()?.of(userOf(grant)) },
): Promise<Tools> {
  const operations = await service.operations();
  const budget = createBudget(configFiles(service.configDir).agentChanges, { rate });
  const proposals = createProposals();
  const calls = createCalls({
    service,
    operations,
    ask,
    leases,
    log: service.log,
    perform: async (operation, input, caller) =>
      (await service.agentJournal()).remember(operation, input, caller, perform),
    hosts: on === undefined ? null : createHosts(service.addressBook, on),
    proposals,
    budget,
    pictures: createPictures(),
    prepare: () => service.prepareFolder(),
  });
  const instructions = instructionsFor(on);
  return {
    operations,
    serverFor: (peer: Peer) => createToolServer(calls, peer, instructions),
    withdraw: () => proposals.close(),
    close: () => budget.close(),
  };
}

/** Agents over HTTP. */
export interface Mcp {
  /** Answers a message. @throws `forbidden` for a page of another origin; `bad_input` for what is no message, or no tool. */
  answer(message: unknown, choice: Omit<Choice, "write">, caller: Caller): Promise<Response>;
  stop(): Promise<void>;
}

export async function createMcp(service: McpUses, options: McpOptions): Promise<Mcp> {
  const { write, exclude = [], origins = [] } = options;
  const { operations, serverFor, close } = await createTools(service, options);
  const endpoint = createEndpoint<Omit<Peer, "agent" | "cancelled" | "session">>(
    (context, peer) => serverFor({ ...context, ...peer }),
    service.log,
  );
  // Every request of a client has the same choice.
  let last: ({ readonly key: string } & Offer) | undefined;
  const offerFor = (choice: Omit<Choice, "write">) => {
    const key = JSON.stringify(choice);
    if (last?.key !== key) {
      const all = [...(choice.exclude ?? []), ...exclude];
      last = { key, ...offerOf(operations, { ...choice, write, exclude: all }) };
    }
    return last;
  };
  return {
    async answer(message: unknown, choice: Omit<Choice, "write">, caller: Caller): Promise<Response> {
      let isOver = false;
      const ended = () => {
        if (!isOver) caller.request?.ended?.();
        isOver = true;
      };
      requireOrigin(caller.request?.headers, origins);
      const { offered, without, notice } = offerFor(choice);
      const rowsOf = caller.request?.rowsOf ?? (() => NO_ROWS);
      return endpoint.answer({ caller, message }, { caller, offered, without, notice, rowsOf }, ended);
    },
    async stop() {
      await endpoint.close();
      close();
    },
  };
}

const NO_ROWS = { announce: async () => {}, ended: async () => {} };
