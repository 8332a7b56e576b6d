/** Passkeys: who registers one, and which answers count. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { Grant, Scope } from "../../../src/core/rights";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { demandsOf } from "../../../src/trust/passkeys/options";
import {
  type Allowance,
  type Asker,
  createPasskeys,
  type Passkeys,
  type PasskeysParts,
} from "../../../src/trust/passkeys/passkeys";
import { passkeyStore } from "../../../src/trust/passkeys/store";
import { keptText, verifyYes } from "../../../src/trust/passkeys/yes";
import { movableClock, temporaryFolder } from "../../support";
import { type Authenticator, createAuthenticator, type Question } from "./authenticator";

const grantOf = (name: string | null, ...scopes: Scope[]): Grant => ({ name, scopes });
const BOB = grantOf("bob", "operate");
const EVE = grantOf("eve", "operate");
const OWNER = grantOf(null, "admin");

const WANTED: Allowance = {
  ...{ what: "approvals.allow", words: "allowing 9f1c2e4a" },
  terms: { id: "9f1c2e4a", digest: "ab".repeat(32), asked_by: "agent" },
};

/** A request from a page at `host`. */
const at = (grant: Grant, answer?: string, host = "localhost:9939"): Asker => ({
  ...{ grant, kind: "rest" },
  request: { headers: new Headers({ host, ...(answer !== undefined && { "svc-passkey": answer }) }) },
});

function made(parts: Partial<PasskeysParts> = {}) {
  const folder = temporaryFolder();
  const files = configFiles(folder.path);
  const passkeys = createPasskeys({
    store: passkeyStore(files, silentLog),
    demands: demandsOf(["approvals"]),
    host: () => "urn:svc:host:test",
    reach: async () => ({ tls: false, port: 9939, publicUrl: undefined }),
    ...parts,
  });
  return { passkeys, files, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** The failure of `work`, which has to fail. */
async function failureOf(work: Promise<unknown>): Promise<Error & { more: { passkey?: unknown } }> {
  try {
    await work;
  } catch (error) {
    return error as Error & { more: { passkey?: unknown } };
  }
  throw new Error("it did not fail");
}

const questionIn = async (work: Promise<unknown>) => (await failureOf(work)).more.passkey as Question;

const asked = (passkeys: Passkeys, grant: Grant, wanted = WANTED) =>
  questionIn(passkeys.sign("approvals", wanted, at(grant)));

async function register(passkeys: Passkeys, grant: Grant, key: Authenticator, answer?: string) {
  const begun = await passkeys.begin("key", at(grant, answer));
  return (await passkeys.register(await key.create(begun), at(grant))).keep();
}

/** Bob with a passkey, who is asked to allow something. */
async function bobAsked(parts: Partial<PasskeysParts> = {}) {
  const all = made(parts);
  const key = await createAuthenticator();
  await register(all.passkeys, BOB, key);
  const question = await asked(all.passkeys, BOB);
  const answer = (answer: string, wanted = WANTED, grant = BOB) =>
    all.passkeys.sign("approvals", wanted, at(grant, answer));
  return { ...all, key, question, answer, [Symbol.dispose]: () => all[Symbol.dispose]() };
}

const wordIn = (signed: string) => signed.replace(/^ passkey=/, "");

describe("a yes", () => {
  test("is signed over what is allowed, and can be checked by what is kept of it", async () => {
    using one = await bobAsked();
    const signed = await one.answer(await one.key.touch(one.question));
    const yes = verifyYes(wordIn(signed));
    expect(yes.statement).toMatchObject({ ...{ what: WANTED.what, terms: WANTED.terms }, holder: "bob" });
    expect(yes.text).toBe(one.question.text);
    expect([yes.credential, yes.origin]).toEqual([one.key.id, "http://localhost:9939"]);
  });

  test("is not wanted for what the flag does not name", async () => {
    using one = made({ demands: demandsOf(["control", "plans:10"]) });
    expect(await one.passkeys.sign("approvals", WANTED, at(BOB))).toBe("");
    expect(await one.passkeys.sign({ plan: 10 }, WANTED, at(BOB))).toBe("");
    expect(one.passkeys.demands({ plan: 11 })).toBe(true);
  });

  test("counts once", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question);
    await one.answer(touch);
    await expect(one.answer(touch)).rejects.toThrow("has been answered");
  });

  test("of another challenge does not count, and uses the question up", async () => {
    using one = await bobAsked();
    const other = await asked(one.passkeys, BOB);
    const touch = await one.key.touch(one.question, { challenge: other.challenge });
    await expect(one.answer(touch)).rejects.toThrow(
      "does not count: Unexpected authentication response challenge",
    );
    await expect(one.answer(await one.key.touch(one.question))).rejects.toThrow("has been answered");
  });

  test("from a page elsewhere does not count", async () => {
    for (const origin of [
      "http://localhost:9940",
      "http://evil.localhost:9939",
      "https://localhost.example",
    ]) {
      using one = await bobAsked();
      const touch = await one.key.touch(one.question, { origin });
      await expect(one.answer(touch)).rejects.toThrow(
        "does not count: Unexpected authentication response origin",
      );
    }
  });

  test("from a page within another site's does not count", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question, { crossOrigin: true });
    await expect(one.answer(touch)).rejects.toThrow();
  });

  test("for another name does not count", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question, { rpId: "example.org" });
    await expect(one.answer(touch)).rejects.toThrow("does not count");
  });

  test("without the person being verified does not count", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question, { verified: false });
    await expect(one.answer(touch)).rejects.toThrow("does not count: User verification required");
  });

  test("with the passkey of somebody else does not count", async () => {
    using one = await bobAsked();
    const eves = await createAuthenticator();
    await register(one.passkeys, EVE, eves);
    await expect(one.answer(await eves.touch(one.question))).rejects.toThrow("expected one of yours");
  });

  test("to what somebody else was asked does not count, and leaves the question to them", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question);
    await expect(one.answer(touch, WANTED, EVE)).rejects.toThrow("was not asked");
    expect(await one.answer(touch)).toStartWith(" passkey=");
  });

  test("after its time does not count", async () => {
    using one = await bobAsked();
    // What was asked is over itself.
    const over = { ...WANTED, until: new Date(Date.now() - 1).toISOString() };
    const touch = await one.key.touch(await asked(one.passkeys, BOB, over));
    await expect(one.answer(touch)).rejects.toThrow("expected an answer by");
    using clock = movableClock();
    const late = await one.key.touch(one.question);
    clock.advance(300_000);
    await expect(one.answer(late)).rejects.toThrow("expected an answer by");
  });

  test("does not count for other terms than were asked", async () => {
    for (const other of [
      { ...WANTED, terms: { ...WANTED.terms, digest: "cd".repeat(32) } },
      { ...WANTED, what: "lease.allow" },
    ]) {
      using one = await bobAsked();
      const touch = await one.key.touch(one.question);
      await expect(one.answer(touch, other)).rejects.toThrow("is not what you were asked");
    }
  });

  test("of a passkey whose counter did not go on does not count", async () => {
    using one = await bobAsked();
    await one.answer(await one.key.touch(one.question, { counter: 7 }));
    const again = await asked(one.passkeys, BOB);
    await expect(one.answer(await one.key.touch(again, { counter: 7 }))).rejects.toThrow("counter");
  });

  test("does not count once the passkey is removed", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question);
    await one.passkeys.remove(one.key.id);
    await expect(one.answer(touch)).rejects.toThrow("expected one of yours");
  });

  test("in a header that is no answer is refused, and leaves the question", async () => {
    using one = await bobAsked();
    await expect(one.answer("e30")).rejects.toThrow("svc-passkey: expected the answer");
    expect(await one.answer(await one.key.touch(one.question))).toStartWith(" passkey=");
  });
});

describe("what is kept of a yes", () => {
  test("shows where any part of it was changed", async () => {
    using one = await bobAsked();
    const other = await createAuthenticator();
    await register(one.passkeys, EVE, other);
    const kept = JSON.parse(
      Buffer.from(wordIn(await one.answer(await one.key.touch(one.question))), "base64url").toString(),
    );
    const theirs = await asked(one.passkeys, EVE);
    const elses = JSON.parse(
      Buffer.from(
        wordIn(await one.passkeys.sign("approvals", WANTED, at(EVE, await other.touch(theirs)))),
        "base64url",
      ).toString(),
    );
    expect(verifyYes(keptText(kept)).text).toBe(kept.text);
    for (const field of ["key", "authenticator_data", "client_data", "signature", "text"]) {
      const changed = keptText({ ...kept, [field]: elses[field] });
      if (elses[field] === kept[field]) continue;
      expect(() => verifyYes(changed)).toThrow("not signed as it should be");
    }
    const spaced = Buffer.from(JSON.stringify(kept, null, 1)).toString("base64url");
    expect(() => verifyYes(spaced)).toThrow("another form");
  });
});

describe("a passkey", () => {
  test("is registered by its holder, and listed to them and to the owner", async () => {
    using one = made();
    const key = await createAuthenticator();
    await register(one.passkeys, BOB, key);
    expect(one.passkeys.list(BOB)).toMatchObject([{ id: key.id, holder: "bob", rp_id: "localhost" }]);
    expect(one.passkeys.list(EVE)).toEqual([]);
    expect(one.passkeys.list(OWNER)).toHaveLength(1);
  });

  test("is of all sessions of a person", async () => {
    using one = made();
    const session = (id: string): Grant => ({
      ...grantOf(`oidc:alice@example.org~0123456789/${id}`, "operate"),
      since: Date.now() + 1_000,
    });
    const key = await createAuthenticator();
    await register(one.passkeys, session("aaaaaaaa"), key);
    const question = await asked(one.passkeys, session("bbbbbbbb"));
    const signed = await one.passkeys.sign(
      "approvals",
      WANTED,
      at(session("bbbbbbbb"), await key.touch(question)),
    );
    expect(verifyYes(wordIn(signed)).statement.holder).toBe("oidc:alice@example.org~0123456789");
  });

  test("is of no token that got the name later", async () => {
    using one = await bobAsked();
    const later = { ...BOB, since: Date.now() + 1_000 };
    const { message, more } = await failureOf(one.passkeys.sign("approvals", WANTED, at(later)));
    expect([message, more.passkey]).toEqual([expect.stringContaining("register one first"), null]);
  });

  test("is registered for nobody by less than their token", async () => {
    using one = made();
    for (const less of [
      { ...OWNER, limited: true as const },
      { ...OWNER, owner: true as const },
      grantOf(null, "operate"),
      { ...BOB, limited: true as const },
    ])
      await expect(one.passkeys.begin("key", at(less))).rejects.toThrow("no agent has one");
  });

  test("is registered beside another with a touch of that", async () => {
    using one = await bobAsked();
    const second = await createAuthenticator();
    const question = await questionIn(register(one.passkeys, BOB, second));
    expect(JSON.parse(question.text)).toMatchObject({ what: "passkeys.add", terms: { label: "key" } });
    await register(one.passkeys, BOB, second, await one.key.touch(question));
    expect(one.passkeys.list(BOB)).toHaveLength(2);
  });

  test("that was begun before another one is not registered without its touch", async () => {
    using one = made();
    const [first, second] = [await createAuthenticator(), await createAuthenticator()];
    const begun = await one.passkeys.begin("second", at(BOB));
    await register(one.passkeys, BOB, first);
    const late = await one.passkeys.register(await second.create(begun), at(BOB));
    await expect(late.keep()).rejects.toThrow("another one meanwhile");
  });

  test("is not registered by an answer to another question, from elsewhere, or without the person verified", async () => {
    using one = made();
    const key = await createAuthenticator();
    for (const odd of [
      { challenge: "AAAA" },
      { origin: "http://localhost:1" },
      { rpId: "example.org" },
      { verified: false },
    ]) {
      const begun = await one.passkeys.begin("key", at(BOB));
      await expect(one.passkeys.register(await key.create(begun, odd), at(BOB))).rejects.toThrow(
        "does not count",
      );
    }
    const begun = await one.passkeys.begin("key", at(BOB));
    await expect(one.passkeys.register(await key.create(begun), at(EVE))).rejects.toThrow("was not asked");
  });

  test("is the first of its holder with a code for them alone, good once, where that is wanted", async () => {
    using one = made({ invites: true });
    const { passkeys } = one;
    const begin = (grant: Grant, code?: string) => passkeys.begin("key", at(grant), code);
    await expect(begin(BOB)).rejects.toThrow("takes a code");
    const code = passkeys.invite("bob");
    await expect(begin(EVE, code)).rejects.toThrow("takes a code");
    const key = await createAuthenticator();
    const begun = await begin(BOB, code.toLowerCase());
    await (await passkeys.register(await key.create(begun), at(BOB))).keep();
    await passkeys.remove(key.id);
    await expect(begin(BOB, code)).rejects.toThrow("takes a code");
  });

  test("is removed by its holder with a touch, and by the owner on the host", async () => {
    using one = await bobAsked();
    const remove = (caller: Asker) => one.passkeys.removable(one.key.id, caller);
    const question = await questionIn(remove(at(BOB)));
    expect(await remove(at(BOB, await one.key.touch(question)))).toMatchObject({
      passkey: { holder: "bob" },
    });
    await expect(remove(at(EVE))).rejects.toThrow("no passkey");
    // The owner's token over the network is what a thief may have.
    await expect(remove(at(OWNER))).rejects.toThrow("on the host");
    expect(await remove({ grant: OWNER, kind: "cli" })).toMatchObject({ signed: "" });
  });

  test("needs a name: at an address of numbers a page is told so, and so is what is no page", async () => {
    using one = await bobAsked();
    for (const host of ["127.0.0.1:9939", "[::1]:9939", "192.0.2.7"]) {
      const { message, more } = await failureOf(
        one.passkeys.sign("approvals", WANTED, at(BOB, undefined, host)),
      );
      expect([message, more.passkey]).toEqual([expect.stringContaining("http://localhost"), null]);
    }
    const { message } = await failureOf(
      one.passkeys.sign("approvals", WANTED, { grant: OWNER, kind: "cli" }),
    );
    expect(message).toContain("only a page of the dashboard");
  });

  test("is for the name at which it was registered", async () => {
    using one = await bobAsked();
    const elsewhere = one.passkeys.sign("approvals", WANTED, at(BOB, undefined, "desk.example.org:9939"));
    expect((await failureOf(elsewhere)).message).toContain("yours are for localhost");
  });

  test("in a file that is broken allows nothing, and none is removed or added", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question);
    writeFileSync(one.files.passkeys, "{");
    await expect(one.answer(touch)).rejects.toThrow("passkeys.json is not a list of passkeys");
    await expect(one.passkeys.begin("key", at(BOB))).rejects.toThrow("passkeys.json");
    await expect(one.passkeys.remove(one.key.id)).rejects.toThrow("passkeys.json");
    expect(await Bun.file(one.files.passkeys).text()).toBe("{");
  });

  test("that cannot be read counts as there: nobody registers a first one in its place, and nothing is changed", async () => {
    using one = await bobAsked();
    const touch = await one.key.touch(one.question);
    const broken = (await Bun.file(one.files.passkeys).text()).replace('"holder": "bob"', '"holder": 1');
    writeFileSync(one.files.passkeys, broken);
    const says = "passkeys.json has an entry that cannot be read (passkeys[0]: holder:";
    await expect(one.passkeys.begin("key", at(BOB))).rejects.toThrow(says);
    await expect(one.passkeys.begin("key", at(EVE))).rejects.toThrow(says);
    await expect(one.answer(touch)).rejects.toThrow(says);
    await expect(one.passkeys.remove(one.key.id)).rejects.toThrow(says);
    expect(await Bun.file(one.files.passkeys).text()).toBe(broken);
  });

  test("is asked for at the port of this server alone, whatever the request says of its own", async () => {
    using one = await bobAsked();
    for (const host of ["localhost:9940", "localhost"]) {
      const { message, more } = await failureOf(
        one.passkeys.sign("approvals", WANTED, at(BOB, undefined, host)),
      );
      expect([message, more.passkey]).toEqual([expect.stringContaining("svc listens on port 9939"), null]);
    }
    // A browser leaves out 443.
    using usual = made({ reach: async () => ({ tls: true, port: 443, publicUrl: undefined }) });
    expect(await usual.passkeys.begin("key", at(BOB, undefined, "desk.example.org"))).toMatchObject({
      rp_id: "desk.example.org",
    });
    using proxied = made({
      reach: async () => ({ tls: false, port: 9939, publicUrl: "https://desk.example.org" }),
    });
    expect(await proxied.passkeys.begin("key", at(BOB, undefined, "localhost:1"))).toMatchObject({
      rp_id: "desk.example.org",
    });
  });

  test("says what has allowed it: the token alone, an invitation, or another one", async () => {
    using one = made();
    const [first, second] = [await createAuthenticator(), await createAuthenticator()];
    expect(await register(one.passkeys, BOB, first)).toMatchObject({ allowed_by: "token" });
    const question = await questionIn(one.passkeys.begin("key", at(BOB)));
    const touch = await first.touch(question);
    expect(await register(one.passkeys, BOB, second, touch)).toMatchObject({ allowed_by: first.id });
    using invited = made({ invites: true });
    const begun = await invited.passkeys.begin("key", at(BOB), invited.passkeys.invite("bob"));
    const { about, keep } = await invited.passkeys.register(await first.create(begun), at(BOB));
    expect([about, await keep()]).toEqual([
      expect.stringMatching(/ by=invitation$/),
      expect.objectContaining({ allowed_by: "invitation" }),
    ]);
  });
});
