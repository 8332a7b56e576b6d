/** The Grafana dashboard: up to date, laid out as Grafana wants it, over metrics that exist. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { grafanaDashboard } from "../../build/grafana/dashboard";
import { temporaryFolder, testWith } from "../support";
import { grafanaPanels, grafanaVariables, ungrafana } from "./dashboard";
import { readPage } from "./pages";
import { complaintsAbout } from "./promql";

test("docs/grafana/svc.json is up to date: it is what `npm run docs` writes", () => {
  expect(readPage("docs/grafana/svc.json")).toBe(grafanaDashboard());
});

describe("a panel", () => {
  const panels = grafanaPanels();

  test("has a unique id", () => {
    const ids = panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("overlaps no other, and stays within the grid of 24 columns", () => {
    const cells = panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
      expect({ title, within: x >= 0 && x + w <= 24 }).toEqual({ title, within: true });
      return Array.from({ length: w * h }, (_, nth) => `${x + (nth % w)},${y + Math.floor(nth / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });

  test("says what it shows, asks the chosen Prometheus, and has a unit", () => {
    for (const { type, title, description, datasource, fieldConfig } of panels) {
      if (type === "row") continue;
      expect(description ?? "", title).not.toBe("");
      expect(datasource, title).toEqual({ type: "prometheus", uid: "${datasource}" });
      if (type !== "table") expect(fieldConfig?.defaults.unit, title).toBeString();
    }
  });
});

describe("a query", () => {
  const queries = grafanaPanels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  test("is about metrics and labels that exist", async () => {
    expect(queries.length).toBeGreaterThan(30);
    for (const query of queries) expect(await complaintsAbout(ungrafana(query))).toEqual([]);
  });

  test("counts no request for want of a screen as an error of a host", () => {
    const aboutErrors = queries.filter((query) => query.includes('status=~"5..'));
    expect(aboutErrors.length).toBeGreaterThan(1);
    expect(aboutErrors.filter((query) => !query.includes('status=~"5..", lacks=""'))).toEqual([]);
  });

  test("uses no variable that the dashboard does not have", () => {
    const known = new Set([...grafanaVariables(), "__rate_interval", "__range"]);
    const used = queries.flatMap((query) => [...query.matchAll(/\$\{?(\w+)/g)].map(([, name = ""]) => name));
    expect(new Set(used).difference(known)).toEqual(new Set());
  });

  testWith("promtool")("is accepted by Prometheus", async () => {
    using folder = temporaryFolder();
    const rules = queries.map((query, nth) => ({ record: `query:${nth}`, expr: ungrafana(query) }));
    const file = join(folder.path, "rules.yml");
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    const check = Bun.spawn(["promtool", "check", "rules", "--lint=none", file], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = await Promise.all([check.stdout.text(), check.stderr.text()]);
    expect([await check.exited, ...said]).toMatchObject([
      0,
      expect.stringContaining(`${queries.length} rules found`),
      "",
    ]);
  });
});
