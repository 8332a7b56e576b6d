import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setFileAside } from "../../src/host/config/set-aside";
import { openSecretsKey } from "../../src/host/secrets/key";
import { formatText } from "../../src/lib/format";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { openSigningKey } from "../../src/lib/signing-key";
import { pathOf, RENEWABLE_FILES, TRUST_FILES, type TrustFile } from "../../src/lib/trust-files";
import { createService, type Service } from "../../src/service/service";
import { openToken } from "../../src/trust/owner-token";
import { ownPair } from "../../src/trust/tls";
import { newNKey } from "../../src/wire/nats/nkeys";
import { temporaryFolder, testService } from "../support";

type Files = ReturnType<typeof configFiles>;

const HOOK = { name: "hook", url: "https://example.com/", types: [], allow_private: false, token: null };
const STRING = { address: "desk:1", pin: "spki:x", tags: [], label_prefix: "", uses: 1, expires_s: 60 };

const PASSKEY = {
  ...{ holder: null, label: "key", key: "AAAA", counter: 0, rp_id: "localhost", synced: false },
  ...{ transports: [], created: "2026-01-01T00:00:00.000Z" },
};

const LEDGER = join(import.meta.dir, "..", "..", "src", "desk", "plans", "ledger", "ledger");

/** What makes or changes each file: the way that operations go. */
const CHANGES: Readonly<Record<TrustFile, (service: Service, files: Files, nth: number) => unknown>> = {
  rest_token: (_service, { token }) => openToken(undefined, token, silentLog),
  "tokens.json": async (service) => (await service.deskTokens()).add(["read"]),
  "signed_out.json": async (_service, files, nth) =>
    (await import("../../src/trust/signed-out"))
      .createSignedOut(files, silentLog)
      .note({ person: `${nth}`.padStart(32, "0"), at: Date.now() }),
  "scripts.json": async (service, _files, nth) =>
    (await service.storedScripts()).add(
      { name: `script-${nth}`, actions: [], parameters: [], stop_on_error: true, timeout_s: 1 } as never,
      false,
    ),
  "trusted_viewers.json": async (_service, { trustedViewers, adminLock }, nth) =>
    (await import("../../src/host/desktop/screen/trusted-viewers"))
      .trustedStore(trustedViewers, adminLock, silentLog)
      .change((list) => list.add({ viewer_id: `viewer-${nth}` })),
  "webhooks.json": async (service, _files, nth) =>
    (await service.webhooks()).hooks.add({ ...HOOK, name: `hook-${nth}` }),
  "passkeys.json": async (_service, files, nth) =>
    (await import("../../src/trust/passkeys/store"))
      .passkeyStore(files, silentLog)
      .change((list) => list.add({ ...PASSKEY, id: `key-${nth}` })),
  "secrets.json": async (service, _files, nth) =>
    (await service.secrets()).set(`secret-${nth}`, "correct horse", null),
  secrets_key: (_service, { secretsKey }) => openSecretsKey(secretsKey),
  "admin_hosts.db": async (service, _files, nth) =>
    (await service.addressBook()).add({
      ...{ label: `lab-${nth}`, base_url: "https://127.0.0.1:1", token: "a-token-12345", tags: [] },
    } as never),
  "join.db": async (service) => (await service.joinStrings()).add(STRING),
  "plans.db": (_service, { plans }) => {
    // In a process of its own: its prepared statements hold the file open for as long as that lives.
    const program = `import { openLedger } from ${JSON.stringify(LEDGER)};
      try { openLedger(${JSON.stringify(plans)}); } catch (error) { console.log(error.message); }`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", program], { stderr: "inherit" });
    if (stdout.length > 0) throw new Error(stdout.toString());
  },
  "desk.json": async (_service, { desk }) => {
    const { readMembership } = await import("../../src/wire/join/membership");
    if (!readMembership(desk)) writeFileSync(desk, MEMBERSHIP);
  },
  host_key: (_service, { hostKey }) => openSigningKey(hostKey),
  desk_key: (_service, { deskKey }) => openSigningKey(deskKey),
  audit_key: (_service, { auditKey }) => openSigningKey(auditKey),
  witness_key: (_service, { witnessKey }) => openSigningKey(witnessKey),
  "witness.db": async (_service, { witness }) =>
    (await import("../../src/wire/witness/store")).openStore(witness).close(),
  "tls/key.pem": (_service, files) => ownPair(files),
  nats_key: (service) => service.natsKey(),
  "nats.json": async (_service, { nats }) => {
    const { readDeskPart } = await import("../../src/wire/nats/desk-part");
    if (!readDeskPart(nats)) writeFileSync(nats, DESK_PART);
  },
  "nats_operator.json": async (_service, { natsOperator }) => {
    const { newOperator, readOperators, writeOperators } = await import("../../src/desk/nats/operator");
    if (readOperators(natsOperator).size === 0)
      writeOperators(natsOperator, new Map([["", newOperator("key")]]));
  },
};

const MEMBERSHIP = JSON.stringify({
  ...{ desk: "desk:1", desk_pin: "spki:x", host_id: "0".repeat(32), label: "lab", nonce: "n".repeat(22) },
  ...{ desk_key: "k".repeat(43), carriers: [], token: "desk", joined: "2026-01-01T00:00:00.000Z" },
});
const DESK = newNKey("U");
const DESK_PART = JSON.stringify({
  ...{ svc_nats: 1, server: { urls: ["tls://nats:4222"] }, account: newNKey("A").id },
  desk: { name: "desk", id: DESK.id, seed: DESK.seed, jwt: "jwt" },
});

/** A folder that has the file, and processes on it, one after the other: what one has open does not help the next. */
async function folderWith(name: TrustFile) {
  const folder = temporaryFolder();
  const files = configFiles(folder.path);
  mkdirSync(join(folder.path, "run"));
  writeFileSync(files.format, formatText());
  let nth = 0;
  const change = async () => {
    const service = createService({ configDir: folder.path, log: silentLog });
    try {
      await service.prepareFolder();
      await CHANGES[name](service, files, ++nth);
    } finally {
      await service.stop();
      // Statements hold a database open until they are collected.
      if (name.endsWith(".db")) Bun.gc(true);
    }
  };
  const faults = async () => {
    const service = createService({ configDir: folder.path, log: silentLog });
    return await service.fileFaults();
  };
  await change();
  return {
    path: pathOf(folder.path, name),
    configDir: folder.path,
    change,
    faults,
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** How a file is lost, and what its message says then. */
const LOSSES: Readonly<Record<string, { lose(path: string): void; says: RegExp }>> = {
  missing: { lose: (path) => rmSync(path), says: /is missing: restore it from a backup/ },
  empty: { lose: (path) => writeFileSync(path, ""), says: /restore it from a backup|expected a token/ },
  broken: {
    lose: (path) => writeFileSync(path, "{ this is no more what it was ".repeat(200)),
    says: /restore it from a backup|expected a token/,
  },
  unreadable: {
    lose(path) {
      rmSync(path);
      mkdirSync(path);
    },
    says: /cannot be (read|opened)|EISDIR/,
  },
};

for (const name of TRUST_FILES) {
  for (const [how, { lose, says }] of Object.entries(LOSSES)) {
    test(`${name}, ${how}: refused with the way to restore it, named by diagnose, and as before once it is restored`, async () => {
      using made = await folderWith(name);
      const before = readFileSync(made.path);
      expect(await made.faults()).toEqual([]);
      // SQLite would restore a database from the log that a killed process has left beside it.
      for (const beside of ["-wal", "-shm"]) rmSync(`${made.path}${beside}`, { force: true });
      lose(made.path);
      const lost = () =>
        existsSync(made.path) && how !== "unreadable" ? readFileSync(made.path, "utf8") : how;
      const then = lost();
      await expect(made.change()).rejects.toThrow(says);
      // The second time too: the first has left nothing that passes for the file.
      await expect(made.change()).rejects.toThrow(says);
      expect(lost()).toBe(then);
      expect(readdirSync(dirname(made.path)).filter((found) => found.includes(".broken-"))).toEqual([]);
      expect((await made.faults()).map(({ file }) => file)).toEqual([name]);

      rmSync(made.path, { recursive: true, force: true });
      writeFileSync(made.path, before);
      await made.change();
      expect(await made.faults()).toEqual([]);
    });
  }

  test(`${name} can be given up: it is kept under another name, and begins anew`, async () => {
    using made = await folderWith(name);
    writeFileSync(made.path, "broken");
    const [kept = ""] = await setFileAside(made.configDir, name);
    expect(readFileSync(pathOf(made.configDir, kept), "utf8")).toBe("broken");
    await made.change();
    expect(await made.faults()).toEqual([]);
  });
}

/** Files on which no trust rests, broken: a host does less with them than its owner has asked for. */
const BROKEN = {
  "jobs.json": "{",
  "host_service.json": "{",
  "ice.json": "{",
  audit_head: "12:",
};

for (const [name, text] of Object.entries(BROKEN))
  test(`${name}, broken: named by diagnose, which changes nothing`, async () => {
    using folder = temporaryFolder();
    const service = createService({ configDir: folder.path, log: silentLog });
    expect(await service.fileFaults()).toEqual([]);
    writeFileSync(pathOf(folder.path, name), text);
    const named = { file: name, problem: expect.stringContaining(name) };
    expect(await service.fileFaults()).toEqual([named]);
    expect(readFileSync(pathOf(folder.path, name), "utf8")).toBe(text);
  });

test("jobs.json, set aside: named by diagnose until it is mended or deleted", async () => {
  using folder = temporaryFolder();
  const service = createService({ configDir: folder.path, log: silentLog });
  writeFileSync(pathOf(folder.path, "jobs.json"), "{");
  await (await service.scheduler()).jobs();
  const [fault] = await service.fileFaults();
  expect(fault).toMatchObject({ file: "jobs.json", problem: expect.stringContaining("is set aside as") });
  await service.stop();
});

test.each(["join.db", "plans.db", "webhooks.db"])("%s, a folder: named by its name", async (name) => {
  using folder = temporaryFolder();
  mkdirSync(pathOf(folder.path, name));
  const service = createService({ configDir: folder.path, log: silentLog });
  const problem = expect.stringContaining(`${name} cannot be read (it is no file)`);
  expect(await service.fileFaults()).toEqual([{ file: name, problem }]);
});

/** Without them, nobody could know that it is this host, or come in: no server starts. */
const NEEDED = ["rest_token", "host_key", "tls/key.pem"];

const MEMBER = {
  ...{ label: "member", base_url: `link:${"0".repeat(32)}`, tags: [] },
  member: {
    ...{ host_id: "0".repeat(32), host_key: "k".repeat(43), nonce: "n".repeat(22) },
    ...{ request: "r".repeat(43), time: 1_795_456_989_210 },
  },
};

describe("a server that has all files but one", () => {
  let whole: ReturnType<typeof temporaryFolder>;
  beforeAll(async () => {
    whole = temporaryFolder();
    const files = configFiles(whole.path);
    mkdirSync(join(whole.path, "run"));
    writeFileSync(files.format, formatText());
    const service = createService({ configDir: whole.path, log: silentLog });
    await service.prepareFolder();
    for (const name of TRUST_FILES) await CHANGES[name](service, files, 1);
    // A host whose audit log this desk watches.
    await (await service.addressBook()).add(MEMBER);
    await service.stop();
  });
  afterAll(() => whole[Symbol.dispose]());

  for (const name of TRUST_FILES.filter((one) => !NEEDED.includes(one)))
    for (const how of ["missing", "empty", "broken", "unreadable"])
      test(`starts with ${name} ${how}`, async () => {
        using folder = temporaryFolder();
        cpSync(whole.path, folder.path, { recursive: true });
        for (const beside of ["-wal", "-shm"])
          rmSync(`${pathOf(folder.path, name)}${beside}`, { force: true });
        LOSSES[how]?.lose(pathOf(folder.path, name));
        const service = createService({ configDir: folder.path, log: silentLog });
        try {
          const { url, token } = await (await service.rest()).start({ port: 0 });
          await service.runJobs();
          const headers = { authorization: `Bearer ${token.current()}` };
          expect((await fetch(`${url}/health`, { headers })).status).toBe(200);
        } finally {
          await service.stop();
        }
      });
});

test("the table of docs/service.md has each of these files, and no other", () => {
  const page = readFileSync(join(import.meta.dir, "..", "..", "docs", "service.md"), "utf8");
  const [, table = ""] = /## What svc does without a file\n([\s\S]*)/.exec(page) ?? [];
  const rows = table.split("\n").filter((line) => /^\| `/.test(line));
  const named = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, file]) => file),
  );
  expect(named.toSorted()).toEqual([...TRUST_FILES, ...RENEWABLE_FILES, ...OTHERS].toSorted());
});

/** Files on which no trust rests. */
const OTHERS = [
  "state/",
  "fleet_states.json",
  "jobs.json",
  "host_service.json",
  "token_use.json",
  "ended_tokens.json",
  "ice.json",
  "portal_token",
  "standbys.json",
  "standby_key",
  "standby/following.json",
  "desk_generation.json",
  "taken_over.json",
  "audit.db",
];

test("a membership that can be read again counts again, though its file is as it was: its rights may have been others", async () => {
  await using made = testService();
  const { desk } = configFiles(made.configDir);
  // Size, inode and time stay the same.
  const put = (text: string) => {
    writeFileSync(desk, text);
    utimesSync(desk, 1, 1);
  };
  put(" ".repeat(MEMBERSHIP.length));
  const { hostLink } = made.service;
  await expect(hostLink()).rejects.toThrow("desk.json does not say which desk this host has joined");
  // It is said once.
  expect(await hostLink()).toBeNull();
  put(MEMBERSHIP);
  expect(await hostLink()).toMatchObject({ label: "lab", state: "off" });
});
