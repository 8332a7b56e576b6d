import { expect, test } from "bun:test";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { silentLog } from "../../../src/lib/log";
import { post, testServer } from "../../support";
import { bookPaths, host } from "./support";

type Server = Awaited<ReturnType<typeof testServer>>;

async function deskWith(...hosts: ReturnType<typeof host>[]) {
  const server = await testServer();
  const book = createAddressBook(bookPaths(server.configDir), silentLog);
  await book.addAll(hosts, false);
  return Object.assign(server, { book });
}

async function ask(server: Pick<Server, "call">, path: string, body: object) {
  const response = await server.call(path, post(body));
  return { status: response.status, body: (await response.json()) as object };
}

test("tags of a selection change together, and the answer says what each host has won and lost", async () => {
  await using desk = await deskWith(
    host("a", undefined, "lab", "floor-8"),
    host("b", undefined, "lab"),
    host("c"),
  );
  const change = { on: "tag:lab", add: ["floor-9"], remove: ["floor-8"] };
  expect((await ask(desk, "/admin/hosts/tags", change)).body).toMatchObject([
    { label: "a", trust: "loopback", tags: ["lab", "floor-9"], added: ["floor-9"], removed: ["floor-8"] },
    { label: "b", trust: "loopback", tags: ["lab", "floor-9"], added: ["floor-9"], removed: [] },
  ]);
  expect(desk.book.hosts().map(({ tags }) => tags)).toEqual([["lab", "floor-9"], ["lab", "floor-9"], []]);
  expect((await ask(desk, "/admin/hosts/tags", { on: "a", set: ["only"], add: ["x"] })).body).toMatchObject([
    { tags: ["only", "x"], removed: ["lab", "floor-9"] },
  ]);
});

test("one host that would have too many tags leaves all as they were", async () => {
  const many = Array.from({ length: 64 }, (_, n) => `t${n}`);
  await using desk = await deskWith(host("a"), host("b", undefined, ...many));
  const { status, body } = await ask(desk, "/admin/hosts/tags", { on: "all", add: ["one-more"] });
  expect({ status, body }).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("b: tags: expected") },
  });
  expect(desk.book.host("a").tags).toEqual([]);
  for (const wrong of [
    { on: "all" },
    { on: "all", add: ["x"], remove: ["x"] },
    { on: "tag:none", add: ["x"] },
  ])
    expect((await ask(desk, "/admin/hosts/tags", wrong)).status).toBe(400);
});

test("a selection of hosts is removed, and the answer names them", async () => {
  await using desk = await deskWith(host("a"), host("b", undefined, "old"), host("c", undefined, "old"));
  const { body } = await ask(desk, "/admin/hosts/remove", { on: "tag:old" });
  expect(body).toEqual({
    ...{ removed: true, revoked: null, problem: null },
    hosts: ["b", "c"].map((label) => ({ label, revoked: null, problem: null })),
  });
  expect(desk.book.hosts().map(({ label }) => label)).toEqual(["a"]);
  for (const wrong of [{}, { on: "a", label: "a" }, { on: "tag:none" }])
    expect((await ask(desk, "/admin/hosts/remove", wrong)).status).toBe(400);
});

test("a host that is renamed keeps its entry and its plans, in its old place", async () => {
  await using desk = await deskWith(host("a", undefined, "lab"), host("b"));
  const actions = [["AC_screen_size"]];
  const made = await ask(desk, "/plans/new", { actions, on: "all" });
  const { id, digest } = made.body as { id: string; digest: string };
  expect((await ask(desk, "/admin/hosts/rename", { label: "a", to: "berlin" })).body).toMatchObject({
    ...{ label: "berlin", tags: ["lab"] },
  });
  expect(desk.book.hosts()).toEqual([{ ...host("a", undefined, "lab"), label: "berlin" }, host("b")]);
  const plan = (await (await desk.call(`/plans/${id}`)).json()) as {
    digest: string;
    targets: { label: string }[];
  };
  expect(plan.digest).toBe(digest);
  expect(plan.targets.map(({ label }) => label)).toEqual(["berlin", "b"]);
  expect((await ask(desk, "/admin/hosts/rename", { label: "berlin", to: "b" })).status).toBe(409);
  expect((await ask(desk, "/admin/hosts/rename", { label: "nobody", to: "c" })).status).toBe(404);
  expect((await ask(desk, "/admin/hosts/rename", { label: "b", to: "a,b" })).status).toBe(400);
});
