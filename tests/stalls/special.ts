/**
 * Requests that take the longest of what a schema does not show: texts with a grammar of their own, scripts, messages of agents.
 */
import { BULKS, type StallRequest } from "./bodies";

/** A text of about `size` characters. */
const filled = (piece: string, size: number, before = "", after = "") =>
  before + piece.repeat(Math.floor((size - before.length - after.length) / piece.length)) + after;

const post = (what: string, path: string, body: unknown): StallRequest => ({
  what,
  path,
  body: JSON.stringify(body),
});

const JSON5_MOST = 256 * 1024;

function* scripts(size: number): Generator<StallRequest> {
  const texts: Record<string, readonly [notation: string, text: string]> = {
    "JSON5 numbers in one line": ["json5", filled("1,", JSON5_MOST, '["ж",', "1]")],
    "JSON5 names": [
      "json5",
      `{${Array.from({ length: 15_000 }, (_, nth) => `'\\u0061${nth}':0`).join(",")}}`,
    ],
    "JSON5 comments": ["json5", filled("/*ж*/", JSON5_MOST, "", "[]")],
    "JSON5 spaces": ["json5", filled("\u2003", JSON5_MOST, "", "x")],
    "JSON5 escapes": ["json5", filled("\\n", JSON5_MOST, "['ж", "']")],
    "JSON actions that are wrong": ["json", filled('["AC_slep",[1]],', 15_000, "[", "1]")],
    "JSON escapes without an end": ["json", filled("\\n", size / 2 - 1_000, '["')],
    "JSON numbers without an end": ["json", filled("1,", 180_000, "[")],
    "of an unknown notation": ["json", filled("[1],", 120_000, "[", "x")],
  };
  for (const [what, [notation, text]] of Object.entries(texts))
    yield post(`text: ${what}`, "/execute/check", { text, notation });
  const listOf = (action: unknown) => ({ actions: Array.from({ length: 1_000 }, () => action) });
  const lists: Record<string, unknown> = {
    "unknown commands": listOf(["AC_loop_through_everything_that_is_there_and_back_again_x"]),
    "wrong arguments": listOf([
      "AC_click_mouse",
      Object.fromEntries(Array.from({ length: 20 }, (_, nth) => [`n${nth}`, 1])),
    ]),
    "long arguments": listOf(["AC_write", ["é".repeat(400)]]),
    expressions: listOf(["AC_write", [`\${= ${"a.b&&".repeat(150)}a}`]]),
    "commands with many fields": listOf([
      "AC_scheduler_add_cron_job",
      { script_path: "/x.json", cron_expression: "0 0 30 2 *" },
    ]),
    conditions: listOf(["AC_if", { when: `${"a.b&&".repeat(150)}a` }]),
    "an expression with a time zone": {
      variables: { n: Array.from({ length: 9_000 }, (_, nth) => nth) },
      actions: [["AC_if", { when: "n.map(x, now.getHours('America/New_York')) == n" }]],
    },
    references: listOf(["AC_write", ["${a.b[0]['c']}".repeat(60)]]),
    "set variables": listOf(["AC_set_var", { name: "n", op: "append", value: "x".repeat(700) }]),
    "a loop of steps": {
      actions: [["AC_loop", { times: 100_000, body: [["AC_set_var", { name: "n", value: 1 }]] }]],
    },
    "a text that grows": {
      variables: { n: "x".repeat(size / 2) },
      actions: [
        ["AC_set_var", { name: "n", op: "split", value: "x" }],
        ["AC_set_var", { name: "n", op: "join", value: "" }],
      ],
    },
    "a text of references": {
      variables: { n: "x" },
      actions: [["AC_set_var", { name: "m", value: "${n}".repeat(size / 5) }]],
    },
  };
  for (const [what, body] of Object.entries(lists)) {
    yield post(`script: ${what}`, "/execute/check", { actions: (body as { actions: unknown }).actions });
    yield post(`script: ${what}`, "/execute", body);
  }
}

/** Lists of locators and expressions, of which each is checked before anything runs: as many and as long as a list may have. */
function* locatorsAndExpressions(): Generator<StallRequest> {
  const element = (text: (nth: number) => string) => (nth: number) => [
    "AC_press_element",
    { element: text(nth) },
  ];
  const message = (text: (nth: number) => string) => (nth: number) => ["AC_log", { message: text(nth) }];
  const around = 'button "a" within button "b" within button "c" within button "d" within button "e"';
  const lists: Record<string, readonly [count: number, action: (nth: number) => unknown]> = {
    "locators of words": [480, element(() => "a ".repeat(990))],
    "locators of six words": [1_000, element(() => `a b c d e f${" ".repeat(900)}`)],
    "locators without an end": [480, element(() => "button within ".repeat(130))],
    "locators of states": [1_000, element(() => "not enabled ".repeat(80))],
    "locators of spaces": [480, element(() => `${" ".repeat(1_990)}x`)],
    "locators of slashes": [480, element(() => `b /${"a".repeat(1_980)}`)],
    "locators of unknown roles": [1_000, element((nth) => `buttn${nth} "x"`)],
    "locators with patterns": [900, element(() => `button /${"a{100}".repeat(60)}/`)],
    "locators that are good": [1_000, element(() => `${around} enabled checked focused selected expanded`)],
    "steps of unknown roles": [
      100,
      () => [
        "AC_act",
        {
          steps: Array.from({ length: 50 }, () => ({ do: "press", element: "a within a within a within b" })),
        },
      ],
    ],
    "expressions of wrong types": [
      900,
      message((nth) => `\${= [${"1,".repeat(20)}1].all(x, x.y == '${nth}')}`),
    ],
    "expressions that add a text": [990, (nth) => ["AC_if", { when: `1 +${nth} + 'a'`, then: [] }]],
    "expressions of unknown functions": [990, message((nth) => `\${=f${nth}()}`)],
    "expressions that are good": [990, message((nth) => `\${= [a,b,c].all(x, x.y.z == '${nth}') && q}`)],
    "short expressions": [990, message((nth) => `\${=${nth}1}`.repeat(10))],
    "expressions of brackets": [25, message(() => `\${= ${"(".repeat(900)}1${")".repeat(900)}}`)],
    "expressions of negations": [25, message((nth) => `\${= ${"!".repeat(1_900)}a${nth}}`)],
    "expressions in each other": [
      60,
      message((nth) => `\${= ${"[1].map(x,".repeat(28)}${nth}${")".repeat(28)}}`),
    ],
    "a value of short expressions": [
      1,
      () => ["AC_set_var", { name: "x", value: Array.from({ length: 9_900 }, (_, nth) => `\${=${nth}}`) }],
    ],
    "a value of expressions without an end": [
      1,
      () => ["AC_set_var", { name: "x", value: Array.from({ length: 60_000 }, () => "${= 1") }],
    ],
    "a text of expressions without an end": [
      1,
      () => ["AC_set_var", { name: "x", value: "${= '".repeat(150_000) }],
    ],
  };
  for (const [what, [length, action]] of Object.entries(lists)) {
    const actions = Array.from({ length }, (_, nth) => action(nth));
    yield post(`script: ${what}`, "/execute/check", { actions });
    yield post(`script: ${what}`, "/plans/new", { actions, on: "host-0" });
  }
}

function* selections(size: number): Generator<StallRequest> {
  const actions = [["AC_sleep", [0]]];
  for (const term of ["!tag:x", "host-1", "!host-1", "tag:lab"]) {
    const on = Array.from({ length: 20_000 }, (_, nth) => (term.startsWith("!") ? `${term}${nth}` : term))
      .join()
      .slice(0, 290_000);
    yield post(`on: ${term} …`, "/plans/new", { actions, on: `host-0,${on}` });
  }
  const patterns = (count: number) =>
    Array.from({ length: count }, (_, nth) => `*${"?".repeat(6)}a${nth}*`).join();
  const query = (words: string) => `/admin/fleet?q=${encodeURIComponent(words)}`;
  const without = (what: string) => `host-0,${patterns(15).replaceAll("*?", `!${what}*?`)}`;
  yield { what: "q: patterns", path: query(patterns(64)) };
  yield { what: "q: patterns of tags", path: query(patterns(64).replaceAll("*?", "tag:*?")) };
  yield post("on: patterns", "/plans/new", { actions, on: without("") });
  yield post("on: patterns of tags", "/plans/new", { actions, on: without("tag:") });
  yield post("labels", "/admin/broadcast", {
    actions,
    labels: Array.from({ length: Math.min(100_000, size / 12) }, (_, nth) => `h-${nth}`),
  });
}

function* messages(size: number): Generator<StallRequest> {
  const message = (method: string, params: string): StallRequest => ({
    what: `${method}: ${params.slice(0, 30)}`,
    path: "/mcp",
    body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
  });
  for (const bulk of ["numbers", "objects", "names", "names of their own", "deep", "letters"]) {
    const large = BULKS[bulk]?.(size - 1_000) ?? "";
    yield message("initialize", large);
    yield message(
      "initialize",
      `{"protocolVersion":${large},"capabilities":{},"clientInfo":{"name":"a","version":"1"}}`,
    );
    yield message(
      "initialize",
      `{"protocolVersion":"2025-06-18","capabilities":${large},"clientInfo":{"name":"a","version":"1"}}`,
    );
    yield message("tools/call", `{"name":"x","arguments":${large}}`);
    yield message("tools/call", large);
    yield message("tools/list", large);
  }
}

function* pages(): Generator<StallRequest> {
  const letters = "e a o t i n s r h l d c u m f p g w y b v k".repeat(5).slice(0, 200);
  const search = (what: string, words: string) => ({
    what: `search: ${what}`,
    path: `/help?search=${encodeURIComponent(words)}`,
  });
  yield search("a letter", "e");
  yield search("many letters", letters);
  yield search("many words that are on no page", "qq ".repeat(66));
  for (const topic of ["actions", "troubleshooting"])
    yield { what: `elements of ${topic}`, path: `/help?topic=${topic}&elements=true` };
}

/** Sessions that WebDriver clients ask for, none of which is made. */
function* sessions(size: number): Generator<StallRequest> {
  const capabilities = (alwaysMatch: string, firstMatch: string) =>
    `{"capabilities":{"alwaysMatch":{"browserName":"x"${alwaysMatch}},"firstMatch":[${firstMatch}]}}`;
  const many = (from: number, bytes: number) =>
    Array.from({ length: bytes / 16 }, (_, nth) => `"a:${from + nth}":${nth % 10}`).join(",");
  const texts: Readonly<Record<string, string>> = {
    "many capabilities": capabilities(`,${many(0, size)}`, "{}"),
    "alternatives of many capabilities": capabilities(
      `,${many(0, size / 2)}`,
      Array.from({ length: 16 }, (_, nth) => `{${many(nth * size, size / 32)}}`).join(","),
    ),
    "a long name": capabilities(`,"${"a".repeat(size)}":1`, "{}"),
  };
  const route = "POST /webdriver/{command}";
  for (const [what, body] of Object.entries(texts))
    yield { what: `session: ${what}`, route, path: "/webdriver/session", body };
}

/** Calls of XML-RPC. */
function* calls(size: number): Generator<StallRequest> {
  const inValue = (value: string) =>
    `<methodCall><methodName>run_keyword</methodName><params><param>${value}</param></params></methodCall>`;
  const texts: Readonly<Record<string, string>> = {
    values: inValue(filled("<value/>", size, "<value><array><data>", "</data></array></value>")),
    references: inValue(filled("&#x41;", size, "<value>", "</value>")),
    comments: inValue(filled("<!---->", size, "<value>", "</value>")),
    levels: inValue(filled("<value><array><data>", size)),
    members: inValue(
      filled("<member><name>a</name><value/></member>", size, "<value><struct>", "</struct></value>"),
    ),
  };
  for (const [what, body] of Object.entries(texts)) yield { what: `call: ${what}`, path: "/robot", body };
}

/** JSON in a text, or in base64, in a body: the bounds on the body do not see what is in it. */
function* jsonInTexts(size: number): Generator<StallRequest> {
  for (const [bulk, make] of Object.entries(BULKS)) {
    const state = (what: string, before: string, after: string) =>
      post(`state: ${what}: ${bulk}`, "/state/compare", {
        state: Buffer.from(`${before}${make(590_000 - before.length - after.length)}${after}`).toString(
          "base64",
        ),
      });
    yield state("scripts", '{"name":"a","scripts":', "}");
    yield state("actions", '{"name":"a","scripts":{"a":{"actions":[', "]}}}");
    for (const field of ["actions", "commands", "files"]) {
      const parts = { actions: [], name: "", files: {}, blobs: {}, stop_on_error: true, timeout_s: 1 };
      const whole = JSON.stringify({ ...parts, scope: null, commands: [], [field]: "here" });
      const content = whole.replace('"here"', make(size / 3));
      const digest = Bun.SHA256.hash(content, "hex");
      const id = crypto.randomUUID();
      const [nbf, exp] = [-1_000, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString());
      const envelope = { v: 1, id, plan: id, to: null, operation: "execute", digest, nbf, exp };
      yield post(`content: ${field}: ${bulk}`, "/plans/jobs", {
        envelope: JSON.stringify(envelope),
        content,
      });
    }
  }
}

/** Every special request, for bodies of `size` bytes. */
export function* specialOf(size: number): Generator<StallRequest> {
  yield* scripts(size);
  yield* locatorsAndExpressions();
  yield* selections(size);
  yield* messages(size);
  yield* calls(size);
  yield* sessions(size);
  yield* jsonInTexts(size);
  yield* pages();
}
