/** The table in a binary. */
import { expect, test } from "bun:test";
import { lateTable, loadLate } from "../../src/core/late-table";

/** Two definitions in two lists, of which the second counts how often it is asked for. */
function table() {
  let loaded = 0;
  const run = () => 1;
  const fault = () => 2;
  const lists = [
    () => [{ name: "a", run }],
    () => {
      loaded++;
      return [{ name: "none" }, { name: "b", http: { path: "/b", fault }, input: "of b", run }];
    },
  ];
  const all = lateTable(lists, [
    {
      list: 1,
      at: 1,
      early: { name: "b", http: { path: "/b" } },
      late: ["input", "run"],
      parts: { http: ["fault"] },
    },
    { list: 0, at: 0, early: { name: "a" }, late: ["run"], parts: {} },
  ]);
  return { all, run, fault, loaded: () => loaded };
}

test("what is early is there, and loads nothing", () => {
  const { all, loaded } = table();
  expect(all.map((one) => Object(one).name)).toEqual(["b", "a"]);
  expect(Object(all[0]).http.path).toBe("/b");
  expect(Object.keys(all[0] ?? {})).toEqual(["name", "http", "input", "run"]);
  expect(Object(all[1]).input).toBeUndefined();
  expect(loaded()).toBe(0);
});

test("what is late is that of the list, once it is asked for", () => {
  const { all, run, fault, loaded } = table();
  expect(Object(all[0]).input).toBe("of b");
  expect(loaded()).toBe(1);
  expect(Object(all[0]).input).toBe("of b");
  expect(loaded()).toBe(1);
  expect(Object(all[0]).http.fault).toBe(fault);
  expect({ ...all[0] }).toEqual({ name: "b", http: { path: "/b", fault }, input: "of b", run });
  expect(Object(all[1]).run).toBe(run);
});

test("what is late of all is loaded in a turn of the event loop for each list that takes long", async () => {
  let turn = 0;
  const count = () => {
    turn++;
    turns = setImmediate(count);
  };
  let turns = setImmediate(count);
  const loaded: number[] = [];
  const lists = Array.from({ length: 4 }, () => () => {
    loaded.push(turn);
    const until = performance.now() + 10;
    while (performance.now() < until);
    return [{ run: "run" }];
  });
  const all = lateTable(
    lists,
    lists.map((_, list) => ({ list, at: 0, early: {}, late: ["run"], parts: {} })),
  );
  await loadLate(all);
  clearImmediate(turns);
  expect(new Set(loaded).size).toBe(4);
  expect(all).toEqual(lists.map(() => ({ run: "run" })));
});
