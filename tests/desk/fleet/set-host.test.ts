/** Changing a host of the address book in one step. */
import { expect, test } from "bun:test";
import { post, SVC, testServer, testService } from "../../support";

const PIN = `sha256:${"0f".repeat(32)}`;
const ENTRY = { label: "a", base_url: "https://lab:1", token: "old-token", tags: ["lab"], pin: PIN };

/** A desk with one host, and what its file holds of it. */
async function desk() {
  const server = await testServer();
  const ask = async (path: string, body: object) => {
    const response = await server.call(`/admin/hosts/${path}`, post(body));
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  await ask("add", { ...ENTRY, unchecked: true });
  const book = await server.service.addressBook();
  const kept = () => Object(book.content()).hosts[0];
  return { ask, kept, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("the token of a host is replaced in one step, and all else stays", async () => {
  await using made = await desk();
  const answer = await made.ask("set", { label: "a", token: "new-token" });
  const { token, ...listed } = ENTRY;
  expect(answer).toEqual({
    status: 200,
    body: { ...listed, trust: "certificate", next_pin: null, allows: null },
  });
  expect(made.kept()).toEqual({ ...ENTRY, token: "new-token" });
});

test("one way to trust a host takes the place of the other, and can be taken back", async () => {
  await using made = await desk();
  const other = `sha256:${"ab".repeat(32)}`;
  await made.ask("set", { label: "a", pin: other, base_url: "https://lab:2/" });
  expect(made.kept()).toEqual({ ...ENTRY, pin: other, base_url: "https://lab:2" });
  await made.ask("set", { label: "a", clear_trust: true });
  const { pin, ...rest } = ENTRY;
  expect(made.kept()).toEqual({ ...rest, base_url: "https://lab:2" });
});

test.each([
  [
    { label: "a" },
    400,
    "nothing to set: expected an address, a token, tags, ca, pin, trust_first or clear_trust",
  ],
  [{ label: "b", token: "new-token" }, 404, "no host is labelled b"],
  [{ label: "a", base_url: "http://lab:1" }, 400, "pin: expected with an https address only"],
  [{ label: "a", pin: PIN, clear_trust: true }, 400, "clear_trust: expected without ca and pin"],
])("a change that makes no host changes nothing: %j", async (body, status, error) => {
  await using made = await desk();
  expect(await made.ask("set", body)).toEqual({ status, body: expect.objectContaining({ error }) });
  expect(made.kept()).toEqual(ENTRY);
});

test("a host with a label that is taken is refused, or replaces the entry with all that it has", async () => {
  await using made = await desk();
  const host = { label: "a", base_url: "http://127.0.0.1:9", token: "new-token" };
  expect((await made.ask("add", host)).status).toBe(409);
  expect(made.kept()).toEqual(ENTRY);
  expect((await made.ask("add", { ...host, replace: true })).status).toBe(200);
  expect(made.kept()).toEqual({ ...host, tags: [] });
});

test("who names neither tags nor clear loses no tag", async () => {
  await using made = await desk();
  for (const body of [{ label: "a" }, { label: "a", tags: ["b"], clear: true }]) {
    expect(await made.ask("tag", body)).toMatchObject({
      status: 400,
      body: { error: "tags, clear: expected one of them" },
    });
  }
  expect(made.kept().tags).toEqual(["lab"]);
  expect((await made.ask("tag", { label: "a", clear: true })).body.tags).toEqual([]);
});

test("on the command line, a label alone shows the tags and leaves no audit row", async () => {
  await using made = testService();
  await (await made.service.addressBook()).addAll([ENTRY], false);
  const run = (...args: string[]) =>
    Bun.spawnSync([...SVC, "admin", "tag", ...args, "--json", "--config-dir", made.configDir]);
  const shown = run("a");
  expect(JSON.parse(shown.stdout.toString()).tags).toEqual(["lab"]);
  expect(await made.service.existingAudit()).toBeNull();
  expect(JSON.parse(run("tag:lab").stdout.toString())).toMatchObject([{ label: "a", tags: ["lab"] }]);
  expect(run("b").stdout.toString()).toBe('{"error":"hosts: no host is labelled b"}\n');
  expect(JSON.parse(run("a", "--clear").stdout.toString()).tags).toEqual([]);
  expect(JSON.parse(run("a").stdout.toString()).tags).toEqual([]);
});
