/** docs/troubleshooting.md quotes what svc says, and has an entry for each alert. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript5";
import * as v from "valibot";
import { parse as parseYaml } from "yaml";
import { ROOT, readPage } from "./pages";

const page = readPage("docs/troubleshooting.md");

test("every message that docs/troubleshooting.md quotes is one that the source has", () => {
  const quoted = [...page.matchAll(/^(?:- )?> (.+)$/gm)].map(([, message = ""]) => message);
  expect(quoted.length).toBeGreaterThan(80);
  const texts = sourceTexts();
  expect(quoted.filter((message) => !texts.some((text) => text.includes(normal(message))))).toEqual([]);
});

test("each alert of docs/prometheus has its entry, and no other", () => {
  const { groups } = v.parse(RULES, parseYaml(readPage("docs/prometheus/alerts.yml")));
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  const entries = [...page.matchAll(/^### (Svc\w+)$/gm)].map(([, name]) => name);
  expect(entries).toEqual(alerts);
});

const RULES = v.object({
  groups: v.array(v.object({ rules: v.array(v.object({ alert: v.string() })) })),
});

/** Every text in the source, `…` for what is filled in. */
function sourceTexts(): string[] {
  const texts: string[] = [];
  for (const pattern of ["src/**/*.ts", "commands/**/*.ts"]) {
    for (const path of new Bun.Glob(pattern).scanSync({ cwd: ROOT })) {
      const source = readFileSync(join(ROOT, path), "utf8");
      const visit = (node: ts.Node): void => {
        if (ts.isStringLiteralLike(node)) texts.push(normal(node.text));
        if (ts.isTemplateExpression(node)) {
          const spans = node.templateSpans.map(({ literal }) => literal.text);
          texts.push(normal([node.head.text, ...spans].join("…")));
        }
        ts.forEachChild(node, visit);
      };
      visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest));
    }
  }
  return texts;
}

/** Without `…` at the ends; what is filled in may be quoted. */
const normal = (text: string) =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll("`", "")
    .replaceAll(/^[… ]+|[… ]+$/g, "");
