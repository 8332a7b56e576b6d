/** What the benches say of a ratio that was measured several times. */
import { describe, expect, test } from "bun:test";
import { tableRows } from "../../bench/compare";
import { exponentOf } from "../../bench/growth";
import { type Figure, spreadOf } from "../../bench/support";
import { pageOf, tableOf, verdictOf } from "../../bench/table";

const figure = (ratio: Figure["ratio"], goal: Figure["goal"]): Figure => ({
  name: "GET /health",
  ratio,
  goal,
  detail: "1 / 2 ms",
});

describe("the spread of a ratio", () => {
  test("of six measurements is all of them", () => {
    expect(spreadOf([3, 1, 2, 6, 5, 4])).toEqual({ low: 1, high: 6 });
  });
  test("of nine leaves out the least and the greatest, of twelve two at each end", () => {
    // David, Nagaraja, "Order Statistics", table for the sign test at 95 %.
    expect(spreadOf([1, 2, 3, 4, 5, 6, 7, 8, 9])).toEqual({ low: 2, high: 8 });
    expect(spreadOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])).toEqual({ low: 3, high: 10 });
  });
  test("of one measurement is that one", () => {
    expect(spreadOf([0.7])).toEqual({ low: 0.7, high: 0.7 });
  });
});

describe("a goal", () => {
  test("is met when the whole spread meets it", () => {
    expect(verdictOf(figure([0.61, 0.62, 0.7], ">= 0.6"))).toBe("met");
  });
  test("is not shown when a part of the spread does not meet it", () => {
    expect(verdictOf(figure([0.59, 0.62, 0.7], ">= 0.6"))).toBe("not shown");
  });
  test("is missed when none of the spread meets it, and when nothing was measured", () => {
    expect(verdictOf(figure([1.2, 1.3], "<= 1"))).toBe("MISSED");
    expect(verdictOf(figure(Number.NaN, "<= 1"))).toBe("MISSED");
  });
});

test("a comparison reads the ratios of a table that a bench printed", () => {
  const table = `svc 0.1.0 · 2 × EPYC\n\n${tableOf([figure([0.5, 0.6, 0.7], ">= 0.6")])}\n`;
  expect(tableRows(table)).toEqual(new Map([["GET /health", 0.6]]));
});

test("cost that doubles with the size has the exponent 1, and cost that stays the exponent 0", () => {
  const of = (costs: number[]) => exponentOf(costs.map((cost, nth) => ({ size: 2 ** nth, cost })));
  expect(of([3, 6, 12, 24])).toBeCloseTo(1);
  expect(of([3, 3, 3, 3])).toBeCloseTo(0);
});

test("the page says why a goal is missed, and names those that nobody has explained", () => {
  const unknown = { ...figure(2, "<= 1"), name: "another" };
  const page = pageOf("", [figure(0.5, ">= 0.6"), unknown, { ...figure(1, ">= 0.6"), name: "met" }]);
  const [, missed = ""] = page.split("## What is missed, and why");
  expect(missed).toMatch(/^\| GET \/health \| 0\.50, ≥ 0\.6 \| Bun alone takes .*\|$/m);
  expect(missed).toMatch(/^\| another +\| 2\.00, ≤ 1 +\| Not known\. +\|$/m);
  expect(missed).not.toContain("| met");
});

test("the page has each plot under its name and exponent", () => {
  const grows = { ...figure([1.02, 0.98, 1], "<= 1.15"), name: "a poll, by hosts: exponent", plot: "●" };
  const page = pageOf("", [figure(1, ">= 0.6"), grows]);
  expect(page).toContain("**a poll, by hosts: exponent 1.00 (0.98–1.02)**\n\n```text\n●\n```");
  expect(page).not.toContain("**GET /health");
});
