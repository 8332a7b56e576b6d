import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { parseHost } from "../../../src/desk/fleet/host";
import type { Log } from "../../../src/lib/log";
import { silentLog } from "../../../src/lib/log";
import { selfSigned } from "../../client/support";
import { nextTurn, post, temporaryFolder, testServer, testWith } from "../../support";
import { bookPaths, host } from "./support";

function bookIn(folder: string, log: Log = silentLog) {
  const paths = bookPaths(folder);
  return { ...paths, book: createAddressBook(paths, log) };
}

describe("the address book", () => {
  test("keeps hosts in the order they came, in a file only its owner reads", async () => {
    using folder = temporaryFolder();
    const { book, file } = bookIn(folder.path);
    expect(book.hosts()).toEqual([]);
    expect(existsSync(file)).toBe(false);
    for (const label of ["b", "a", "c"]) await book.add(host(label));
    await book.remove("a");
    expect(book.hosts()).toEqual([host("b"), host("c")]);
    for (const beside of ["", "-wal", "-shm"]) expect(statSync(`${file}${beside}`).mode & 0o777).toBe(0o600);
    expect(book.content()).toEqual({ hosts: [host("b"), host("c")] });
    expect(bookIn(folder.path).book.hosts()).toEqual([host("b"), host("c")]);
  });

  test("has each label once: a second host with that label is refused, or replaces the first", async () => {
    using folder = temporaryFolder();
    const { book } = bookIn(folder.path);
    await book.add(host("a"));
    await expect(book.add(host("a"))).rejects.toThrow(
      "label: taken already: a (`svc admin set` changes a host, and --replace (`replace`) puts this one in its place)",
    );
    await expect(book.addAll([host("b"), host("a")], false)).rejects.toThrow("taken already: a");
    expect(book.hosts()).toEqual([host("a")]);
    const [mine, other] = [host("a", "http://127.0.0.1:2"), host("b")];
    expect(await book.addAll([other, mine], true)).toEqual({ added: 1, replaced: 1 });
    expect(book.hosts()).toEqual([mine, other]);
  });

  test("lets no host in under the NATS key of another, and gives it none", async () => {
    using folder = temporaryFolder();
    const { book } = bookIn(folder.path);
    const nats_key = `U${"A".repeat(55)}`;
    const entry = (label: string, host_id: string) => ({
      ...{ label, base_url: `nats:${nats_key}`, tags: [] },
      member: { host_id, host_key: "k", nonce: "n", nats_key },
    });
    const join = (made: ReturnType<typeof entry>) => book.admit(made, false, async () => true);
    await join(entry("a", "1"));
    await join(entry("a", "1"));
    const taken = { code: "conflict", message: "nats_key: another host has this key: a" };
    await expect(join(entry("b", "2"))).rejects.toMatchObject(taken);
    await expect(book.reserve(entry("b", "2"), false)).rejects.toThrow("another host has this key");
    await book.add({ ...host("b"), member: { host_id: "2", host_key: "k", nonce: "n" } });
    await expect(book.set("b", () => ({ member: entry("b", "2").member }))).rejects.toMatchObject(taken);
    expect(book.hosts().map(({ label }) => label)).toEqual(["a", "b"]);
  });

  test("keeps what it knows of a host that is replaced with the same address or pin", async () => {
    using folder = temporaryFolder();
    const { book } = bookIn(folder.path);
    const member = { host_id: "h", host_key: "k", nonce: "n" };
    const joined = {
      ...host("a", "https://127.0.0.1:1"),
      pin: `spki:${"A".repeat(43)}`,
      member,
      token_expires: "2030-01-01T00:00:00.000Z",
    };
    await book.add(joined);
    await book.addAll([{ ...joined, member: undefined, token_expires: undefined, tags: ["lab"] }], true);
    expect(book.hosts()).toEqual([{ ...joined, tags: ["lab"] }]);
    const moved = { ...host("a", "https://127.0.0.2:1"), token: "another", pin: joined.pin };
    await book.addAll([moved], true);
    expect(book.hosts()).toEqual([{ ...moved, member }]);
    await book.addAll([host("a", moved.base_url)], true);
    expect(book.hosts()).toEqual([{ ...host("a", moved.base_url), member }]);
  });

  test("warns when a host that has joined is replaced by another one", async () => {
    using folder = temporaryFolder();
    const warnings: string[] = [];
    const { book } = bookIn(folder.path, { ...silentLog, warn: (text) => warnings.push(text) });
    await book.add({ ...host("a"), member: { host_id: "h", host_key: "k", nonce: "n" } });
    await book.addAll([host("a", "http://127.0.0.1:7")], true);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toStartWith("a had joined this desk, and does not count as joined any more");
  });

  test("with a label twice in the file, or blanks around one, changes the entry that it reads", async () => {
    using folder = temporaryFolder();
    const { book, former } = bookIn(folder.path);
    const [first, second] = [host(" a "), host("a", "http://127.0.0.1:2")];
    writeFileSync(former, JSON.stringify({ hosts: [first, second] }));
    expect(book.hosts()).toEqual([host("a")]);
    await expect(book.add(host("a"))).rejects.toThrow("taken already: a");
    const third = host("a", "http://127.0.0.1:3");
    await book.addAll([third], true);
    expect(book.hosts()).toEqual([third]);
    await book.remove("a");
    expect(book.hosts()).toEqual([]);
  });

  test("sets the tags of a host and keeps fields that svc does not know", async () => {
    using folder = temporaryFolder();
    const { book, former } = bookIn(folder.path);
    writeFileSync(former, JSON.stringify({ hosts: [{ ...host("a"), colour: "red" }, host("b")] }));
    for (const tag of ["old", "lab"])
      expect(await book.set("a", () => ({ tags: [tag] }))).toEqual({ ...host("a"), tags: [tag] });
    expect(book.content()).toEqual({
      hosts: [{ ...host("a"), tags: ["lab"], colour: "red" }, host("b")],
    });
    await expect(book.set("c", () => ({}))).rejects.toThrow("no host is labelled c");
  });

  test("two processes that add 200 hosts each at the same time end up with 400", async () => {
    using folder = temporaryFolder();
    const { book, file } = bookIn(folder.path);
    const program = join(import.meta.dir, "adder.ts");
    const start = (name: string) =>
      Bun.spawn([process.execPath, program, folder.path, name, "200"], {
        stdio: ["ignore", "inherit", "inherit"],
      });
    const children = ["left", "right"].map(start);
    // A concurrent reader never finds half a file.
    let running = true;
    const reading = (async () => {
      while (running) {
        book.hosts();
        await nextTurn();
      }
    })();
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0]);
    running = false;
    await reading;
    expect(new Set(book.hosts().map(({ label }) => label)).size).toBe(400);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }, 180_000);

  test.each(["", "{", "[]", '{"hosts":{}}', "\u0000"])(
    "a broken file of an earlier svc (%j) is named, refuses every change, and stays as it is",
    async (content) => {
      using folder = temporaryFolder();
      const { book, former: file } = bookIn(folder.path);
      writeFileSync(file, content);
      expect(() => book.hosts()).toThrow(/^admin_hosts.json is not an address book/);
      expect(readFileSync(file, "utf8")).toBe(content);
      await expect(book.add(host("a"))).rejects.toThrow("mend it or restore it from a backup");
      await expect(book.remove("a")).rejects.toThrow("svc config set-aside admin_hosts.json");
      await expect(book.takeOver()).rejects.toThrow("is not an address book");
      expect(readdirSync(folder.path).filter((name) => name !== "run")).toEqual(["admin_hosts.json"]);
      expect(readFileSync(file, "utf8")).toBe(content);
    },
  );

  test("an invalid entry is reported and left out but stays in the file, as do unknown fields", async () => {
    using folder = temporaryFolder();
    const warnings: string[] = [];
    const { book, former } = bookIn(folder.path, { ...silentLog, warn: (text) => void warnings.push(text) });
    const odd = { label: "odd", base_url: "ftp://x", token: "secret-of-odd", tags: [] };
    const noted = { ...host("a"), note: "kept" };
    const [seven, words] = [7, "words"];
    const hosts = [odd, noted, seven, words, host("a", "http://second:1")];
    writeFileSync(former, JSON.stringify({ hosts, version: 3 }));
    expect(book.hosts()).toEqual([host("a")]);
    book.hosts();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("hosts[0]: base_url: expected an http or https address");
    expect(warnings[0]).not.toContain("secret-of-odd");
    expect([book.isGone("odd"), book.isGone("nobody")]).toEqual([false, false]);
    await book.add(host("b"));
    await expect(book.add(host("odd"))).rejects.toThrow("taken already: odd");
    expect(book.content()).toEqual({ hosts: [...hosts, host("b")], version: 3 });
    expect(await bookIn(folder.path).book.select("all")).toEqual([host("a"), host("b")]);
    expect(bookIn(folder.path).book.host("a")).toEqual(host("a"));
    // The second one of that label is a host once the first has another.
    await book.rename("a", "c");
    const now = [host("c"), host("a", "http://second:1"), host("b")];
    expect(book.hosts()).toEqual(now);
    expect(bookIn(folder.path).book.hosts()).toEqual(now);
    expect(await bookIn(folder.path).book.select("a")).toEqual(now.slice(1, 2));
  });
});

describe("an address", () => {
  const add = async (base_url: string) => {
    await using server = await testServer();
    const trust = /^https:/i.test(base_url)
      ? { pin: `sha256:${"0f".repeat(32)}`, unchecked: true }
      : { insecure_http: true };
    const actions = [["AC_admin_add_host", { label: "a", base_url, token: "t", ...trust }]];
    const response = await server.call("/execute", post({ actions }));
    const body = (await response.json()) as { outcomes?: [{ result: { base_url: string } }]; error?: string };
    return body.outcomes?.[0].result.base_url ?? body.error;
  };

  test("loses its trailing slash and keeps its path", async () => {
    expect(await add("http://10.0.0.5:9939/")).toBe("http://10.0.0.5:9939");
    expect(await add("HTTPS://Lab.example/svc/one//")).toBe("https://lab.example/svc/one");
    expect(await add("http://[::1]:80")).toBe("http://[::1]");
  });

  test("is http or https, without credentials, query or fragment; a password in it is not repeated", async () => {
    for (const bad of [
      "ftp://a",
      "a:9939",
      "http://",
      "http://a?b",
      "http://a#b",
      "http://a b",
      "http://a:99999",
    ]) {
      expect(await add(bad)).toContain("expected an http or https address");
    }
    const message = await add("http://user:hunter2@10.0.0.5");
    expect(message).toContain("expected an http or https address without credentials");
    expect(message).not.toContain("hunter2");
    expect(await add("http://10.0.0.5?token=hunter2")).toEndWith('but found "http://10.0.0.5?…"');
  });
});

describe("the trust settings of a host", () => {
  const pem = (name: string) => `-----BEGIN ${name}-----\nAAAA\n-----END ${name}-----\n`;

  testWith("openssl")("is certificates, and nothing else that is in the file", () => {
    using folder = temporaryFolder();
    const { cert } = selfSigned(folder.path, "host", "IP:127.0.0.1");
    const ca = readFileSync(cert, "utf8");
    const entry = { ...host("a", "https://127.0.0.1:1"), ca: `${pem("PRIVATE KEY")}Lab CA\n${ca}${ca}` };
    expect(parseHost(entry)).toMatchObject({ entry: { ca: `${ca}${ca}` } });
  });

  test.each(["PRIVATE KEY", "CERTIFICATE"])("are refused when the PEM is not a certificate (%s)", (name) => {
    const entry = { ...host("a", "https://127.0.0.1:1"), ca: pem(name) };
    expect(parseHost(entry)).toEqual({ fault: "ca: expected certificates as PEM text" });
  });

  test("are refused for an address that has no certificate", () => {
    const entry = { ...host("a"), pin: `sha256:${"ab".repeat(32)}` };
    expect(parseHost(entry)).toEqual({ fault: "pin: expected with an https address only" });
  });
});

test("tokens appear in no listing, no answer and no audit row", async () => {
  await using server = await testServer();
  const token = "a-token-that-stays-secret";
  const actions = [
    ["AC_admin_add_host", ["a", "http://127.0.0.1:1", token, ["lab"]]],
    ["AC_admin_list_hosts"],
    ["AC_admin_poll", { timeout_s: 1 }],
    ["AC_admin_remove_host", ["a"]],
  ];
  const response = await server.call("/execute", post({ actions: actions.slice(1, 3) }));
  expect((await response.json()) as object).toMatchObject({ outcomes: [{ result: [] }, { result: [] }] });
  const report = (await (await server.call("/execute", post({ actions }))).json()) as {
    ok: boolean;
    outcomes: Array<{ result: unknown }>;
  };
  const listed = { label: "a", base_url: "http://127.0.0.1:1", tags: ["lab"] };
  expect(report.ok).toBe(true);
  expect(report.outcomes.map(({ result }) => result)).toMatchObject([
    listed,
    [listed],
    [{ label: "a", healthy: false, error: "connection refused", sessions: null, job_count: null }],
    { removed: true },
  ]);
  expect(JSON.stringify(report.outcomes)).not.toContain(token);
  const added = { label: "b", base_url: "http://127.0.0.1:1", token };
  expect((await server.call("/admin/hosts/add", post(added))).status).toBe(200);
  const removing = async () => (await server.call("/admin/hosts/remove", post({ label: "b" }))).json();
  expect(await removing()).toEqual({
    ...{ removed: true, revoked: null, problem: null },
    hosts: [{ label: "b", revoked: null, problem: null }],
  });
  expect(await removing()).toEqual({ removed: false, revoked: null, problem: null, hosts: [] });
  const rows = await (await server.call("/audit/list")).text();
  expect(rows).toContain('admin.add_host label=\\"b\\" base_url=\\"http://127.0.0.1:1\\" token=\\"***\\"');
  expect(rows).toContain('admin.remove_host label=\\"b\\"');
  expect(rows).not.toContain(token);
});
