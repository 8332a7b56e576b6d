/**
 * The client of UI Automation: elements of windows, what is in them and around them, each read with its facts in one call to its program.
 *
 * Who gets an element lets its face go.
 */
import { unavailable } from "../../../../lib/errors";
import { orElse } from "../../../../lib/or-else";
import { type Com, type Face, guid, openCom, RESULT, unlessResult } from "./com";
import { ASKED, type Facts, factsOf } from "./facts";
import {
  ARRAY,
  AUTOMATION,
  CACHE_REQUEST,
  CLASS,
  ELEMENT,
  LIMITS,
  PATTERN,
  PROPERTY,
  SCOPE,
  WALKER,
} from "./ids";
import { withText, withVariant } from "./values";

/**
 * How long a program may take for a call, and to be reached at all, in milliseconds: as with AT-SPI2. A call blocks this process, and
 * Windows waits for 20 s by itself.
 */
const CALL_MS = 1_500;
/** More kinds of controls than these are not searched for: the walk is as quick. */
const MAX_TYPES = 8;

/** An element as it was read. */
export interface ReadElement {
  readonly face: Face;
  readonly facts: Facts;
}

export type PatternName = keyof typeof PATTERN;

/** Each throws a {@link ComFailure}. */
export interface Automation {
  /** The element of a window; undefined where there is no such window. */
  ofWindow(hwnd: number): ReadElement | undefined;
  /** What is in it, at most `most`. */
  children(of: Face, most: number): ReadElement[];
  parent(of: Face): ReadElement | undefined;
  /** Those below it that are of one of the kinds; undefined where the system does not search so. */
  below(of: Face, types: readonly number[], most: number): ReadElement[] | undefined;
  /** The element that has this id, it or one below. */
  withId(of: Face, id: readonly number[]): ReadElement | undefined;
  /** The same element as it is now; undefined where it has gone. */
  again(face: Face): ReadElement | undefined;
  /** A pattern of an element; undefined where it has none. */
  pattern(of: Face, name: PatternName): Face | undefined;
  /** Puts a text in place of what an element holds, by its value pattern. */
  setValue(value: Face, text: string): void;
  close(): void;
}

/** @throws an `unavailable` failure where the system has no UI Automation. */
export function openAutomation(): Automation {
  using stack = new DisposableStack();
  const com = openCom();
  const client = stack.use(
    com.create(CLASS.automation8, AUTOMATION.iid) ?? com.create(CLASS.automation, AUTOMATION.iid),
  );
  if (!client) throw unavailable("elements by name: this Windows has no UI Automation");
  limit(client);
  const view = stack.use(client.object(AUTOMATION.getControlViewCondition));
  const all = stack.use(client.object(AUTOMATION.createTrueCondition));
  const request = stack.use(client.object(AUTOMATION.createCacheRequest));
  const walker = stack.use(view && client.object(AUTOMATION.createTreeWalker, ["ptr"], view.at));
  if (!view || !all || !request || !walker)
    throw unavailable("elements by name: UI Automation gives no conditions");
  for (const property of ASKED) ifThere(() => request.call(CACHE_REQUEST.addProperty, ["i32"], property));
  // Without it, no field would count as secret.
  request.call(CACHE_REQUEST.addProperty, ["i32"], PROPERTY.isPassword);
  request.call(CACHE_REQUEST.putTreeScope, ["i32"], SCOPE.element);
  request.call(CACHE_REQUEST.putTreeFilter, ["ptr"], view.at);
  const readOf = (face: Face | undefined): ReadElement | undefined => {
    const facts = face && factsOf(face);
    if (!face || !facts || facts.id.length > 0) return face && facts && { face, facts };
    // What has no id cannot be named.
    face[Symbol.dispose]();
    return undefined;
  };
  const again = (face: Face) =>
    readOf(unlessGone(() => face.object(ELEMENT.buildUpdatedCache, ["ptr"], request.at)));
  const find = (of: Face, scope: number, condition: Face, most: number): ReadElement[] => {
    using array = of.object(ELEMENT.findAllBuildCache, FIND, scope, condition.at, request.at);
    const count = Math.min(array?.whole(ARRAY.getLength) ?? 0, most);
    const found: ReadElement[] = [];
    for (let at = 0; at < count; at++) {
      const one = readOf(orElse(() => array?.object(ARRAY.getElement, ["i32"], at), undefined));
      if (one) found.push(one);
    }
    return found;
  };
  const { is, isAny } = conditions(com, client);
  const kept = stack.move();
  return {
    ofWindow(hwnd) {
      using face = unlessGone(() => client.object(AUTOMATION.elementFromHandle, ["u64"], hwnd));
      return face && again(face);
    },
    children: (of, most) => find(of, SCOPE.children, all, most),
    parent: (of) =>
      readOf(walker.object(WALKER.getParentElementBuildCache, ["ptr", "ptr"], of.at, request.at)),
    below(of, types, most) {
      // No element is of none.
      if (types.length === 0) return [];
      if (types.length > MAX_TYPES) return undefined;
      using condition = isAny(types);
      return condition && find(of, SCOPE.descendants, condition, most);
    },
    withId(of, id) {
      using condition = is(PROPERTY.runtimeId, id);
      if (!condition) return undefined;
      return readOf(of.object(ELEMENT.findFirstBuildCache, FIND, SCOPE.subtree, condition.at, request.at));
    },
    again,
    pattern(of, name) {
      const { id, iid } = PATTERN[name];
      return ifThere(() => of.object(ELEMENT.getCurrentPatternAs, ["i32", "ptr"], id, guid(iid)));
    },
    setValue: (value, text) =>
      withText(com.ole, text, (bstr) => value.call(PATTERN.value.setValue, ["ptr"], bstr)),
    close: () => kept.dispose(),
  };
}

/** The parameters of the methods that find: scope, condition, request. */
const FIND = ["i32", "ptr", "ptr"] as const;

/** Conditions of a search, each undefined where the system does not have it. */
function conditions({ ole }: Com, client: Face) {
  const is = (property: number, value: number | readonly number[]): Face | undefined =>
    withVariant(ole, value, (variant) =>
      ifThere(() => client.object(AUTOMATION.createPropertyCondition, ["i32", "ptr"], property, variant)),
    );
  /** Whether it is of one of the kinds of controls. */
  const isAny = (types: readonly number[]): Face | undefined => {
    using stack = new DisposableStack();
    const all = types.flatMap((type) => stack.use(is(PROPERTY.controlType, type)) ?? []);
    if (all.length < types.length) return undefined;
    // One alone is no choice.
    if (types.length === 1) return is(PROPERTY.controlType, types[0] ?? 0);
    const list = BigUint64Array.from(all, ({ at }) => BigInt(at));
    const either = AUTOMATION.createOrConditionFromNativeArray;
    return ifThere(() => client.object(either, ["ptr", "i32"], list, list.length));
  };
  return { is, isAny };
}

/** Undefined where what is asked has gone. */
const unlessGone = <T>(ask: () => T): T | undefined =>
  unlessResult([RESULT.elementGone, RESULT.noWindow], ask);

/** Undefined where the system does not have it. */
const ifThere = <T>(ask: () => T): T | undefined =>
  unlessResult([RESULT.notImplemented, RESULT.invalidArgument, RESULT.notSupported, RESULT.noInterface], ask);

function limit(client: Face): void {
  using limits = client.as(LIMITS.iid);
  for (const index of [LIMITS.putConnectionTimeout, LIMITS.putTransactionTimeout])
    ifThere(() => limits?.call(index, ["u32"], CALL_MS));
}
