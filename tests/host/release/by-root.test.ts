/** What root takes of a daemon's order, and what it does not. */
import { expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { signFile } from "../../../build/package/sign";
import { carryOutByRoot } from "../../../src/host/release/by-root";
import { lastUpgrade, readVerdict, writeOrder } from "../../../src/host/release/order";
import { readSmallFile } from "../../../src/lib/files";
import { formatText, requireKnownFormat } from "../../../src/lib/format";
import { readState, upgradeFiles, writeState } from "../../../src/wire/release/files";
import { follow, temporaryFolder } from "../../support";
import { makeKey } from "./support";

const SHA256 = "0".repeat(64);
const PROGRAM = (version: string) =>
  `#!/bin/sh\necho '{"version":"${version}","target":"linux-x64","format":3}'\n`;

/** A host whose daemon has a signed 0.2.0 and has ordered it. */
async function host(version = "0.2.0", signer?: ReturnType<typeof makeKey>) {
  const folder = temporaryFolder();
  const state = join(folder.path, "state");
  const [binary, secret] = ["svc", "secret"].map((name) => join(folder.path, name));
  const place = join(state, "upgrade");
  mkdirSync(place, { recursive: true });
  writeFileSync(`${binary}`, PROGRAM("0.1.0"), { mode: 0o755 });
  writeFileSync(`${secret}`, "of root");
  writeFileSync(join(state, "format.json"), formatText());
  const key = makeKey(folder.path);
  const file = join(place, SHA256);
  writeFileSync(file, PROGRAM(version));
  await signFile((signer ?? key).secret, file, `svc ${version} linux-x64`);
  const order = (more: object = {}) =>
    writeOrder(place, {
      ...{ format: 1, id: "job", from: "0.1.0", to: version, sha256: SHA256, pid: null },
      ...{ began: new Date().toISOString(), ended: null, error: null, ...more },
    });
  order();
  return {
    ...{ state, place, file, order, key, binary: `${binary}`, secret: `${secret}`, outside: folder.path },
    carryOut: (pauses = { pauseMs: 0, restMs: 0 }, may = () => true) =>
      carryOutByRoot(
        place,
        `${binary}`,
        may,
        async () => ({
          ...{ version: "0.1.0", target: "linux-x64", key: key.secret.publicKey, daemons: [] },
          requireReadable: (reader) => requireKnownFormat(state, reader),
        }),
        pauses,
      ),
    program: () => readSmallFile(`${binary}`, 1_000),
    last: () => lastUpgrade(place, `${binary}`, "0.1.0"),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const testOnLinux = test.skipIf(process.platform !== "linux");

testOnLinux(
  "a signed program takes the place of the old one, and nothing of the daemon changes",
  async () => {
    using one = await host();
    const before = readdirSync(one.place);
    await one.carryOut();
    expect(one.last()).toMatchObject({ id: "job", ok: true, error: null });
    expect(one.program()).toBe(PROGRAM("0.2.0"));
    expect(readdirSync(one.place)).toEqual(before);
    // The order is still there: it is not carried out twice.
    writeState(one.binary, { ...Object(readState(one.binary)), id: "by hand" });
    await one.carryOut();
    expect(readState(one.binary)?.id).toBe("by hand");
  },
);

testOnLinux("a host hears why root refuses: another key, or a version that is not newer", async () => {
  using keys = temporaryFolder();
  using other = await host("0.2.0", makeKey(keys.path));
  await other.carryOut();
  expect(other.last()).toMatchObject({ ok: false, error: expect.stringContaining("key") });
  using older = await host("0.0.9");
  await older.carryOut();
  expect(older.last()).toMatchObject({ ok: false, error: expect.stringContaining("not newer") });
  for (const one of [other, older]) expect(one.program()).toBe(PROGRAM("0.1.0"));
});

testOnLinux(
  "a daemon that orders all the time has root do little: it waits, and takes the newest order",
  async () => {
    using one = await host("0.0.9");
    const began = performance.now();
    const first = one.carryOut({ pauseMs: 50, restMs: 0 });
    one.order({ id: "newer" });
    await first;
    expect(one.last()).toMatchObject({ id: "newer", ok: false });
    expect(performance.now() - began).toBeGreaterThan(45);
    one.order({ id: "next" });
    const next = one.carryOut({ pauseMs: 0, restMs: 300 });
    one.order({ id: "newest" });
    await next;
    expect(one.last()?.id).toBe("newest");
    expect(performance.now() - began).toBeGreaterThan(340);
  },
);

testOnLinux("root writes nothing where others may write since it began to wait", async () => {
  using one = await host();
  let isOfRoot = true;
  const waits = one.carryOut({ pauseMs: 20, restMs: 0 }, () => isOfRoot);
  isOfRoot = false;
  const before = readdirSync(one.outside);
  await waits;
  expect(one.program()).toBe(PROGRAM("0.1.0"));
  expect(readdirSync(one.outside)).toEqual(before);
});

testOnLinux(
  "nobody else may open root's copy at any time, whatever mode the file of the daemon has",
  async () => {
    using one = await host();
    // So large that the copy takes a while.
    await Bun.write(one.file, `${PROGRAM("0.2.0")}exit\n${"#".repeat(100_000_000)}\n`);
    await signFile(one.key.secret, one.file, "svc 0.2.0 linux-x64");
    chmodSync(one.file, 0o666);
    const { fresh } = upgradeFiles(one.binary);
    const looks = `let seen = 0, open = 0;
    console.log("looks");
    process.stdin.on("data", () => { console.log(JSON.stringify({ seen: seen > 0, open })); process.exit(); });
    const look = () => {
      for (let nth = 0; nth < 1000; nth++) {
        const found = require("node:fs").lstatSync(${JSON.stringify(fresh)}, { throwIfNoEntry: false });
        if (found?.size < 100_000_000) { seen++; if (found.mode & 0o066) open++; }
      }
      setImmediate(look);
    };
    look();`;
    const watcher = Bun.spawn([process.execPath, "-e", looks], { stdio: ["pipe", "pipe", "inherit"] });
    const said = follow(watcher.stdout);
    await said.says("looks");
    await one.carryOut();
    watcher.stdin.write("end");
    watcher.stdin.end();
    await watcher.exited;
    expect(one.last()).toMatchObject({ ok: true });
    expect(JSON.parse(said.text().trim().split("\n").at(-1) ?? "")).toEqual({ seen: true, open: 0 });
  },
);

type Host = Awaited<ReturnType<typeof host>>;

const replaced = (path: string, target: string) => {
  rmSync(path, { recursive: true });
  symlinkSync(target, path);
};

const plantFormat = ({ state, outside }: Host) => {
  const format = join(outside, "format");
  writeFileSync(format, formatText());
  replaced(join(state, "format.json"), format);
};

testOnLinux.each<[string, (one: Host) => void, string | null]>([
  ["the file", ({ file, secret }) => replaced(file, secret), "cannot be opened (ELOOP)"],
  ["its signature", ({ file, secret }) => replaced(`${file}.minisig`, secret), "cannot be opened (ELOOP)"],
  ["the order", ({ place, secret }) => replaced(join(place, "order.json"), secret), null],
  // What it leads to would do.
  ["the format of the folder", plantFormat, "format.json is not what svc writes there"],
])("a link in place of %s is not followed", async (_what, plant, error) => {
  using one = await host();
  plant(one);
  await one.carryOut();
  expect(readVerdict(one.binary)?.error ?? null).toEqual(error && expect.stringContaining(error));
  expect(one.program()).toBe(PROGRAM("0.1.0"));
  expect(readSmallFile(one.secret, 100)).toBe("of root");
  expect(existsSync(upgradeFiles(one.binary).fresh)).toBe(false);
});

testOnLinux("a link in place of the folder is not followed", async () => {
  using one = await host();
  using elsewhere = await host();
  replaced(one.place, elsewhere.place);
  await one.carryOut();
  expect(readVerdict(one.binary)).toBeNull();
  expect(one.program()).toBe(PROGRAM("0.1.0"));
});

test.skipIf(process.getuid?.() !== 0 || process.platform !== "linux")(
  "a second name of a file that is somebody else's is refused",
  async () => {
    using one = await host();
    rmSync(`${one.file}.minisig`);
    linkSync(one.secret, `${one.file}.minisig`);
    for (const path of [one.place, join(one.place, "order.json"), one.file]) chownSync(path, 4_242, 4_242);
    await one.carryOut();
    expect(one.last()?.error).toContain("is not a regular file of the daemon");
  },
);

testOnLinux.each([
  ["names another folder", { sha256: "../../secret" }],
  ["has an id that is no id", { id: "a\nb" }],
  ["is of long ago", { began: "2026-01-01T00:00:00.000Z" }],
  ["is over", { ended: new Date().toISOString() }],
])("an order that %s is none", async (_what, more) => {
  using one = await host();
  one.order(more);
  await one.carryOut();
  expect(readVerdict(one.binary)).toBeNull();
  expect(one.program()).toBe(PROGRAM("0.1.0"));
});
