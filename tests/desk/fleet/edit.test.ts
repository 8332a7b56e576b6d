/** Hosts of the address book as a text that a person edits: all of what was edited is stored, or nothing. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { editHosts, editText } from "../../../src/desk/fleet/operations/edit";
import { silentLog } from "../../../src/lib/log";
import { runToEnd, SVC, testService } from "../../support";
import { bookPaths, host } from "./support";

const PIN = `spki:${"A".repeat(43)}`;

async function desk() {
  const made = testService();
  const book = await made.service.addressBook();
  const pinned = {
    ...host("a", "https://10.0.0.1", "lab"),
    pin: PIN,
    token_expires: "2030-01-01T00:00:00.000Z",
  };
  await book.addAll([pinned, host("b", "https://10.0.0.2", "lab"), host("c", "https://10.0.0.3")], false);
  const before = editText(await book.select("tag:lab"));
  const store = async (after: string, more = {}) =>
    callOperation(made.service, editHosts, { before, after, ...more }, localCaller(made.service, "cli"));
  const changed = (change: (hosts: Record<string, Record<string, unknown>>) => void) => {
    const hosts = JSON.parse(before.replaceAll(/^#.*$/gm, ""));
    change(hosts);
    return JSON.stringify(hosts);
  };
  return Object.assign(made, { book, before, store, changed });
}

test("the text has the hosts of the selection after their labels, and no token", async () => {
  await using made = await desk();
  expect(made.before).not.toContain(host("a").token);
  expect(JSON.parse(made.before.replaceAll(/^#.*$/gm, ""))).toEqual({
    a: { label: "a", base_url: "https://10.0.0.1", tags: ["lab"], pin: PIN },
    b: { label: "b", base_url: "https://10.0.0.2", tags: ["lab"] },
  });
});

test("what was edited is stored as one change: tokens stay, and what a new one makes unknown goes", async () => {
  await using made = await desk();
  const after = made.changed(({ a = {}, b = {} }) => {
    Object.assign(a, { token: "a-new-token", tags: [] });
    Object.assign(b, { label: "berlin", base_url: "https://10.0.0.9/" });
  });
  expect(await made.store(after)).toMatchObject([{ label: "a" }, { label: "berlin" }]);
  expect(made.book.hosts()).toEqual([
    { ...host("a", "https://10.0.0.1"), token: "a-new-token", pin: PIN },
    host("berlin", "https://10.0.0.9", "lab"),
    host("c", "https://10.0.0.3"),
  ]);
  const audit = await made.service.audit();
  const rows = JSON.stringify(await audit?.list({ limit: 10 } as never));
  expect(rows).toContain(
    'admin.edit_hosts label=\\\\\\"b\\\\\\" to=\\\\\\"berlin\\\\\\"'.replaceAll("\\\\\\", "\\"),
  );
  expect(rows).not.toContain("a-new-token");
});

test("a text that says nothing else changes nothing, and leaves no row", async () => {
  await using made = await desk();
  const hosts = made.book.hosts();
  expect(await made.store(made.before)).toEqual([]);
  expect(made.book.hosts()).toBe(hosts);
});

type Change = Parameters<Awaited<ReturnType<typeof desk>>["changed"]>[0];

const WRONG: ReadonlyArray<readonly [string, Change, string]> = [
  [
    "an address that is none",
    ({ b = {} }) => void Object.assign(b, { base_url: "ftp://x" }),
    'b: base_url: expected an http or https address without credentials or query, link:ID or nats:KEY but found "ftp://x"',
  ],
  [
    "an address that may have a password",
    ({ b = {} }) => void Object.assign(b, { base_url: "ftp://me:a-new-secret-token@x" }),
    "b: base_url: expected an http or https",
  ],
  [
    "a label that is a word of selections",
    ({ b = {} }) => void Object.assign(b, { label: "all" }),
    'or `tag:` but found "all"',
  ],
  [
    "a field that is none",
    ({ b = {} }) => void Object.assign(b, { colour: "red" }),
    "b: colour: expected one of label, base_url",
  ],
  [
    "a pin beside http",
    ({ a = {} }) => void Object.assign(a, { base_url: "http://127.0.0.1:1" }),
    "a: pin: expected with an https",
  ],
  [
    "http beyond this machine",
    ({ b = {} }) => void Object.assign(b, { base_url: "http://10.0.0.2" }),
    "insecure_http: expected for",
  ],
  [
    "a label that another host has",
    ({ b = {} }) => void Object.assign(b, { label: "c" }),
    "b: another host is labelled c",
  ],
  [
    "a link of a host that has not joined",
    ({ b = {} }) => void Object.assign(b, { base_url: `link:${"0".repeat(32)}` }),
    "text: b: base_url",
  ],
  [
    "a host that is not there any more",
    (hosts) => void delete hosts.b,
    "b is missing: `svc admin remove` removes hosts",
  ],
  [
    "a host more",
    (hosts) => void Object.assign(hosts, { z: { ...hosts.b } }),
    "z is not among the hosts: `svc admin add` adds one",
  ],
  ["no object", (hosts) => void Object.assign(hosts, { b: [1] }), "b: "],
];

test.each([...WRONG])("with %s, nothing is stored, of no host", async (_what, change, message) => {
  await using made = await desk();
  const hosts = made.book.hosts();
  const after = made.changed((edited) => {
    Object.assign(edited.a ?? {}, { token: "a-new-secret-token", tags: ["changed"] });
    change(edited);
  });
  const failure = await made.store(after).then(
    () => "stored",
    (error: Error) => error.message,
  );
  expect(failure).toContain(message);
  expect(failure).not.toContain("a-new-secret-token");
  expect(made.book.hosts()).toEqual(hosts);
});

test("a text that is no JSON is refused with its place, and without its words", async () => {
  await using made = await desk();
  const cut = '# help\n\n  # more\n{"a": {"token": "a-new-secret-token"';
  await expect(made.store(cut)).rejects.toThrow(/^text: line 4, column 37: expected , or }$/);
  await expect(made.store("# nothing\n")).rejects.toThrow(/^text: line \d, column 1: expected a value$/);
});

test("a text that has a host twice is refused: one of them would be left out", async () => {
  await using made = await desk();
  const hosts = made.book.hosts();
  const host = '"a": {"label": "a", "base_url": "https://10.0.0.1", "tags": ["x"]}';
  await expect(made.store(`{\n  ${host},\n  ${host}\n}`)).rejects.toThrow(
    /^text: line 3, column 3: expected a name that the object does not have yet$/,
  );
  expect(made.book.hosts()).toEqual(hosts);
});

test("where somebody else has changed a host meanwhile, nothing is stored", async () => {
  await using made = await desk();
  await made.book.set("b", () => ({ tags: ["lab", "theirs"] }));
  const hosts = made.book.hosts();
  const after = made.changed(({ a = {}, b = {} }) => {
    a.tags = ["mine"];
    b.tags = ["mine"];
  });
  await expect(made.store(after)).rejects.toThrow("b: somebody else has changed the host meanwhile");
  expect(made.book.hosts()).toEqual(hosts);
});

test("a host may have a name that every object has", async () => {
  await using made = await desk();
  await made.book.addAll([host("__proto__"), host("constructor")], false);
  const before = editText(await made.book.select("__proto__,constructor"));
  const after = before.replaceAll('"tags": []', '"tags": ["odd"]');
  await callOperation(made.service, editHosts, { before, after }, localCaller(made.service, "cli"));
  expect((await made.book.select("tag:odd")).map(({ label }) => label)).toEqual(["__proto__", "constructor"]);
});

test("a host that is on http already is tagged without another word; the same token is sent again", async () => {
  await using made = await desk();
  const refusals = { forgotten: [] as string[] };
  await made.book.add(host("plain", "http://10.0.0.4"));
  const before = editText(await made.book.select("plain"));
  const edit = (after: string) =>
    callOperation(made.service, editHosts, { before, after }, localCaller(made.service, "cli"));
  await edit(before.replace('"tags": []', '"tags": ["x"]'));
  expect(made.book.host("plain").tags).toEqual(["x"]);
  const book = createAddressBook(bookPaths(made.configDir), silentLog, {
    forget: (servers: ReadonlyArray<{ url: string }>) =>
      void refusals.forgotten.push(...servers.map(({ url }) => url)),
  } as never);
  const [was] = await book.select("plain");
  if (was) await book.edit([{ was, fields: ({ token }) => ({ token }) }]);
  expect(refusals.forgotten).toEqual(["http://10.0.0.4"]);
});

/** Runs `svc admin edit` with a program as the editor. */
async function edited(made: Awaited<ReturnType<typeof desk>>, editor: string, ...args: string[]) {
  const { VISUAL: _, ...rest } = process.env;
  const env = { ...rest, EDITOR: editor, SVC_CONFIG_DIR: made.configDir, TMPDIR: made.configDir };
  return runToEnd([...SVC, "admin", "edit", ...args], { env });
}

const unixOnly = process.platform === "win32" ? test.skip : test;

unixOnly(
  "svc admin edit stores what the editor of the user leaves, and removes the text",
  async () => {
    await using made = await desk();
    const seen = join(made.configDir, "seen");
    const { stdout, exitCode } = await edited(
      made,
      `cp "$1" '${seen}'; stat -c %a "$1" >> '${seen}'; sed -i 's/"lab"/"floor"/' `,
      "tag:lab",
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^a +https:\/\/10\.0\.0\.1 +floor/m);
    expect(made.book.hosts().map(({ tags }) => tags)).toEqual([["floor"], ["floor"], []]);
    expect(readFileSync(seen, "utf8")).toBe(`${made.before}600\n`);
    expect([...new Bun.Glob("svc-edit-*/*").scanSync(made.configDir)]).toEqual([]);
  },
  60_000,
);

unixOnly(
  "svc admin edit keeps a text that cannot be stored, and takes it with --file",
  async () => {
    await using made = await desk();
    const hosts = made.book.hosts();
    const { stderr, exitCode } = await edited(made, "sed -i s/https:/ftp:/ ", "tag:lab");
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining("b: base_url: expected an http or https"),
    ]);
    const [, path = ""] = /--file (\S+)/.exec(stderr) ?? [];
    expect(readFileSync(path, "utf8")).toBe(made.before.replaceAll("https:", "ftp:"));
    expect(made.book.hosts()).toEqual(hosts);
    writeFileSync(path, made.before.replace('"lab"', '"mended"'));
    expect((await edited(made, "false", "tag:lab", "--file", path)).exitCode).toBe(0);
    expect(made.book.host("a").tags).toEqual(["mended"]);
    expect(existsSync(path)).toBe(false);
  },
  60_000,
);

/** Ends the shell that the editor is, and svc, as the terminal does to both. */
const TERMINAL = (signal: string) => `sed -i 's/"lab"/"floor"/' "$1"; kill -${signal} $PPID; sleep 0.2; true`;

unixOnly(
  "Ctrl-C is the editor's: svc waits for it, and stores what it leaves",
  async () => {
    await using made = await desk();
    const { exitCode } = await edited(made, TERMINAL("INT"), "tag:lab");
    expect(exitCode).toBe(0);
    expect(made.book.host("a").tags).toEqual(["floor"]);
  },
  60_000,
);

unixOnly.each(["TERM", "HUP"])(
  "svc that is ended by SIG%s under the editor ends that, and says where the text is",
  async (signal) => {
    await using made = await desk();
    const hosts = made.book.hosts();
    const { stderr, exitCode } = await edited(made, `${TERMINAL(signal)}; sleep 5; true`, "tag:lab");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`svc was ended by SIG${signal}`)]);
    const [, path = ""] = /--file (\S+)/.exec(stderr) ?? [];
    expect(readFileSync(path, "utf8")).toBe(
      made.before.replace('"lab"', '"floor"').replace('"lab"', '"floor"'),
    );
    expect(made.book.hosts()).toEqual(hosts);
  },
  60_000,
);

unixOnly(
  "what was saved is kept where the editor then fails",
  async () => {
    await using made = await desk();
    const { stderr } = await edited(made, `sed -i 's/"lab"/"floor"/' "$1"; exit 3; true`, "tag:lab");
    const [, path = ""] = /--file (\S+)/.exec(stderr) ?? [];
    expect(readFileSync(path, "utf8")).toContain('"floor"');
  },
  60_000,
);

unixOnly(
  "svc admin edit changes nothing where the editor fails, or the text is as it was",
  async () => {
    await using made = await desk();
    const hosts = made.book.hosts();
    const failed = await edited(made, 'sed -i s/lab/x/ "$1"; exit 3; true', "all");
    expect([failed.exitCode, failed.stderr]).toEqual([
      1,
      expect.stringContaining("nothing was changed: the editor"),
    ]);
    const same = await edited(made, "true", "all");
    expect(same).toMatchObject({ exitCode: 0, stdout: "nothing was changed\n" });
    expect(made.book.hosts()).toEqual(hosts);
    expect(existsSync(join(made.configDir, "admin_hosts.db"))).toBe(true);
  },
  60_000,
);

unixOnly(
  "svc admin edit says so where the editor leaves no text, and changes nothing",
  async () => {
    await using made = await desk();
    const hosts = made.book.hosts();
    expect(await edited(made, 'rm "$1"; true', "all")).toMatchObject({
      ...{ exitCode: 1, stdout: "", stderr: "svc: nothing was changed: the editor has left no text\n" },
    });
    expect(made.book.hosts()).toEqual(hosts);
    expect([...new Bun.Glob("svc-edit-*").scanSync({ cwd: made.configDir, onlyFiles: false })]).toEqual([]);
  },
  60_000,
);

unixOnly(
  "a text that was kept undoes nothing that has changed since it was made",
  async () => {
    await using made = await desk();
    const file = join(made.configDir, "kept.txt");
    writeFileSync(file, made.before.replaceAll('"lab"', '"floor"'));
    await made.book.set("b", () => ({ pin: PIN }));
    const hosts = made.book.hosts();
    const refused = await edited(made, "false", "tag:lab", "--file", file);
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining("not as they were when this text was made"),
    ]);
    expect(made.book.hosts()).toEqual(hosts);
    await made.book.set("b", () => ({ pin: undefined }));
    expect((await edited(made, "false", "tag:lab", "--file", file)).exitCode).toBe(0);
    expect(made.book.hosts().map(({ tags }) => tags)).toEqual([["floor"], ["floor"], []]);
  },
  60_000,
);
