/** What the benches say of a ratio that was measured several times. */
import { describe, expect, test } from "bun:test";
import { tableRows } from "../../bench/compare";
import { exponentOf } from "../../bench/growth";
import { type Figure, spreadOf } from "../../bench/support";
import { type Busy, busyTableOf, pageOf, tableOf, verdictOf } from "../../bench/table";

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
  const page = pageOf("", [figure(0.5, ">= 0.6"), unknown, { ...figure(1, ">= 0.6"), name: "met" }], null);
  const [, missed = ""] = page.split("## What is missed, and why");
  expect(missed).toMatch(/^\| GET \/health \| 0\.50, ≥ 0\.6 \| Bun alone takes .*\|$/m);
  expect(missed).toMatch(/^\| another +\| 2\.00, ≤ 1 +\| Not known\. +\|$/m);
  expect(missed).not.toContain("| met");
});

test("the page has each plot under its name and exponent", () => {
  const grows = { ...figure([1.02, 0.98, 1], "<= 1.15"), name: "a poll, by hosts: exponent", plot: "●" };
  const page = pageOf("", [figure(1, ">= 0.6"), grows], null);
  expect(page).toContain("**a poll, by hosts: exponent 1.00 (0.98–1.02)**\n\n```text\n●\n```");
  expect(page).not.toContain("**GET /health");
});

describe("the column of the busy run", () => {
  const quiet = [figure([0.61, 0.62, 0.7], ">= 0.6"), { ...figure(1, "<= 2"), name: "only quiet" }];
  const busy: Busy = {
    ...{ machine: "svc 0.1.0 (abc) · load 3.1", load: "two processes that compute", missing: ["bench/a.ts"] },
    figures: [figure(0.3, ">= 0.6"), { ...figure(1, ">= 0.6"), name: "only busy" }],
  };
  const cellsOf = (page: string, name: string) =>
    page
      .split("\n")
      .find((line) => line.startsWith(`| ${name}`))
      ?.split("|")
      .map((cell) => cell.trim())
      .slice(1, -1);

  test("has the ratio of the same figure, and changes no verdict", () => {
    const page = pageOf("svc 0.1.0 (abc) · load 0.3", quiet, busy);
    expect(cellsOf(page, "figure")).toEqual([
      ...["figure", "ratio", "spread", "busy", "goal", "", "measured / baseline"],
    ]);
    expect(cellsOf(page, "GET /health")).toEqual([
      ...["GET /health", "0.62", "0.61–0.70", "0.30", "≥ 0.6", "met", "1 / 2 ms"],
    ]);
    expect(cellsOf(page, "only quiet")?.[3]).toBe("");
    expect(page).not.toContain("only busy");
    expect(page).toContain("## What is missed, and why\n\nNothing.");
    expect(page).toContain(
      "two processes that compute. It takes part in no verdict. It has no figures of bench/a.ts.",
    );
    expect(page).toContain(
      "The busy run: svc 0.1.0 (abc) · load 3.1\n\nsvc 0.1.0 (abc) · load 0.3\n\n| figure",
    );
  });

  test("has nothing where there was no such run, and the page says so", () => {
    const page = pageOf("", quiet, null);
    expect(cellsOf(page, "GET /health")?.[3]).toBe("");
    expect(page).toContain("There was no busy run of this build");
  });

  test("is not in a table of the terminal, and the table of a busy run has no verdict", () => {
    expect(tableOf(quiet)).not.toContain("busy");
    expect(busyTableOf(busy.figures)).not.toMatch(/met|MISSED|not shown/);
    expect(tableRows(busyTableOf(busy.figures)).get("GET /health")).toBe(0.3);
  });
});
