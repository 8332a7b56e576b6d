/** Robot Framework over HTTP: who may, what it gets, and what is on record. */
import { describe, expect, test } from "bun:test";
import { keywordsOf } from "../../../src/host/robot/library";
import { parseMethodCall } from "../../../src/lib/xml-rpc/parse";
import { operations } from "../../../src/operations";
import { TOKEN, testServer, testWith } from "../../support";
import { makeToken } from "../mcp/support";

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const callOf = (method: string, ...params: string[]) =>
  `<?xml version='1.0'?><methodCall><methodName>${method}</methodName><params>${params
    .map((one) => `<param><value>${one}</value></param>`)
    .join("")}</params></methodCall>`;
const listOf = (texts: readonly string[]) =>
  `<array><data>${texts.map((one) => `<value>${escaped(one)}</value>`).join("")}</data></array>`;
const structOf = (fields: Readonly<Record<string, string>>) =>
  `<struct>${Object.entries(fields)
    .map(([name, one]) => `<member><name>${name}</name><value>${escaped(one)}</value></member>`)
    .join("")}</struct>`;
const keyword = (name: string, args: readonly string[] = [], named?: Readonly<Record<string, string>>) =>
  callOf("run_keyword", name, listOf(args), ...(named ? [structOf(named)] : []));

/** The value in an answer, or its fault. */
function valueIn(xml: string): unknown {
  const [, inner] =
    /<methodResponse>(?:<params>|<fault>)(?:<param>)?(.*?)(?:<\/param>)?(?:<\/params>|<\/fault>)<\/methodResponse>/s.exec(
      xml,
    ) ?? [];
  return parseMethodCall(
    `<methodCall><methodName>a</methodName><params><param>${inner}</param></params></methodCall>`,
  ).params[0];
}

type Host = Awaited<ReturnType<typeof testServer>>;

const basic = (token: string) => `Basic ${Buffer.from(`svc:${token}`).toString("base64")}`;

/** Sends a call as Robot Framework does. */
async function send(
  host: Host,
  call: string,
  { authorization = basic(TOKEN), ...others }: Record<string, string> = {},
) {
  const response = await fetch(`${host.server.url}/robot`, {
    method: "POST",
    headers: { "content-type": "text/xml", authorization, ...others },
    body: call,
  });
  const text = await response.text();
  return { status: response.status, value: response.status === 200 ? valueIn(text) : text };
}

const rows = async ({ service }: Host) => (await (await service.audit())?.list({ limit: 50 })) ?? [];

describe("who may call", () => {
  test("whoever sends a token as the password of HTTP Basic, or as a bearer token", async () => {
    await using host = await testServer();
    const names = callOf("get_keyword_names");
    for (const authorization of [basic(TOKEN), `Bearer ${TOKEN}`])
      expect(await send(host, names, { authorization })).toEqual({
        status: 200,
        value: expect.arrayContaining(["Click", "Press Element"]),
      });
    for (const authorization of [basic("wrong-token-of-some-length"), "Basic !!", "Basic c3Zj", ""])
      expect((await send(host, names, { authorization })).status).toBe(401);
  });

  test("no other route takes HTTP Basic, which browsers send by themselves", async () => {
    await using host = await testServer();
    const init = { headers: { authorization: basic(TOKEN) } };
    expect((await fetch(`${host.server.url}/screen_size`, init)).status).toBe(401);
  });

  test("no page in a browser", async () => {
    await using host = await testServer();
    const names = callOf("get_keyword_names");
    const origin = host.server.url;
    expect((await send(host, names, { origin })).status).toBe(401);
    expect(await send(host, names, { origin, authorization: `Bearer ${TOKEN}` })).toEqual({
      status: 200,
      value: { faultCode: 403, faultString: "a page in a browser is no Robot Framework" },
    });
  });

  test("a token has the keywords of its scopes alone, and `scope` takes others away", async () => {
    await using host = await testServer();
    const token = await makeToken(host.configDir, "suite", ["read"]);
    const mayNot = { status: "FAIL", error: expect.stringContaining("needs operate") };
    const set = keyword("Set Clipboard", ["a"]);
    expect((await send(host, set, { authorization: basic(token) })).value).toMatchObject(mayNot);
    const limited = await fetch(`${host.server.url}/robot?scope=read`, {
      method: "POST",
      headers: { authorization: basic(TOKEN) },
      body: set,
    });
    expect(valueIn(await limited.text())).toMatchObject(mayNot);
    const history = await send(host, keyword("History List"), { authorization: basic(token) });
    expect(history.value).toMatchObject({ status: "PASS" });
  });

  test("a suite is not held to the limit of other requests", async () => {
    await using host = await testServer({ rate_limit: 1, rate_burst: 2 });
    const statuses = [];
    for (let nth = 0; nth < 6; nth++) statuses.push((await send(host, callOf("get_keyword_names"))).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
  });
});

describe("a keyword", () => {
  test("takes positional and named arguments, as texts too", async () => {
    await using host = await testServer();
    const ran = await send(host, keyword("history_list", ["5"], { status: "ok" }));
    expect(ran.value).toMatchObject({ status: "PASS", return: { runs: [] } });
  });

  test("fails with its reason: an unknown one, a wrong argument, one too many", async () => {
    await using host = await testServer();
    expect((await send(host, keyword("Nope"))).value).toEqual({
      faultCode: 404,
      faultString: 'there is no keyword "Nope"',
    });
    const failed = (error: unknown) => ({ status: "FAIL", error });
    expect((await send(host, keyword("History List", ["x"]))).value).toMatchObject(
      failed(expect.stringContaining("limit: expected a number")),
    );
    expect((await send(host, keyword("Screen Size", ["1"]))).value).toMatchObject(
      failed("expected at most 0 arguments, but found 1"),
    );
    expect((await send(host, keyword("Click"))).value).toMatchObject(
      failed("element: expected, but not given"),
    );
    expect((await send(host, keyword("Click", ["a"], { nope: "1" }))).value).toMatchObject(
      failed("there is no argument nope"),
    );
  });

  test("that changes something has its row before, with its command", async () => {
    await using host = await testServer();
    await send(host, keyword("Inspector Reset"));
    const details = (await rows(host)).map(({ detail }) => detail ?? "");
    const run = expect.stringMatching(/^POST \/robot -> started run=\S+ .*AC_inspector_reset/);
    expect(details).toContainEqual(run);
    expect(details).toContainEqual(expect.stringMatching(/^POST \/robot -> ok:200 run=/));
  });

  test("runs a stored script with its parameters, with the right to run that one alone", async () => {
    await using host = await testServer();
    const actions = [["AC_log", { message: "hello ${who}" }], ["AC_screen_size"]];
    const script = { name: "greet", actions: [actions[0]], parameters: ["who"] };
    const added = await host.call("/scripts/add", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(script),
    });
    expect(added.status).toBe(200);
    const token = await makeToken(host.configDir, "button", ["run:greet"]);
    const ran = await send(host, keyword("Run Svc Script", ["greet"], { who: "Ann" }), {
      authorization: basic(token),
    });
    expect(ran.value).toMatchObject({ status: "PASS", output: "*INFO* hello Ann" });
  });

  test("of text that no action takes for a variable of a script", async () => {
    await using host = await testServer();
    const ran = await send(host, keyword("Admin Tag Host", ["${nope}", "a"]));
    expect(ran.value).toMatchObject({ status: "FAIL", error: expect.stringContaining("${nope}") });
  });
});

describe("what goes wrong before a keyword", () => {
  test("is a fault: what is no call, an unknown method, a body that is too large", async () => {
    await using host = await testServer({ max_body: 1_000 });
    expect((await send(host, "{}")).value).toMatchObject({ faultCode: 400 });
    expect((await send(host, callOf("system.exec"))).value).toEqual({
      faultCode: 404,
      faultString: 'there is no method "system.exec"',
    });
    expect((await send(host, callOf("a".repeat(2_000)))).value).toMatchObject({ faultCode: 413 });
  });
});

describe("the library", () => {
  test("has a keyword for each action but those of the flow, and no name twice", () => {
    const names = keywordsOf(operations).map(({ name }) => name.toLowerCase().replaceAll(" ", ""));
    expect(new Set(names).size).toBe(names.length);
    for (const action of ["presselement", "locatetext", "shellcommand", "planapply"])
      expect(names).toContain(action);
    // They would take the place of Robot's own.
    for (const own of ["log", "sleep", "fail", "setvariable"]) expect(names).not.toContain(own);
  });

  testWith("python3")("answers every method to the client that Robot Framework uses", async () => {
    await using host = await testServer();
    const program = `
import sys, xmlrpc.client
def server(): return xmlrpc.client.ServerProxy(sys.argv[1], encoding="UTF-8", use_builtin_types=True)
library = server().get_library_information()
names = server().get_keyword_names()
assert sorted(names) == sorted(name for name in library if not name.startswith("__")), names
for name in ("Click", "Run Svc Script", "Press Keys"):
    assert server().get_keyword_arguments(name) == library[name]["args"]
    assert server().get_keyword_types(name) == library[name]["types"]
    assert server().get_keyword_tags(name) == library[name]["tags"]
    assert server().get_keyword_documentation(name) == library[name]["doc"]
print(library["Click"]["args"][:2], library["Press Keys"]["args"], library["Run Svc Script"]["args"], library["Click"]["tags"])
print(server().run_keyword("History List", [], {"limit": 1}))`;
    const url = host.server.url.replace("://", `://svc:${TOKEN}@`);
    const child = Bun.spawn(["python3", "-c", program, `${url}/robot`], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect(await child.stderr.text()).toBe("");
    expect(await child.stdout.text()).toBe(
      [
        "['element', '*'] ['*keys'] ['name', '**variables'] ['desktop', 'scope:operate']",
        "{'status': 'PASS', 'output': '', 'return': {'runs': []}}",
        "",
      ].join("\n"),
    );
  });
});
