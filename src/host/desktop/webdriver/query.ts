/**
 * Queries over what programs show, as a tree of XML: in a child process, which ends when an expression takes too long. All sessions
 * share two of them (`slots.ts`).
 */
import * as v from "valibot";
import { type Child, type Protocol, type Remote, startChild } from "../../../lib/child";
import { deadline } from "../../../lib/deadline";
import { badInput, cancelled } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { watchMemory } from "../../../lib/process-memory";
import { selfCommand } from "../../../lib/self-command";
import { createSlots, type Requester } from "../../../lib/slots";
import type { Branch, Element } from "../elements/calls";

/** An element as it is in the XML. */
export interface QueryBranch {
  readonly role: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly QueryBranch[];
}

/** What the child does with a tree. */
export interface QueryCalls {
  /**
   * The elements that an expression selects, by their place in the tree as it is written. @param isWithin whether the tree is one
   * element, in which is looked. @throws `bad_input`.
   */
  select(
    tree: readonly QueryBranch[],
    using: "xpath" | "css selector",
    expression: string,
    isWithin: boolean,
  ): number[];
  /** The tree as XML. */
  source(tree: readonly QueryBranch[]): string;
}

const PROTOCOL: Protocol<QueryCalls> = {
  answers: { select: v.array(v.number()), source: v.string() },
  events: {},
};

/** How long a query may take, in milliseconds. */
const QUERY_MS = 5_000;

/** How much memory the process of a query may have, in bytes: the sets of nodes of an expression grow with each of its steps. */
const MAX_MEMORY = 512 * 1_048_576;

/** How many queries of tokens may wait: each has a tree in memory. */
const MAX_WAITING = 64;

type Select = Parameters<QueryCalls["select"]>;

/** The queries of all sessions. */
export interface Queries {
  select(requester: Requester, ...args: Select): Promise<number[]>;
  source(requester: Requester, tree: readonly QueryBranch[]): Promise<string>;
  /** Ends the processes; the next query starts one again. */
  stop(): Promise<void>;
}

/**
 * The processes are started by the first queries. Tokens have one at a time, and the owner of the host has one of its own; the query of
 * a requester that goes ends with its process.
 */
export function createQueries(log: Log, mostMemory = MAX_MEMORY): Queries {
  const slots = createSlots({
    most: 1,
    ownersOwn: 1,
    what: "queries of WebDriver",
    mostWaiting: MAX_WAITING,
  });
  const idle: Child<QueryCalls>[] = [];
  const start = () =>
    startChild<QueryCalls>({
      command: selfCommand(["query-child"]),
      what: "the process that finds elements by XPath and CSS",
      log,
      protocol: PROTOCOL,
    });
  const inChild = <T>(requester: Requester, work: (calls: Remote<QueryCalls>) => Promise<T>): Promise<T> =>
    slots.run(requester, async () => {
      const child = idle.pop() ?? start();
      const memory = watchMemory(child.pid, mostMemory);
      const aborted = (): never => {
        void child.kill();
        if (memory.over.aborted)
          throw badInput(`the query takes more than ${mostMemory} bytes of memory: ask for less at a time`);
        throw cancelled("cancelled during the query");
      };
      const signal = AbortSignal.any([memory.over, ...(requester.signal ? [requester.signal] : [])]);
      try {
        return await deadline(work(child.calls(QUERY_MS)), { signal, aborted });
      } finally {
        memory.stop();
        if (!child.ended()) idle.push(child);
      }
    });
  return {
    select: (requester, ...args) => inChild(requester, (calls) => calls.select(...args)),
    source: (requester, tree) => inChild(requester, (calls) => calls.source(tree)),
    async stop() {
      await Promise.all(idle.splice(0).map((child) => child.leave()));
    },
  };
}

const BOOLEANS = [
  ...["enabled", "visible", "showing", "checked", "focused", "selected", "expanded", "secret"],
] as const;

/** The attributes of an element: those of the XML, and those that a client reads. */
export function attributesOf(element: Element): Record<string, string> {
  const { role, name, native_role, app_name, window_title, process_id, bounds } = element;
  const [x, y, width, height] = bounds ?? [];
  const place = { x, y, width, height, process_id };
  return {
    role,
    name,
    native_role,
    app_name,
    window_title,
    ...Object.fromEntries(BOOLEANS.map((state) => [state, `${element[state]}`])),
    ...Object.fromEntries(
      Object.entries(place).flatMap(([key, value]) => (value == null ? [] : [[key, `${value}`]])),
    ),
  };
}

/** A branch as it is in the XML. */
export const queryBranch = ({ element, children }: Branch): QueryBranch => ({
  role: element.role,
  attributes: attributesOf(element),
  children: children.map(queryBranch),
});

/** All elements of a tree, in the order of the XML. */
export function inOrder(branch: Branch): Element[] {
  const all: Element[] = [];
  const add = ({ element, children }: Branch) => {
    all.push(element);
    for (const child of children) add(child);
  };
  add(branch);
  return all;
}
