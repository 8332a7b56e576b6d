/** Whether what is typed goes into a secret field, also while programs do not answer. */
import { expect, test } from "bun:test";
import type { Element, Findings } from "../../../../src/host/desktop/elements/calls";
import { secretFocus } from "../../../../src/host/desktop/record/names";
import { timedOut } from "../../../../src/lib/errors";

const FIELD = { role: "textbox", app_name: "Zenity", process_id: 7, focused: true, secret: true } as Element;

/** Asks programs that answer so, one look after the other; undefined is a look that fails. */
function asking(...looks: ReadonlyArray<Partial<Findings> | undefined>) {
  let nth = 0;
  const isSecret = secretFocus(async () => {
    const found = looks[nth++];
    if (!found) throw new Error("no answer");
    return { elements: [], more: false, deaf: [], ...found };
  });
  return async () => {
    const said: boolean[] = [];
    for (const _ of looks) said.push(await isSecret());
    return said;
  };
}

test("a secret field has the focus, or has not", async () => {
  const other = { ...FIELD, focused: false };
  expect(await asking({ elements: [FIELD] }, { elements: [other] }, {})()).toEqual([true, false, false]);
});

test("while the program that had a secret field does not answer, what is typed counts as secret", async () => {
  const had = { elements: [{ ...FIELD, focused: false }] };
  expect(await asking(had, { deaf: ["zenity"] }, { deaf: ["process 7"] }, undefined, {})()).toEqual([
    ...[false, true, true, true, false],
  ]);
});

test("what is typed while no program answers in time counts as secret", async () => {
  const late = secretFocus(async () => {
    throw timedOut("the programs take too long");
  });
  expect(await late()).toBe(true);
});

test("a program that never had one, and does not answer, makes nothing secret", async () => {
  const had = { elements: [{ ...FIELD, focused: false }], deaf: ["other"] };
  expect(await asking({ deaf: ["other"] }, had, undefined)()).toEqual([false, false, true]);
});
