/** What `svc serve --passkey-for` names, over HTTP: it takes a touch, and the log keeps what was signed. */
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { verifyApproval } from "../../../src/host/audit/receipt/operations";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import type { Service } from "../../../src/service/service";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { verifyYes } from "../../../src/trust/passkeys/yes";
import { post, TOKEN, testServer } from "../../support";
import { holder } from "./support";

setDefaultTimeout(60_000);

const ANN = { name: "ann", scopes: ["screen"] } as const;

/** Something that Ann wants, who waits for it. */
async function wish(service: Service, what = "look at the screen") {
  const approvals = await service.approvals();
  return approvals.begin({ what, detail: "nothing changes", caller: { grant: ANN, client: null } });
}

/** The words of the log with `text` in them, oldest first. */
function rowsWith(configDir: string, text: string): string[] {
  using db = new Database(configFiles(configDir).auditLog, { readonly: true });
  const rows = db.query<{ detail: string }, []>("SELECT detail FROM events ORDER BY id").all();
  return rows.map(({ detail }) => detail ?? "").filter((detail) => detail.includes(text));
}

const verified = (service: Service, id: string) =>
  callOperation(service, verifyApproval, { id }, localCaller(service, "api"));

test("an approval is allowed with a touch alone, and anybody can check later who has signed what", async () => {
  await using host = await testServer({ service: { passkey_for: ["approvals"] } });
  const owner = await holder(host.server.url, TOKEN);
  const { approval, ended } = await wish(host.service);
  const { id } = approval;
  const refused = await owner.call("/approvals/allow", post({ id }));
  expect([refused.status, await refused.json()]).toMatchObject([
    403,
    { error: `allowing ${id} needs a touch of your passkey`, passkey: { rp_id: "localhost" } },
  ]);
  expect((await host.service.approvals()).list()[0]?.state).toBe("waiting");
  expect((await owner.signed("/approvals/allow", { id })).status).toBe(200);
  expect(await ended).toBe("allowed");

  const [row = ""] = rowsWith(host.configDir, "-> started approvals.allow");
  const [, word = ""] = / passkey=(\S+)$/.exec(row) ?? [];
  expect(verifyYes(word).statement).toMatchObject({
    ...{ what: "approvals.allow", holder: null, rp_id: "localhost" },
    terms: { id, what: "look at the screen", detail: "nothing changes", asked_by: "ann" },
  });
  expect(await verified(host.service, id)).toMatchObject({
    ...{ ok: true, reason: null, what: "approvals.allow", holder: null, credential: owner.key.id },
    registered: expect.any(String),
  });
});

test("without an answer nothing is allowed; denying takes none", async () => {
  await using host = await testServer({ service: { passkey_for: ["approvals"] } });
  const { approval, ended } = await wish(host.service);
  const { id } = approval;
  const refused = await host.call("/approvals/allow", post({ id }));
  expect([refused.status, (await refused.json()) as unknown]).toMatchObject([403, { passkey: null }]);
  expect((await host.call("/approvals/deny", post({ id }))).status).toBe(200);
  expect(await ended).toBe("denied");
  await expect(verified(host.service, id)).rejects.toThrow("allowed with a passkey");
});

test("an answer for one approval allows no other, and none twice", async () => {
  await using host = await testServer({ service: { passkey_for: ["approvals"] } });
  const owner = await holder(host.server.url, TOKEN);
  const [first, second] = [await wish(host.service), await wish(host.service, "control the screen")];
  const { origin } = owner;
  const touch = await owner.key.touch(await owner.asked("/approvals/allow", { id: first.approval.id }), {
    origin,
  });
  const other = await owner.answer("/approvals/allow", { id: second.approval.id }, touch);
  expect([other.status, await other.text()]).toEqual([
    409,
    expect.stringContaining("is not what you were asked"),
  ]);
  const again = await owner.answer("/approvals/allow", { id: first.approval.id }, touch);
  expect([again.status, await again.text()]).toEqual([403, expect.stringContaining("has been answered")]);
});

test("who asked in words that look like a signature makes nothing look signed, and hides none", async () => {
  await using host = await testServer({ service: { passkey_for: ["leases"] } });
  const words = "look passkey=AAAA token=eve";
  const { approval } = await wish(host.service, words);
  expect((await host.call("/approvals/allow", post({ id: approval.id }))).status).toBe(200);
  await expect(verified(host.service, approval.id)).rejects.toThrow("allowed with a passkey");
});

test("a lease is allowed with a touch, for exactly what was asked", async () => {
  await using host = await testServer({ service: { passkey_for: ["leases"] } });
  const owner = await holder(host.server.url, TOKEN);
  const token = await addToken(tokenStore(configFiles(host.configDir), silentLog), {
    ...{ name: "agent", scope: ["read", "screen"] },
  });
  await host.service.refresh();
  const terms = { what: "enter orders", desktop: "session", minutes: 15 };
  const waiting = fetch(`${host.server.url}/leases/request`, {
    ...post(terms),
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
  });
  const leases = await host.service.leases();
  while (leases.list().length === 0) await new Promise((resolve) => setImmediate(resolve));
  const id = leases.list()[0]?.id ?? "";
  const { origin } = owner;
  const touch = await owner.key.touch(await owner.asked("/leases/allow", { id, minutes: 5 }), { origin });
  expect((await owner.answer("/leases/allow", { id, minutes: 10 }, touch)).status).toBe(409);
  expect((await owner.call("/approvals/allow", post({ id }))).status).toBe(403);
  expect((await owner.signed("/leases/allow", { id, minutes: 5 })).status).toBe(200);
  expect(leases.show(id).minutes).toBe(5);
  const found = await verified(host.service, id);
  expect(found).toMatchObject({ ok: true, what: "lease.allow" });
  expect(JSON.parse(found.text ?? "")).toMatchObject({
    terms: { detail: expect.stringContaining("5 minutes") },
  });
  await (await waiting).text();
});

test("control is not taken as a screen is opened, where it needs a passkey", async () => {
  await using host = await testServer({ service: { passkey_for: ["control"] } });
  const refused = await host.call("/screen/ticket", post({ control: true }));
  expect([refused.status, await refused.text()]).toEqual([
    403,
    expect.stringContaining("needs a passkey here"),
  ]);
  expect((await host.call("/screen/ticket", post({}))).status).toBe(200);
});

test("the passkeys of a token are its own: another one sees and removes none of them", async () => {
  await using host = await testServer();
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const [bobs, eves] = [
    await addToken(store, { name: "bob", scope: ["operate"] }),
    await addToken(store, { name: "eve", scope: ["operate"] }),
  ];
  await host.service.refresh();
  const bob = await holder(host.server.url, bobs);
  const eve = await holder(host.server.url, eves);
  const listed = (await (await eve.call("/passkeys")).json()) as { passkeys: Array<{ holder: string }> };
  expect(listed.passkeys.map(({ holder }) => holder)).toEqual(["eve"]);
  expect((await eve.call("/passkeys/remove", post({ id: bob.key.id }))).status).toBe(404);
  expect((await host.call("/passkeys/remove", post({ id: bob.key.id }))).status).toBe(403);
  expect((await bob.signed("/passkeys/remove", { id: bob.key.id })).status).toBe(200);
  expect(rowsWith(host.configDir, "-> started passkeys.").map((row) => row.split(" ")[4])).toEqual([
    ...["passkeys.add", "passkeys.add", "passkeys.remove"],
  ]);
});

test("a plan for more hosts than the flag says is applied with a touch, and no broadcast goes round that", async () => {
  await using host = await testServer({ service: { passkey_for: ["plans:1"] } });
  const owner = await holder(host.server.url, TOKEN);
  const book = await host.service.addressBook();
  for (const label of ["a", "b"])
    await book.add({
      ...{ label, base_url: "https://127.0.0.1:1", tags: [] },
      token: "a-token-12345",
    } as never);
  const make = async (on: string) => {
    const made = await host.call("/plans/new", post({ actions: [["AC_log", ["hello"]]], on }));
    return (await made.json()) as { id: string; digest: string };
  };
  const one = await make("a");
  expect((await host.call(`/plans/${one.id}/apply`, post({ digest: one.digest }))).status).toBe(200);
  const { id, digest } = await make("all");
  const path = `/plans/${id}/apply`;
  expect((await host.call(path, post({ digest }))).status).toBe(403);
  const question = await owner.asked(path, { digest });
  expect(JSON.parse(question.text)).toMatchObject({
    ...{ what: "plan.apply", terms: { id, digest, hosts: 2, on: "all" } },
  });
  expect((await owner.signed(path, { digest })).status).toBe(200);
  const [row = ""] = rowsWith(
    host.configDir,
    `-> started plan.apply id=${id} digest=${digest} hosts=2 passkey=`,
  );
  expect(verifyYes(/ passkey=(\S+)$/.exec(row)?.[1] ?? "").statement.terms.digest).toBe(digest);
  expect(await verified(host.service, id)).toMatchObject({
    ok: true,
    what: "plan.apply",
    holder: null,
    credential: owner.key.id,
  });

  const broadcast = await host.call("/admin/broadcast", post({ actions: [["AC_log", ["x"]]], on: "all" }));
  expect([broadcast.status, await broadcast.text()]).toEqual([
    403,
    expect.stringContaining("2 hosts at once need a passkey here"),
  ]);
});
