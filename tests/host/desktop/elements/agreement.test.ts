/**
 * The same windows as dogtail and pyatspi (whose tree accerciser shows) have them: each element that both show has the same role, name and
 * place in svc, but for differences that have a reason here. A reason says how the one follows from the other, and is checked for each.
 */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import * as v from "valibot";
import type { Branch, Element } from "../../../../src/host/desktop/elements/calls";
import { parseLocator } from "../../../../src/host/desktop/elements/locator";
import { labelText } from "../../../../src/host/desktop/elements/names";
import { testWith, until } from "../../../support";
import { startSession } from "./support";

setDefaultTimeout(120_000);
const session = ["Xvfb", "openbox", "dbus-daemon"] as const;
const PACKAGES = "/usr/lib/python3/dist-packages";
const others = ["/usr/bin/python3", `${PACKAGES}/dogtail`, `${PACKAGES}/pyatspi`] as const;
const programs = join(import.meta.dir, "programs");
const NOWHERE = -(2 ** 31);

const PLACE = v.nullable(v.tuple([v.number(), v.number(), v.number(), v.number()]));
/** An element as the two others have it. */
const NODE = v.object({
  id: v.string(),
  /** The ids of what it is in, the window first. */
  around: v.array(v.string()),
  name: v.string(),
  dogtail_name: v.string(),
  role: v.string(),
  dogtail_role: v.string(),
  place: PLACE,
  dogtail_place: PLACE,
  labels: v.array(v.string()),
});
type Node = v.InferOutput<typeof NODE>;

interface Pair {
  readonly own: Element;
  readonly other: Node;
}

/** What was compared. */
interface Agreement {
  readonly compared: number;
  /** How many differences have each reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /** Differences without a reason, and what one side has alone. */
  readonly unexplained: readonly string[];
}

const normal = (text: string) => text.replaceAll(/\s+/g, " ").trim();
const flat = ({ element, children }: Branch): Element[] => [element, ...children.flatMap(flat)];

/** Why roles differ; undefined where there is no reason. */
const whyRole = ({ own, other }: Pair) =>
  other.role === "push button" && own.native_role === "panel"
    ? "GTK 4: a menu button is around its button"
    : undefined;

/** Why names differ. @param texts those of the labels in the window. */
function whyName({ own, other }: Pair, texts: ReadonlySet<string>): string | undefined {
  const theirs = normal(other.name);
  if (theirs.replace("_", "") === `${own.name} ${own.name}`) return "GTK 4: the name is there twice";
  if (/^(?:[A-Z][a-z]+){2,}$/.test(theirs)) return "GTK 4: it has the name of its class";
  if (other.labels.some((label) => labelText(label) === own.name)) return "named by its label";
  const isField = /^(?:text|password text|spin button|combo box|slider|entry)$/.test(other.role);
  return isField && texts.has(own.name) ? "named by the label beside it" : undefined;
}

/** Why places differ. @param offset from places in a window of GTK 4 to those on the screen. */
function whyPlace({ own, other }: Pair, offset: readonly [number, number] | undefined): string | undefined {
  const { place } = other;
  if (own.bounds === null) {
    const isNowhere = place === null || place[0] === NOWHERE || place[2] <= 0 || place[3] <= 0;
    return isNowhere ? "it is on no screen" : undefined;
  }
  if (!place || !offset) return undefined;
  const moved = [place[0] + offset[0], place[1] + offset[1], place[2], place[3]];
  return Bun.deepEquals(moved, [...own.bounds]) ? "GTK 4: places count from the window" : undefined;
}

/** Where windows of GTK 4 are: the place of one element settles it for all. */
function offsetOf(pairs: readonly Pair[]): readonly [number, number] | undefined {
  const first = pairs.find(({ own, other }) => own.bounds && other.place && own.role === "window");
  if (!first?.own.bounds || !first.other.place) return undefined;
  return [first.own.bounds[0] - first.other.place[0], first.own.bounds[1] - first.other.place[1]];
}

function compare(own: readonly Element[], theirs: readonly Node[], isGtk4: boolean): Agreement {
  const left = new Map(own.map((one) => [one.native_id, one]));
  const take = (other: Node): Element | undefined => {
    // Qt 5 gives a cell another id each time.
    const isIt = (one: Element) =>
      one.native_role === other.role && one.name === other.name && Bun.deepEquals(one.bounds, other.place);
    const found = left.get(other.id) ?? [...left.values()].find(isIt);
    if (found) left.delete(found.native_id);
    return found;
  };
  const reasons: Record<string, number> = {};
  const unexplained: string[] = [];
  const note = (why: string | undefined, what: string, one: unknown) => {
    if (why === undefined) unexplained.push(`${what}: ${JSON.stringify(one)}`);
    else reasons[why] = (reasons[why] ?? 0) + 1;
  };
  const byId = new Map(theirs.map((one) => [one.id, one]));
  const isInButton = ({ around }: Node) =>
    around.some((id) => /button|menu item/.test(byId.get(id)?.role ?? ""));
  const pairs: Pair[] = [];
  for (const other of theirs) {
    const element = take(other);
    if (element) pairs.push({ own: element, other });
    else
      note(
        isGtk4 && isInButton(other) ? "GTK 4: a part of a button that it names" : undefined,
        "missing",
        other,
      );
  }
  for (const one of left.values()) note(undefined, "not theirs", one);
  const texts = new Set(
    theirs.flatMap(({ role, name }) => (/^(?:label|static)$/.test(role) ? [labelText(name)] : [])),
  );
  const offset = isGtk4 ? offsetOf(pairs) : undefined;
  for (const pair of pairs) {
    const { own: element, other } = pair;
    if (element.native_role !== other.role) note(isGtk4 ? whyRole(pair) : undefined, "role", pair);
    if (element.name !== normal(other.name)) note(whyName(pair, texts), "name", pair);
    if (!Bun.deepEquals(element.bounds, other.place)) note(whyPlace(pair, offset), "place", pair);
  }
  return { compared: pairs.length, reasons, unexplained };
}

/** Both trees of the program of that name, once `ready` is there. */
async function agreementOf(
  at: Awaited<ReturnType<typeof startSession>>,
  app: string,
  ready: string,
  isGtk4 = false,
) {
  await until(ready, async () => (await at.elements.find(parseLocator(ready), 1)).elements.length > 0);
  const own = async () => (await at.elements.tree({ app }, 5_000)).windows.flatMap(flat);
  const stateOf = (all: readonly Element[]) => JSON.stringify(all.map(({ bounds, name }) => [bounds, name]));
  let all = await own();
  // A window may still be drawn.
  await until("a tree that stays", async () => {
    const before = stateOf(all);
    all = await own();
    return before === stateOf(all);
  });
  const python = at.start("/usr/bin/python3", join(programs, "agree.py"), app);
  const lines = (await python.stdout.text()).trim().split("\n");
  const theirs = lines.map((line) => v.parse(NODE, JSON.parse(line)));
  // What both others say is one thing.
  for (const { name, dogtail_name, place, dogtail_place } of theirs)
    expect([dogtail_name, dogtail_place]).toEqual([name, place]);
  return compare(all, theirs, isGtk4);
}

describe("dogtail and pyatspi agree with svc on", () => {
  testWith(
    ...session,
    ...others,
    "zenity",
  )("a form of GTK 3 (zenity)", async () => {
    await using at = await startSession();
    at.start(
      ...[
        "zenity",
        "--forms",
        "--title=Order",
        "--text=New order",
        "--add-entry=Customer",
        "--add-password=PIN",
      ],
      ...["--add-combo=Ship", "--combo-values=Post|Courier", "--add-calendar=Day"],
    );
    const { compared, reasons, unexplained } = await agreementOf(at, "zenity", 'button "OK"');
    expect(unexplained).toEqual([]);
    expect(compared).toBeGreaterThan(15);
    expect(Object.keys(reasons).toSorted()).toEqual(["it is on no screen", "named by the label beside it"]);
  });

  testWith(
    ...session,
    ...others,
    "yad",
  )("a form of GTK 3 (yad)", async () => {
    await using at = await startSession();
    at.start(
      ...[
        "yad",
        "--form",
        "--title=Order",
        "--field=Customer",
        "--field=Sent by:CB",
        "--field=Paid:CHK",
        "--field=Count:NUM",
      ],
      ...["--button=Save:0", "ACME", "Mail!Post!Fax", "TRUE", "5"],
    );
    const { compared, reasons, unexplained } = await agreementOf(at, "yad", 'button "Save"');
    expect(unexplained).toEqual([]);
    expect(compared).toBeGreaterThan(15);
    expect(Object.keys(reasons).toSorted()).toEqual(["it is on no screen", "named by its label"]);
  });

  testWith(
    ...session,
    ...others,
    "gnome-calculator",
  )("a window of GTK 4 (gnome-calculator)", async () => {
    await using at = await startSession();
    at.start("gnome-calculator");
    const { compared, reasons, unexplained } = await agreementOf(at, "gnome-calculator", 'button "7"', true);
    expect(unexplained).toEqual([]);
    expect(compared).toBeGreaterThan(50);
    expect(Object.keys(reasons).toSorted()).toEqual([
      "GTK 4: a menu button is around its button",
      "GTK 4: a part of a button that it names",
      "GTK 4: it has the name of its class",
      "GTK 4: places count from the window",
      "GTK 4: the name is there twice",
      "it is on no screen",
    ]);
  });

  testWith(
    ...session,
    ...others,
    `${PACKAGES}/PyQt5`,
  )("a form of Qt 5", async () => {
    await using at = await startSession();
    await at.elements.tree({}, 1);
    at.start("/usr/bin/python3", join(programs, "choices.py"));
    const { compared, reasons, unexplained } = await agreementOf(
      at,
      "choices.py",
      'button "Save at the end"',
    );
    expect(unexplained).toEqual([]);
    expect(compared).toBeGreaterThan(90);
    expect(Object.keys(reasons).toSorted()).toEqual(["it is on no screen", "named by its label"]);
  });
});
