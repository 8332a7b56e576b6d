/** The Prometheus configuration and the alert rules: valid, about metrics that exist, each tested and explained. */
import { describe, expect, test } from "bun:test";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { parse as parseYaml } from "yaml";
import { temporaryFolder, testWith } from "../support";
import { anchorsOf, ROOT, readPage } from "./pages";
import { complaintsAbout } from "./promql";

const read = (name: string) => parseYaml(readPage(`docs/prometheus/${name}`));

const RULES = v.object({
  groups: v.array(
    v.object({
      rules: v.array(
        v.object({
          alert: v.string(),
          expr: v.string(),
          labels: v.strictObject({ severity: v.picklist(["critical", "warning", "info"]) }),
          annotations: v.strictObject({ summary: v.string(), description: v.string(), runbook: v.string() }),
        }),
      ),
    }),
  ),
});
const TESTS = v.object({
  tests: v.array(
    v.object({
      promql_expr_test: v.array(v.object({ exp_samples: v.array(v.object({ labels: v.string() })) })),
    }),
  ),
});

const alerts = v.parse(RULES, read("alerts.yml")).groups.flatMap(({ rules }) => rules);
const tested = v.parse(TESTS, read("alerts.test.yml")).tests;

describe("the configuration and the alerts, as promtool sees them", () => {
  /** The folder as an operator would have it: with the token next to the configuration. */
  const promtool = async (...args: string[]) => {
    using folder = temporaryFolder();
    cpSync(join(ROOT, "docs/prometheus"), folder.path, { recursive: true });
    writeFileSync(join(folder.path, "svc-token"), "a token\n");
    const child = Bun.spawn(["promtool", ...args], { cwd: folder.path, stdio: ["ignore", "pipe", "pipe"] });
    const said = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { exitCode: await child.exited, said: said.join("") };
  };

  testWith("promtool")("are valid, together with the files that they name", async () => {
    const { exitCode, said } = await promtool("check", "config", "--lint-fatal", "prometheus.yml");
    expect({ exitCode, said }).toMatchObject({
      exitCode: 0,
      said: expect.stringContaining(`${alerts.length} rules found`),
    });
  });

  testWith("promtool")(
    "fire on what their tests say, and on nothing else",
    async () => {
      const { exitCode, said } = await promtool("test", "rules", "alerts.test.yml");
      expect({ exitCode, said }).toMatchObject({ exitCode: 0, said: expect.stringContaining("SUCCESS") });
    },
    180_000,
  );
});

test("every alert has a test in which it fires", () => {
  const fired = tested.flatMap(({ promql_expr_test }) =>
    promql_expr_test.flatMap(({ exp_samples }) =>
      exp_samples.map(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1]),
    ),
  );
  for (const { alert } of alerts) expect(fired).toContain(alert);
});

test("every alert is about metrics and labels that exist", async () => {
  for (const { alert, expr } of alerts) expect([alert, await complaintsAbout(expr)]).toEqual([alert, []]);
});

test("every alert leads to what the troubleshooting page says of it", () => {
  const anchors = anchorsOf(readPage("docs/troubleshooting.md"));
  for (const { alert, annotations } of alerts) {
    const [page, anchor = ""] = annotations.runbook.split("#");
    expect([alert, page, anchors.has(anchor)]).toEqual([alert, "docs/troubleshooting.md", true]);
    expect(anchor).toBe(alert.toLowerCase());
  }
});
