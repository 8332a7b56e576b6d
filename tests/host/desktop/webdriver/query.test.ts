/** Elements by XPath and CSS, in the child process. */
import { afterAll, describe, expect, test } from "bun:test";
import { createQueries, type QueryBranch } from "../../../../src/host/desktop/webdriver/query";
import { silentLog } from "../../../../src/lib/log";
import { Requester } from "../../../../src/lib/slots";

const made = createQueries(silentLog);
afterAll(() => made.stop());
const owner = new Requester(null);
type Select = Parameters<typeof made.select> extends [Requester, ...infer A] ? A : never;
const queries = { select: (...args: Select) => made.select(owner, ...args) };

const one = (role: string, name: string, ...children: QueryBranch[]): QueryBranch => ({
  role,
  attributes: { name, enabled: `${name !== "Off"}` },
  children,
});
const TREE = [
  one("window", "Main", one("group", "Left", one("button", "OK")), one("button", "Off")),
  one("dialog", 'Say "hi"', one("button", "OK")),
];

describe("the places of what is selected, in the order of the tree", () => {
  test.each([
    ["xpath", "//button", [2, 3, 5]],
    ["xpath", "//dialog/button[@name='OK']", [5]],
    ["xpath", "//button[not(@enabled='false')]", [2, 5]],
    ["xpath", "//*[@name='Say \"hi\"']", [4]],
    ["css selector", "window > button", [3]],
    ["css selector", "button[name^=O]:not([enabled=false])", [2, 5]],
    ["css selector", "group button, dialog button", [2, 5]],
    ["css selector", "button:first-child", [2, 5]],
    ["css selector", "window:has(group)", [0]],
    ["css selector", "*", [0, 1, 2, 3, 4, 5]],
  ] as const)("%s %s", async (using, expression, places) => {
    expect(await queries.select(TREE, using, expression, false)).toEqual([...places]);
  });

  test("in an element, what it holds alone", async () => {
    const [window] = TREE;
    if (!window) throw new Error("no tree");
    expect(await queries.select([window], "xpath", ".//button", true)).toEqual([2, 3]);
    expect(await queries.select([window], "css selector", "window button", true)).toEqual([]);
    expect(await queries.select([window], "css selector", "button", true)).toEqual([2, 3]);
  });
});

test.each([
  ["xpath", "//["],
  ["xpath", "count(//button)"],
  ["xpath", "//button/@name"],
  ["css selector", "button["],
  ["css selector", "::before"],
] as const)("%s %s is refused", async (using, expression) => {
  expect(queries.select(TREE, using, expression, false)).rejects.toMatchObject({ code: "bad_input" });
});

test("an expression that takes too long ends with its process, and the next is answered", async () => {
  const many = [one("window", "Main", ...Array.from({ length: 3_000 }, (_, n) => one("button", `${n}`)))];
  const slow = queries.select(many, "xpath", "//*[count(//*[count(//*) > 1]) > 1]", false);
  expect(slow).rejects.toMatchObject({ code: "timeout" });
  await slow.catch(() => {});
  expect(await queries.select(TREE, "xpath", "//dialog", false)).toEqual([4]);
}, 30_000);

test("the tree as XML has what XML cannot hold replaced", async () => {
  expect(await made.source(owner, [one("button", "a<b & \u0000")])).toBe(
    '<desktop><button name="a&lt;b &amp; \ufffd" enabled="true"/></desktop>',
  );
});

test("a query that takes much memory is ended, and the next one has a process of its own", async () => {
  const queries = createQueries(silentLog, 200 * 1_048_576);
  const tree: QueryBranch[] = Array.from({ length: 3_000 }, () => ({
    role: "button",
    attributes: {},
    children: [],
  }));
  const requester = new Requester(null);
  const greedy = queries.select(requester, tree, "xpath", "//*/preceding::*/following::*", false);
  await expect(greedy).rejects.toThrow("takes more than 209715200 bytes of memory");
  expect(await queries.select(requester, tree.slice(0, 2), "xpath", "//button", false)).toEqual([0, 1]);
  await queries.stop();
}, 60_000);
