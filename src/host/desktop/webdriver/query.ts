/**
 * Queries over what programs show, as a tree of XML: in a child process of the session, which ends when an expression takes too long.
 */
import * as v from "valibot";
import { type Child, type Protocol, startChild } from "../../../lib/child";
import type { Log } from "../../../lib/log";
import { selfCommand } from "../../../lib/self-command";
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

/** The queries of one session. */
export interface Queries {
  select(...args: Parameters<QueryCalls["select"]>): Promise<number[]>;
  source(tree: readonly QueryBranch[]): Promise<string>;
  stop(): Promise<void>;
}

/** The child is started by the first query. */
export function createQueries(log: Log): Queries {
  let child: Child<QueryCalls> | undefined;
  const calls = () => {
    if (!child || child.ended())
      child = startChild<QueryCalls>({
        command: selfCommand(["query-child"]),
        what: "the process that finds elements by XPath and CSS",
        log,
        protocol: PROTOCOL,
      });
    return child.calls(QUERY_MS);
  };
  return {
    select: (...args) => calls().select(...args),
    source: (tree) => calls().source(tree),
    async stop() {
      await child?.leave();
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
    ...{ role, name, native_role, app_name, window_title },
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
export const inOrder = ({ element, children }: Branch): Element[] => [element, ...children.flatMap(inOrder)];
