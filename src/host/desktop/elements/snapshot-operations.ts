/**
 * What agents and scripts see and do by short references: a snapshot of what programs show, and several deeds in one call.
 */
import * as v from "valibot";
import { field, judged, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { shareOf } from "../../../core/rights";
import { badInput } from "../../../lib/errors";
import type { Uses } from "../operations/input-operation";
import { act, DEEDS } from "./act";
import { ACTS, LINE_OR_REFERENCE, patience, SEES, TEXT } from "./fields";
import { parseLocator } from "./locator";
import { desktopOf } from "./real";
import { sizeOf } from "./snapshot-lines";
import { isBare, REFERENCE, type Scope, type Snapshots, withinBytes, wordedReference } from "./snapshots";

/** How much a snapshot and a change say by default, and at most, in bytes. */
const USUAL_BYTES = 4_096;
const MAX_BYTES = 65_536;
const MAX_STEPS = 50;

const SCOPE = {
  window: field(v.optional(TEXT), "Part of the title of the window"),
  app: field(v.optional(TEXT), "Only this program"),
  within: field(v.optional(LINE_OR_REFERENCE), "Only what is in this: e12, or a locator"),
};
const MOST = {
  since: field(v.optional(whole(1, Number.MAX_SAFE_INTEGER)), "Earlier snapshot: show what changed"),
  max_bytes: field(v.optional(whole(512, MAX_BYTES), USUAL_BYTES), "Longest answer"),
};

const COUNT = v.number();
const SNAPSHOT = {
  snapshot: COUNT,
  since: v.nullable(COUNT),
  /** Names and texts are those of programs: untrusted. */
  lines: v.array(v.string()),
  left_out: v.object({ act: COUNT, others: COUNT }),
  deaf: v.array(v.string()),
};

const NO_CLI = "references last as long as a process: `svc tree` and `svc elements` do this in a terminal";

interface ScopeInput {
  readonly window?: string | undefined;
  readonly app?: string | undefined;
  readonly within?: string | undefined;
}

function scopeOf(snapshots: Snapshots, { window, app, within }: ScopeInput): Scope {
  if (within === undefined) return { window, app };
  if (REFERENCE.test(within)) return { id: snapshots.resolve(within).native_id };
  return { window, app, within: parseLocator(within) };
}

export const snapshot = operation({
  ...SEES,
  name: "desktop.snapshot",
  summary: "Show what programs have on the screen in short lines, by name; [e12] is for desktop_act",
  command: "AC_snapshot",
  leftOut: { ...SEES.leftOut, cli: NO_CLI },
  example: { window: "Order" },
  input: v.strictObject({ ...SCOPE, ...MOST }),
  output: v.object(SNAPSHOT),
  async run(service: Uses, { since, max_bytes: most, ...input }, caller) {
    const { snapshots } = await desktopOf(service, caller);
    const scope = scopeOf(snapshots, input);
    const wish = { share: shareOf(caller.grant), scope, since, most };
    return mutable(snapshots.answer(await snapshots.look(scope), wish));
  },
});

const STEP = v.strictObject({
  do: v.picklist(DEEDS),
  element: LINE_OR_REFERENCE,
  text: v.optional(v.pipe(v.string(), v.maxLength(100_000))),
});

export const actOn = operation({
  ...ACTS,
  name: "desktop.act",
  summary:
    "Act on elements by reference or locator, one after the other, and answer what has changed when the screen rests",
  command: "AC_act",
  leftOut: { ...ACTS.leftOut, cli: NO_CLI },
  example: { steps: [{ do: "press", element: 'button "Save"' }] },
  input: v.strictObject({
    // Whole, as what is to be put into fields is in it.
    steps: field(
      judged(v.pipe(v.array(STEP), v.nonEmpty(), v.maxLength(MAX_STEPS))),
      "What to do: press, set_text (with text), check, uncheck or focus an element (e12, or a locator)",
    ),
    ...SCOPE,
    ...MOST,
    ...patience(5),
  }),
  output: v.object({ done: v.array(v.string()), rests: v.boolean(), ...SNAPSHOT }),
  mismatch({ steps }) {
    const at = steps.findIndex((step) => (step.do === "set_text") !== (step.text !== undefined));
    if (at < 0) return undefined;
    return { field: "steps", message: `expected text in each set_text, and in no other (step ${at + 1})` };
  },
  async worded(service: Uses, { steps, ...input }) {
    const { snapshots } = await service.desktop();
    const words = (element: string) =>
      isBare(element) ? wordedReference(element, snapshots.resolve(element)) : element;
    return { ...input, steps: steps.map((step) => ({ ...step, element: words(step.element) })) };
  },
  async run(service: Uses, { steps, timeout, since, max_bytes: most, ...input }, caller) {
    const bare = caller.run && steps.find(({ element }) => isBare(element));
    if (bare)
      throw badInput(
        `steps: expected ${bare.element} with role and name, as ${bare.element} button "OK": who reads a list is to know what it does`,
      );
    const { elements, snapshots } = await desktopOf(service, caller);
    const scope = scopeOf(snapshots, input);
    const wish = { share: shareOf(caller.grant), scope, since, most };
    const before = snapshots.earlier(wish) ?? (await snapshots.look(scope));
    const memory = caller.acted && (await import("./remember")).remembering(elements, caller);
    const waiting = { timeout, signal: caller.signal };
    const done = await act(elements, snapshots, steps, waiting, memory?.step).catch((error) => {
      memory?.failed();
      throw error;
    });
    const { rests, ...now } = await snapshots.lookAtRest(scope, caller.signal);
    await memory?.done(before.entries, now.entries);
    const said = withinBytes(done, most / 2, (left) => `… and ${left} more, all done`);
    const room = most - said.reduce((sum, one) => sum + sizeOf(one), 0);
    return { done: said, rests, ...mutable(snapshots.answer(now, { ...wish, most: room }, before)) };
  },
});

const mutable = ({ lines, deaf, left_out, ...others }: ReturnType<Snapshots["answer"]>) => ({
  ...others,
  lines: [...lines],
  left_out: { ...left_out },
  deaf: [...deaf],
});

export const operations = [snapshot, actOn];
