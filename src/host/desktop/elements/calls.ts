/**
 * What the child process answers that speaks to the accessibility bus, and the form of its answers.
 */
import * as v from "valibot";
import type { Protocol } from "../../../lib/child";
import type { Locator } from "./locator";

const BOUNDS = v.tuple([v.number(), v.number(), v.number(), v.number()]);

/** An element, as scripts get it. Names and titles are those of programs: untrusted text. */
export const ELEMENT = v.object({
  /** The role of ARIA. */
  role: v.string(),
  native_role: v.string(),
  name: v.string(),
  app_name: v.string(),
  window_title: v.string(),
  process_id: v.nullable(v.number()),
  /** Left, top, width, height in the coordinates of the pointer; null where the program does not say. */
  bounds: v.nullable(BOUNDS),
  center: v.nullable(v.tuple([v.number(), v.number()])),
  enabled: v.boolean(),
  /** Whether it is meant to be seen, also where it is scrolled away or in a closed menu. */
  visible: v.boolean(),
  showing: v.boolean(),
  checked: v.boolean(),
  focused: v.boolean(),
  selected: v.boolean(),
  expanded: v.boolean(),
  /** A field whose text is never shown. */
  secret: v.boolean(),
  /** Its name on the accessibility bus, as long as it is there. */
  native_id: v.string(),
});
export type Element = v.InferOutput<typeof ELEMENT>;

/** What did what was asked: the interface of the program, or pointer and keyboard. */
export const ACTED = { by: v.picklist(["program", "real"]) };

/** An element that was used. */
export const USED = v.object({ ...ELEMENT.entries, ...ACTED });

/** An element of a tree. */
export interface Branch {
  readonly element: Element;
  readonly children: readonly Branch[];
}

export const BRANCH: v.GenericSchema<Branch> = v.object({
  element: ELEMENT,
  children: v.array(v.lazy(() => BRANCH)),
});

const DEAF = v.array(v.string());

const FOUND = v.object({ elements: v.array(ELEMENT), more: v.boolean(), deaf: DEAF });
/** What a search found. */
export type Findings = v.InferOutput<typeof FOUND>;

const TREE = v.object({ windows: v.array(BRANCH), more: v.boolean(), deaf: DEAF });
export type Tree = v.InferOutput<typeof TREE>;

const CONTENT = v.object({ text: v.nullable(v.string()), number: v.nullable(v.number()) });
/** What an element holds. */
export type Content = v.InferOutput<typeof CONTENT>;

const TABLE = v.object({
  columns: v.array(v.string()),
  rows: v.array(v.record(v.string(), v.string())),
  total: v.number(),
});
/** The texts of a table: its rows, by the names of the columns. */
export type TableText = v.InferOutput<typeof TABLE>;

/** Which windows a tree is of. */
export interface TreeScope extends Pick<Locator, "app" | "window" | "within"> {
  /** The one element to begin at (`native_id`). */
  readonly id?: string | undefined;
  /** Leave out what is in menus that are closed. */
  readonly shown?: boolean | undefined;
}

const SURVEY = v.object({
  programs: v.array(
    v.object({
      name: v.string(),
      process_id: v.nullable(v.number()),
      windows: v.number(),
      /** In the windows; only the first few are counted. */
      elements: v.number(),
    }),
  ),
  deaf: DEAF,
});
/** What programs on the bus show at all. */
export type Survey = v.InferOutput<typeof SURVEY>;

/** The calls of the child. */
export interface ElementCalls {
  /** @param most how many are described. */
  find(locator: Locator, most: number): Promise<Findings>;
  /** Which programs there are, and whether they show anything. It switches nothing on. @throws `unavailable` without a bus. */
  survey(): Promise<Survey>;
  /** What is at `id` (`native_id`) now. @throws `not_found` where it has gone. */
  look(id: string): Promise<Element>;
  /** The windows of programs, and what is in them, `most` elements in all. */
  tree(scope: TreeScope, most: number): Promise<Tree>;
  /** What is at a place of the screen: its window first, what is innermost last. Empty where nothing is known by name. */
  at(x: number, y: number): Promise<Element[]>;
  /** The first characters of what each holds, as `read`; null for what has gone, holds nothing, or is secret. */
  contents(ids: readonly string[], characters: number): Promise<Array<string | null>>;
  /** Does what the program says that the element does. @throws `untouched` where it has nothing that does it; `not_found` where it has gone. */
  press(id: string): Promise<void>;
  focus(id: string): Promise<void>;
  /** Puts `text` in place of what it holds. @throws `untouched` where it may be typed (`set-text.ts`); `unavailable`; `not_found`. */
  setText(id: string, text: string): Promise<void>;
  read(id: string): Promise<Content>;
  /** Whether its program says that it can be checked: Qt 5 calls a button that stays down what it calls any other. */
  isCheckable(id: string): Promise<boolean>;
  /** Selects an element, or the item of that name in it. @throws `untouched`; `rejected`; `not_found` with the nearest item. */
  select(id: string, item: string | undefined): Promise<void>;
  /** Opens or closes what can be. @throws `unavailable`. */
  expand(id: string, open: boolean): Promise<void>;
  /** Scrolls until it is on the screen. @throws `unavailable`. */
  scrollTo(id: string): Promise<void>;
  /** @param first the first row, from 1. @throws `unavailable` where it is no table. */
  table(id: string, first: number, most: number): Promise<TableText>;
  /** @param column from 1, or its name. @throws `not_found`. */
  cell(id: string, row: number, column: number | string): Promise<Element>;
}

const NONE = v.pipe(
  v.unknown(),
  v.transform((): void => {}),
);

export const PROTOCOL: Protocol<ElementCalls> = {
  answers: {
    survey: SURVEY,
    find: FOUND,
    look: ELEMENT,
    tree: TREE,
    at: v.array(ELEMENT),
    press: NONE,
    focus: NONE,
    setText: NONE,
    read: CONTENT,
    contents: v.array(v.nullable(v.string())),
    isCheckable: v.boolean(),
    select: NONE,
    expand: NONE,
    scrollTo: NONE,
    table: TABLE,
    cell: ELEMENT,
  },
  events: {},
};
