/** A desk elsewhere that answers with escape sequences wherever it may: the terminal of who asks it obeys none. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { printableLines } from "../../src/lib/sanitize";
import { operations } from "../../src/operations";
import { runToEnd, SVC, temporaryFolder } from "../support";

/** The title of a window, the screen cleared, a C1 control, text from the right, a carriage return. */
const EVIL = "e\u001b]0;owned\u0007\u001b[2J\u009b31m\u202evil\rr";

const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** What a text may be that is not just any. */
const TEXTS = [
  EVIL,
  `spki:${"A".repeat(43)}`,
  "a".repeat(32),
  "2027-01-01T00:00:00.000Z",
  "abcd1234",
  "read",
];

type Schema = Readonly<Record<string, never>> & { readonly type: string };

/** A value of a schema with {@link EVIL} wherever a text may be that. */
function evilOf(schema: unknown): unknown {
  const { type, entries, item, wrapped, options, literal, value } = schema as Schema;
  if (type.endsWith("object"))
    return Object.fromEntries(Object.entries(entries ?? {}).map(([name, one]) => [name, evilOf(one)]));
  if (type === "array") return [evilOf(item)];
  if (/^(nullable|optional|exact_optional)$/.test(type)) return evilOf(wrapped);
  if (type === "string")
    return TEXTS.find((text) => v.is(schema as v.GenericSchema, text)) ?? "http://127.0.0.1:1";
  if (type === "number") return 2;
  if (type === "boolean") return true;
  if (type === "literal") return literal;
  if (type === "picklist") return options?.[0];
  if (type === "union" || type === "variant") return evilOf(options?.[0]);
  if (type === "record") return { [EVIL]: evilOf(value) };
  return [[`AC_${EVIL}`, { [EVIL]: EVIL }]];
}

const routes = operations.flatMap(({ name, http, output }) =>
  http && !http.content ? [{ name, http, output }] : [],
);

function answerTo({ method, url }: Request): Response {
  const { pathname } = new URL(url);
  const found = routes.find(
    ({ http }) =>
      http.method === method && new RegExp(`^${http.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
  );
  if (!found) return Response.json({ error: EVIL }, { status: 404 });
  const answer = evilOf(found.output) as object;
  return Response.json(found.name === "token.rights" ? { ...answer, expires: null } : answer);
}

const folder = temporaryFolder();
const desk = Bun.serve({ port: 0, fetch: answerTo });

async function svc(words: readonly string[], typed = "") {
  const { stdout: out, stderr: err } = await runToEnd([...SVC, ...words], {
    env: { ...process.env, SVC_CONFIG_DIR: join(folder.path, "config") },
    stdin: typed,
  });
  return { out, err };
}

const script = join(folder.path, "script.json");

beforeAll(async () => {
  writeFileSync(script, '[["AC_sleep", [0]]]');
  const { out, err } = await svc(["login", desk.url.origin, "--name", "evil"], "its-token");
  expect(out).toContain("logged in to");
  expect(out + err).not.toMatch(OBEYED);
}, 30_000);

afterAll(async () => {
  await desk.stop(true);
  folder[Symbol.dispose]();
});

const COMMANDS: ReadonlyArray<readonly string[]> = [
  ["plan", "show", "abcd1234"],
  ["plan", "new", script, "--on", "all"],
  ["plan", "cancel", "abcd1234"],
  ["runs", "show", "abcd"],
  ["execute", script],
  ["diagnose"],
  ["approvals", "allow", "abcd1234"],
  ["webhook", "test", "n"],
  ["recording", "list"],
  ["tls", "renew"],
  ["join-token", "list"],
  ["fleet", "list"],
  ["no-such-noun"],
];

for (const words of COMMANDS)
  test(`svc --desk evil ${words.slice(0, 2).join(" ")}`, async () => {
    const { out, err } = await svc(["--desk", "evil", ...words]);
    expect(out + err).not.toBe("");
    expect(out + err).not.toMatch(OBEYED);
  }, 30_000);

test("lines keep their ends and tabs, and JSON in them its values", () => {
  expect(printableLines("a\tb\r\nc\n")).toBe("a\tb\r\nc\n");
  expect(printableLines("a\rb\u001b[2J")).toBe("a\\u000db\\u001b[2J");
  expect(JSON.parse(printableLines(JSON.stringify([EVIL], null, 2)))).toEqual([EVIL]);
});
