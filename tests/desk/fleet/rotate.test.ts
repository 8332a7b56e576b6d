/** Replacing the token of a host from the desk. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { rotateToken } from "../../../src/desk/fleet/rotate";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { answering, ok } from "../../client/support";
import { post, TOKEN, temporaryFolder, testServer, testService } from "../../support";
import { bookPaths } from "./support";

/** A host whose own token is in its file, with a token for a desk; and a desk that has `which` of them. */
async function pair(which: "own" | "desk") {
  const host = testService();
  const files = configFiles(host.configDir);
  const server = await (await host.service.rest()).start({ port: 0, rate_limit: 0 });
  const own = server.token.current();
  const desk = await addToken(tokenStore(files, silentLog), { name: "desk", scope: ["read", "operate"] });
  const made = await testServer();
  const book = await made.service.addressBook();
  const token = which === "own" ? own : desk;
  await book.add({ label: "lab", base_url: server.url, token, tags: ["a"] });
  const status = async (sent: string) =>
    (await fetch(`${server.url}/jobs`, { headers: { authorization: `Bearer ${sent}` } })).status;
  return {
    host,
    files,
    book,
    token,
    status,
    rotate: async () => {
      const response = await made.call("/admin/hosts/rotate", post({ label: "lab" }));
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    async [Symbol.asyncDispose]() {
      await made[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}

test("a named token is replaced there and here, without any other token, and both work", async () => {
  await using made = await pair("desk");
  const { status, body } = await made.rotate();
  expect([status, body]).toEqual([
    200,
    { label: "lab", name: "desk", old_until: expect.any(String), problem: null },
  ]);
  const { token, ...rest } = made.book.host("lab");
  expect(token).not.toBe(made.token);
  expect(rest).toMatchObject({ label: "lab", tags: ["a"] });
  expect([await made.status(made.token), await made.status(token ?? "")]).toEqual([200, 200]);
  const [kept] = tokenStore(made.files, silentLog).entries();
  expect(kept?.previous).toMatchObject([{ renews: false }]);
});

test("the host's own token is replaced where the book has that one, and the answer says so", async () => {
  await using made = await pair("own");
  expect((await made.rotate()).body).toMatchObject({ name: null, problem: null });
  const { token } = made.book.host("lab");
  expect(`${token}\n`).toBe(readFileSync(made.files.token, "utf8"));
  expect([await made.status(made.token), await made.status(token ?? "")]).toEqual([200, 200]);
});

test("a desk that crashed before it had stored the new token does it again", async () => {
  await using made = await pair("desk");
  const dies = { ...made.book, set: () => Promise.reject(new Error("killed")) };
  await expect(rotateToken(dies, "lab", 3_600)).rejects.toThrow(
    /^lab: the new token could not be stored \(internal error\): the old one works until .+Z, and can be rotated again$/,
  );
  expect(made.book.host("lab").token).toBe(made.token);
  expect(await made.rotate()).toMatchObject({ status: 200, body: { problem: null } });
  expect(await made.status(made.book.host("lab").token ?? "")).toBe(200);
});

test("two rotations at once leave a token in the book that works and can be replaced", async () => {
  await using made = await pair("desk");
  await Promise.all([made.rotate(), made.rotate(), made.rotate()]);
  expect(await made.status(made.book.host("lab").token ?? "")).toBe(200);
  expect((await made.rotate()).status).toBe(200);
});

test("an entry that was changed meanwhile stays as it is", async () => {
  await using made = await pair("desk");
  const set: typeof made.book.set = async (label, change) => {
    await made.book.set(label, () => ({ token: "of-somebody-else" }));
    return made.book.set(label, change);
  };
  await expect(rotateToken({ ...made.book, set }, "lab", 3_600)).rejects.toThrow(
    "somebody else has changed the host meanwhile",
  );
  expect(made.book.host("lab").token).toBe("of-somebody-else");
});

const NEW = JSON.stringify({ name: "desk", token: "new-token", old_until: "2030-01-01T00:00:00.000Z" });

test.each([
  [
    "refuses the token",
    "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
    "lab: HTTP 401: the host does not accept the token in the address book",
  ],
  [
    "is too old",
    'HTTP/1.1 404 No\r\nContent-Length: 21\r\n\r\n{"error":"not found"}',
    "lab: HTTP 404: not found: this version of svc cannot replace a token from afar",
  ],
  ["makes no token", ok("{}"), "lab: not a svc host"],
  ["makes one that no header can hold", ok(NEW.replace("new-token", "new\\ntoken")), "lab: not a svc host"],
])("when the host %s, the book stays as it is", async (_what, response, error) => {
  using folder = temporaryFolder();
  const book = createAddressBook(bookPaths(folder.path), silentLog);
  await using answers = await answering(response);
  await book.add({ label: "lab", base_url: answers.url, token: TOKEN, tags: [] });
  await expect(rotateToken(book, "lab", 3_600)).rejects.toThrow(error);
  expect(book.host("lab").token).toBe(TOKEN);
});

test("a host that does not hear that the token is stored is a problem, not a failure", async () => {
  using folder = temporaryFolder();
  const book = createAddressBook(bookPaths(folder.path), silentLog);
  await using answers = await answering(ok(NEW));
  await book.add({ label: "lab", base_url: answers.url, token: TOKEN, tags: [] });
  const gone: typeof book.set = async (label, change) => {
    const stored = await book.set(label, change);
    return { ...stored, base_url: "http://127.0.0.1:1" };
  };
  const { problem } = await rotateToken({ ...book, set: gone }, "lab", 3_600);
  expect(problem).toBe("connection refused");
  expect(book.host("lab").token).toBe("new-token");
});
