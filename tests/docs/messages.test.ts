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
  expect(withoutSource(quoted)).toEqual([]);
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

/** Those of `messages` that no text in the source has. Files with the longest words of one are looked at first: to parse all takes seconds. */
function withoutSource(messages: readonly string[]): readonly string[] {
  const paths = ["src/**/*.ts", "commands/**/*.ts"].flatMap((pattern) => [
    ...new Bun.Glob(pattern).scanSync({ cwd: ROOT }),
  ]);
  const sources = paths.map((path) => readFileSync(join(ROOT, path), "utf8"));
  const wordsIn = (message: string) =>
    message
      .split(/[^A-Za-z ,]+/)
      .toSorted((a, b) => b.length - a.length)[0]
      ?.trim() ?? "";
  const words = messages.map(wordsIn);
  const isLikely = (source: string) => words.some((some) => source.includes(some));
  let left = messages;
  for (const source of [...sources.filter(isLikely), ...sources.filter((one) => !isLikely(one))]) {
    if (left.length === 0) break;
    const texts = textsIn(source);
    left = left.filter((message) => !texts.some((text) => text.includes(normal(message))));
  }
  return left;
}

/** Every text in a source, `…` for what is filled in. */
function textsIn(source: string): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) texts.push(normal(node.text));
    if (ts.isTemplateExpression(node)) {
      const spans = node.templateSpans.map(({ literal }) => literal.text);
      texts.push(normal([node.head.text, ...spans].join("…")));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest));
  return texts;
}

/** Without `…` at the ends; what is filled in may be quoted. */
const normal = (text: string) =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll("`", "")
    .replaceAll(/^[… ]+|[… ]+$/g, "");
