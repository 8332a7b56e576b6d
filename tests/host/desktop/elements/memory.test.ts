/** What is remembered of programs that do not search: what is asked again, and what is not. */
import { expect, test } from "bun:test";
import type { Accessibles } from "../../../../src/host/desktop/elements/accessible";
import { remembering } from "../../../../src/host/desktop/elements/memory";

const BUTTON = 43;
const PANEL = 39;
const refs = ["/1", "/2", "/3"].map((path) => ({ bus: ":1.5", path }));

/** A program of two buttons and a panel, with a count of what it was asked. */
function start() {
  const names = ["Save", "Open", ""];
  const asked: string[] = [];
  const nth = (path: string) => Number(path.slice(1)) - 1;
  const ask = {
    role: async ({ path }) => {
      asked.push(`role ${path}`);
      return nth(path) === 2 ? PANEL : BUTTON;
    },
    name: async ({ path }) => {
      asked.push(`name ${path}`);
      return names[nth(path)] ?? "";
    },
    children: async ({ path }) => {
      asked.push(`children ${path}`);
      return [];
    },
  } as Pick<Accessibles, "role" | "name" | "children"> as Accessibles;
  return { names, memory: remembering(ask), taken: () => asked.splice(0) };
}

test("a role is asked once, and what a button holds as well; what may hold others is asked again", async () => {
  const { memory, taken } = start();
  const [button, , panel] = refs;
  if (!button || !panel) return;
  for (const ref of [button, panel]) expect(await memory.children(ref)).toEqual([]);
  expect(taken().toSorted()).toEqual(["children /1", "children /3", "role /1", "role /3"]);
  expect([memory.leaf(button), memory.leaf(panel)]).toEqual([BUTTON, undefined]);
  await memory.children(panel);
  expect(taken()).toEqual(["children /3"]);
});

test("a name that fits is asked for now, and all are where none fits", async () => {
  const { memory, names, taken } = start();
  const save = (name: string) => name === "Save";
  expect(await memory.names(refs, save)).toEqual(["Save", "Open", ""]);
  memory.begin(":1.5");
  await memory.names(refs, save);
  taken();
  expect(await memory.names(refs, save)).toEqual(["Save", "Open", ""]);
  expect(taken()).toEqual(["name /1"]);
  names[1] = "Close";
  expect(await memory.names(refs, (name) => name === "Close")).toEqual(["Save", "Close", ""]);
  expect(taken()).toHaveLength(3);
});
