/** Sessions on other hosts, of which one answers as it likes. */
import { expect, test } from "bun:test";
import type { Caller } from "../../../src/core/caller";
import { createElsewhere } from "../../../src/desk/webdriver/elsewhere";

/** A caller with the token of that name. */
const callerOf = (name: string): Caller => ({
  kind: "rest",
  lasts: true,
  client: null,
  grant: { name, scopes: ["operate", "screen"], since: 1 },
  signal: new AbortController().signal,
  announce: async () => {},
});
const BODY = { capabilities: { alwaysMatch: { "svc:host": "lab" } } };

/** A desk with a host that answers so. */
function deskWith(answer: () => unknown) {
  const server = Bun.serve({ port: 0, fetch: () => Response.json(answer()) });
  const host = { label: "lab", server: { url: `${server.url}`, token: "t", trust: { kind: "system" } } };
  const elsewhere = createElsewhere(async () => ({ servers: async () => [host] }) as never, 10);
  return { elsewhere, [Symbol.asyncDispose]: () => server.stop(true) };
}

const made = (sessionId: unknown) => ({ status: 200, value: { sessionId, capabilities: {} } });
const idIn = (value: unknown): string => Object(value).sessionId;

test("a token that makes sessions without end pushes out its own, and none of another", async () => {
  await using desk = deskWith(() => made("one"));
  const { elsewhere } = desk;
  const create = async (name: string) => idIn(await elsewhere.create("lab", BODY, callerOf(name)));
  const other = await create("bert");
  const first = await create("anna");
  for (let left = 10; left > 0; left--) await create("anna");
  expect([elsewhere.has(other), elsewhere.has(first)]).toEqual([true, false]);
});

test.each([
  ["a status that is none", { status: 99_999, value: null }],
  ["a status of another kind", { status: 101, value: null }],
  ["no status", { value: null }],
])("a host that answers with %s is said to answer so, and no bug", async (_what, answer) => {
  let says: unknown = made("one");
  await using desk = deskWith(() => says);
  const id = idIn(await desk.elsewhere.create("lab", BODY, callerOf("anna")));
  says = answer;
  const request = { method: "GET", path: `/session/${id}/title`, body: null } as const;
  await expect(desk.elsewhere.ask(id, request, callerOf("anna"))).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("lab: unexpected answer"),
  });
});

test("an id of a session that is too long, or none, makes no session", async () => {
  for (const id of ["x".repeat(201), 7, null]) {
    await using desk = deskWith(() => made(id));
    await expect(desk.elsewhere.create("lab", BODY, callerOf("anna"))).rejects.toMatchObject({
      message: "lab answered without a session",
    });
  }
});

test("the id of a host stands in the path as it is", async () => {
  await using desk = deskWith(() => made("$&$'"));
  const id = idIn(await desk.elsewhere.create("lab", BODY, callerOf("anna")));
  expect(desk.elsewhere.has(id)).toBe(true);
});
