/** The metrics reference lists what a scrape gives. */
import { describe, expect, test } from "bun:test";
import { metricFamilies, metricReference } from "../../build/metrics";
import { post, testServer } from "../support";
import { blocksOf, readPage } from "./pages";
import { complaintsAbout } from "./promql";

const written = readPage("docs/metrics.md");
/** Elsewhere a scrape has fewer of the process's own metrics. */
const onLinux = test.skipIf(process.platform !== "linux");

onLinux("docs/metrics.md is up to date: it is what `npm run docs` writes", async () => {
  expect(written).toBe(await metricReference());
});

onLinux(
  "it has every family that a host exposes, once things have happened there, and no other",
  async () => {
    await using host = await testServer();
    await host.call("/execute", post({ actions: [["AC_rest_api_status"]] }));
    await host.call("/inspector/samples", post({ samples: [{ rtt_ms: 1 }] }));
    const text = await (await host.call("/metrics")).text();
    const exposed = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]);
    const documented = [...written.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \|/gm)];
    expect(documented.map(([, name, type]) => [name, type])).toEqual(exposed);
  },
);

onLinux("a host that was just started has as many series as the page says", async () => {
  await using host = await testServer();
  const text = await (await host.call("/metrics")).text();
  const series = text.split("\n").filter((line) => /^\w/.test(line));
  expect(written).toContain(`A host that was just started has ${series.length} series`);
});

describe("a metric", () => {
  test("has its own explanation, and its unit in its name", async () => {
    const families = await metricFamilies();
    expect(new Set(families.map(({ help }) => help)).size).toBe(families.length);
    for (const { name, help } of families) {
      expect(help.length, name).toBeGreaterThan(12);
      expect(help, name).not.toEndWith(".");
    }
  });

  test("has only labels that the reference explains", async () => {
    const explained = /## Labels\n(.*?)\n## /s.exec(written)?.[1] ?? "";
    for (const label of (await metricFamilies()).flatMap(({ labels }) => labels)) {
      expect(explained).toContain(`\`${label}\``);
    }
  });
});

test("the queries that it shows are PromQL over metrics and labels that exist", async () => {
  const queries = blocksOf(written).flatMap(({ language, code }) => (language === "promql" ? [code] : []));
  expect(queries.length).toBeGreaterThan(3);
  for (const query of queries) expect(await complaintsAbout(query)).toEqual([]);
});
