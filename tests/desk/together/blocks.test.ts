/** Blocks before they run: parts of a body, and barriers that meet. */
import { describe, expect, test } from "bun:test";
import { meetingsOf, partsOf, requireOwnShares } from "../../../src/desk/together/blocks";

const sleep = ["AC_sleep", { seconds: 0 }];

describe("a body", () => {
  test("is parted at its barriers, each part with the place of its first action", () => {
    const body = [["AC_barrier", ["a"]], sleep, sleep, ["AC_barrier", { name: "b", timeout: "2s" }], sleep];
    expect(
      partsOf(body, "body").map(({ from, actions, barrier }) => [from, actions.length, barrier]),
    ).toEqual([
      [0, 0, { name: "a", timeout: 60 }],
      [1, 2, { name: "b", timeout: 2 }],
      [4, 1, undefined],
    ]);
  });

  test("has no barrier inside other actions, where hosts cannot be parted", () => {
    const body = [sleep, ["AC_loop", { times: 2, body: [["AC_barrier", { name: "a" }]] }]];
    expect(() => partsOf(body, "body")).toThrow("body[1]: expected AC_barrier in the body itself");
  });

  test.each([
    ["5 parsecs", "a time from 0.1s to 24h, such as 30s"],
    ["0s", "a time from 0.1s to 24h, such as 30s"],
    [true, "a time from 0.1s to 24h, such as 30s"],
    [0, "at least 0.1"],
    [90_000, "at most 86400"],
  ])("has no barrier with the time limit %p: expected %p", (timeout, expected) => {
    const body = [["AC_barrier", { name: "a", timeout }]];
    expect(() => partsOf(body, "body")).toThrow(`body[0]: timeout: expected ${expected}`);
  });

  test("names its barriers literally", () => {
    expect(() => partsOf([["AC_barrier", { name: "${a}" }]], "body")).toThrow("body[0]: name: expected");
  });
});

describe("barriers", () => {
  test("meet as often as branches have them, also in part of the branches", () => {
    expect([...meetingsOf([["a", "b", "a"], ["a", "a"], ["b"]])]).toEqual([
      ["a", [0, 1]],
      ["b", [0, 2]],
      ["a (2)", [0, 1]],
    ]);
    expect(meetingsOf([[], []]).size).toBe(0);
  });

  test("that are in one branch only cannot meet", () => {
    expect(() => meetingsOf([["a", "b"], ["a"]])).toThrow("the barrier b is in one branch only");
    expect(() => meetingsOf([["a", "a"], ["a"]])).toThrow("the barrier a (2) is in one branch only");
  });

  test("are counted in one pass, and there are at most 1,000 of them", () => {
    const names = Array.from({ length: 500 }, (_, nth) => `b${nth % 3}`);
    expect(meetingsOf([names, names]).size).toBe(500);
    expect(() => meetingsOf([[...names, "x"], names])).toThrow("branches: expected at most 1000 barriers");
    const many = new Array(1_001).fill(["AC_barrier", ["a"]]);
    expect(() => partsOf(many, "body")).toThrow("body: expected at most 1000 barriers");
  });

  test("in another order cannot meet, also in a circle of three", () => {
    expect(() =>
      meetingsOf([
        ["a", "b"],
        ["b", "a"],
      ]),
    ).toThrow("the barriers a and b cannot meet");
    expect(() =>
      meetingsOf([
        ["a", "b"],
        ["b", "c"],
        ["c", "a"],
      ]),
    ).toThrow("the barriers a and b and c cannot meet");
  });
});

test("two branches do not share one variable", () => {
  const block = (place: string, ...share: string[]) => ({
    ...{ place, host: place, body: [], share, variables: {}, timeout: 1 },
  });
  requireOwnShares([[block("a", "x"), block("b", "x")], [block("c", "y")]]);
  expect(() => requireOwnShares([[block("a", "x")], [block("b", "x")]])).toThrow(
    "branches: x is shared by two branches",
  );
});
