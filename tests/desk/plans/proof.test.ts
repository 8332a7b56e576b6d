/** The receipt of a plan, as a desk makes it of its ledger, its log and the receipts of its hosts. */
import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { cancelPlan, pausePlan } from "../../../src/desk/plans/operations/change";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { createRoom, planProof } from "../../../src/desk/plans/operations/proof";
import { applyPlan, resumePlan, retryPlan } from "../../../src/desk/plans/operations/run";
import { verifyReceipt } from "../../../src/host/audit/receipt/verify";
import { readAuditKey } from "../../../src/host/audit/witness/key";
import { configFiles } from "../../../src/lib/paths";
import { digestOf } from "../../../src/wire/job/envelope";
import { digestOfPlan } from "../../../src/wire/job/plan-digest";
import type { Envelope } from "../../../src/wire/receipt/dsse";
import { statementIn } from "../../../src/wire/receipt/file";
import type { PlanFile } from "../../../src/wire/receipt/statement";
import { parseVerifierKey } from "../../../src/wire/witness/signed-note";
import { post, runActions, TOKEN, testServer } from "../../support";
import { holder } from "../../trust/passkeys/support";
import { host } from "../fleet/support";

setDefaultTimeout(60_000);

const ACTIONS = [["AC_set_var", { name: "greeting", value: "hello" }]];
const SECRETS = { a: { pin: "4711" }, b: { pin: "1147" } };

/** A desk with two hosts. */
async function desk() {
  const here = await testServer();
  const hosts = { a: await testServer(), b: await testServer() };
  const { service, configDir } = here;
  const book = await service.addressBook();
  await book.addAll(
    Object.entries(hosts).map(([label, { server }]) => host(label, server.url)),
    false,
  );
  const caller = localCaller(service, "api");
  const files = configFiles(configDir);
  return {
    ...{ service, caller, book, hosts, files },
    async make(more: object = {}) {
      return callOperation(service, newPlan, { actions: ACTIONS, on: "all", ...more }, caller);
    },
    apply: (id: string, digest: string) =>
      callOperation(service, applyPlan, { id, digest, wait: true }, caller),
    proof: (id: string) => callOperation(service, planProof, { id }, caller),
    verify(file: PlanFile) {
      const key = parseVerifierKey(readAuditKey(files.auditKey)?.vkey ?? "");
      return verifyReceipt(JSON.stringify(file), { key, witnesses: [] });
    },
    async [Symbol.asyncDispose]() {
      for (const one of [here, ...Object.values(hosts)]) await one[Symbol.asyncDispose]();
    },
  };
}

const textOf = ({ payload }: Envelope) => Buffer.from(payload, "base64").toString();

describe("the receipt of a plan", () => {
  test("shows of each host that it ran what the plan was applied for, also with variables of its own", async () => {
    await using made = await desk();
    for (const more of [{}, { variables_by_host: SECRETS }]) {
      const { id, digest } = await made.make(more);
      await made.apply(id, digest);
      const file = await made.proof(id);
      const { ok, reason, plan, runs } = made.verify(file);
      expect([ok, reason]).toEqual([true, null]);
      expect(plan).toMatchObject({
        state: "done",
        missing: [],
        whole: true,
        decided: [{ what: "apply", surface: "api" }],
      });
      expect(runs.map(({ label, content_shown }) => [label, content_shown])).toEqual([
        ["a", true],
        ["b", true],
      ]);
    }
  });

  test("has its hosts as they were called when it was made", async () => {
    await using made = await desk();
    const { id, digest } = await made.make();
    await made.apply(id, digest);
    const plans = await made.service.plans();
    const renamed = made.book.hosts().find(({ label }) => label === "a");
    if (!renamed) throw new Error("no host");
    for (const [from, label] of [
      ["a", "c"],
      ["c", "d"],
    ] as const)
      plans.rename({ ...renamed, label }, from);
    expect(made.verify(await made.proof(id))).toMatchObject({
      ok: true,
      runs: [{ label: "a" }, { label: "b" }],
    });
  });

  test("tells of a host without a receipt nothing by which the values of its variables could be guessed", async () => {
    await using made = await desk();
    const { id, digest } = await made.make({ variables_by_host: SECRETS });
    await made.apply(id, digest);
    const { plan } = await made.proof(id);
    const { targets } = statementIn(plan, "plan").predicate;
    expect(targets.map(({ content }) => content?.key !== null)).toEqual([true, true]);
    await made.hosts.b[Symbol.asyncDispose]();
    const again = await made.proof(id);
    const [first, second] = statementIn(again.plan, "plan").predicate.targets;
    expect(first?.content?.key).toEqual(expect.any(String));
    expect(second?.content).toEqual({ commitment: targets[1]?.content?.commitment as string, key: null });
    expect(made.verify(again)).toMatchObject({ ok: true, plan: { missing: [{ label: "b" }] } });
    expect(textOf(again.plan)).not.toMatch(/4711|1147/);
  });

  test("of an earlier svc says whether the content is shown: it had no digest for each host", async () => {
    await using made = await desk();
    const shown = async (more: object) => {
      const { id, digest } = await made.make(more);
      asOfBefore(made.files.plans, id);
      const { service } = made;
      const { digest: former } = (await service.plans()).ledger.find(id);
      expect(former).not.toBe(digest);
      await made.apply(id, former);
      const { ok, reason, runs } = made.verify(await made.proof(id));
      expect([ok, reason]).toEqual([true, null]);
      return runs.map(({ content_shown }) => content_shown);
    };
    expect(await shown({})).toEqual([true, true]);
    expect(await shown({ variables_by_host: SECRETS })).toEqual([false, false]);
  });

  test("is refused where a desk that was taken over had one host run more, and says that its plan is of an earlier svc", async () => {
    await using made = await desk();
    const { id } = await made.make({ variables_by_host: SECRETS });
    asOfBefore(made.files.plans, id, (contents) => {
      contents.before[0] = "";
      return digestOf(contents.content);
    });
    const { digest } = (await made.service.plans()).ledger.find(id);
    await made.apply(id, digest);
    const { ok, reason } = made.verify(await made.proof(id));
    expect([ok, reason]).toEqual([false, "some hosts ran something else than the plan was applied for"]);
  });

  test("has each decision about it, also where somebody typed the beginning of its id, and its end", async () => {
    await using made = await desk();
    const { service, caller } = made;
    // Without it, who applies a plan waits for its end.
    await service.runJobs();
    const { id, digest } = await made.make({ waves: [1, "100%"], pause_s: 2 });
    const short = { id: id.slice(0, 8) };
    await callOperation(service, applyPlan, { id, digest }, caller);
    await callOperation(service, pausePlan, short, caller);
    await callOperation(service, resumePlan, short, caller);
    await callOperation(service, cancelPlan, short, caller);
    const plans = await service.plans();
    await plans.runner.over(plans.ledger.find(id).seq);
    await callOperation(service, retryPlan, { ...short, state: ["cancelled"], wait: true }, caller);
    const file = await made.proof(id);
    const { rows } = statementIn(file.plan, "plan").predicate;
    const verbs = rows.map(({ detail }) => /plan\.(\w+) id=(\S+)/.exec(detail ?? ""));
    expect(verbs.map((found) => found?.[1])).toEqual([
      ...["apply", "pause", "resume", "cancel", "retry"],
      undefined,
    ]);
    expect(new Set(verbs.flatMap((found) => found?.[2] ?? []))).toEqual(new Set([id]));
    expect(made.verify(file)).toMatchObject({ ok: true, plan: { state: "done", whole: true } });
  });

  test("has who applied it in a script, and who with a passkey", async () => {
    await using made = await desk();
    const { id, digest } = await made.make();
    await runActions(made.service, [["AC_plan_apply", { id, digest, wait: true }]]);
    expect(made.verify(await made.proof(id))).toMatchObject({
      ok: true,
      plan: { whole: true, decided: [{}] },
    });

    await using here = await testServer({ service: { passkey_for: ["plans:1"] } });
    const owner = await holder(here.server.url, TOKEN);
    await (await here.service.addressBook()).addAll([host("a"), host("b")], false);
    const plan = Object(await (await here.call("/plans/new", post({ actions: ACTIONS, on: "all" }))).json());
    const applied = await owner.signed(`/plans/${plan.id}/apply`, { digest: plan.digest, wait: true });
    expect(applied.status).toBe(200);
    const text = await (await here.call(`/plans/${plan.id}/proof`)).text();
    const key = parseVerifierKey(readAuditKey(configFiles(here.configDir).auditKey)?.vkey ?? "");
    const { ok, reason, plan: found } = verifyReceipt(text, { key, witnesses: [] });
    expect([ok, reason]).toEqual([true, null]);
    expect(found).toMatchObject({
      whole: true,
      missing: [{ label: "a" }, { label: "b" }],
      yes_in_time: false,
    });
    expect(found?.decided).toMatchObject([
      { what: "apply", surface: "rest_api", token: null, passkey: { credential: owner.key.id } },
    ]);
  });

  test("is made where a host answers with what is none, or is that of another run", async () => {
    await using made = await desk();
    const { service, caller, book, hosts } = made;
    const { id, digest } = await made.make();
    const other = await made.make();
    await made.apply(other.id, other.digest);
    await made.apply(id, digest);
    const [otherRun] = (await hosts.b.service.runs()).list().toReversed();
    const strange = await (await hosts.b.service.receipts())?.ofRun(
      { run_id: otherRun?.run_id ?? "", started_at: "" },
      false,
    );
    const answers = [
      [{ payloadType: "text/plain", payload: "e30=", signatures: [{ keyid: "x", sig: "x" }] }, "no receipt"],
      [{ ...strange, signatures: [{ keyid: "x", sig: "x" }] }, "its receipt proves nothing: "],
      [strange, "its receipt proves nothing: the receipt of b is of another host, run or plan"],
      // Among the values of the answer it is one.
      [{ ...strange, payload: btoa(`[${"[],".repeat(400_000)}0]`) }, "no receipt"],
    ] as const;
    for (const [answer, why] of answers) {
      using server = Bun.serve({ port: 0, fetch: () => Response.json(answer) });
      const addressBook = async () => ({
        hosts: () => book.hosts(),
        reach: (one: Parameters<typeof book.reach>[0]) =>
          one.label === "b" ? { ...book.reach(one), url: server.url.href.slice(0, -1) } : book.reach(one),
      });
      const uses = {
        addressBook,
        existingPlans: service.existingPlans,
        receipts: service.receipts,
        existingWitness: service.existingWitness,
      };
      const file = await planProof.run(uses, { id }, caller);
      const { ok, plan, runs } = made.verify(file as PlanFile);
      expect([ok, runs.map(({ label }) => label)]).toEqual([true, ["a"]]);
      expect(plan?.missing[0]?.why).toContain(why);
    }
  });
});

test("a receipt so large that there is no room for those of others is left out itself", () => {
  const of = (size: number) => ({
    envelope: {
      payloadType: "t",
      payload: "a".repeat(size),
      signatures: [{ keyid: "", sig: "" }],
    } as Envelope,
    log_key: "",
  });
  const [small, large] = [of(100), of(5_000)];
  const room = createRoom(1_000);
  for (const [nth, one] of [small, large, small, large, small].entries()) room.put(nth, one);
  expect([0, 1, 2, 3, 4].map((nth) => room.at(nth) === small)).toEqual([true, false, true, false, true]);
});

interface Contents {
  readonly content: string;
  readonly before: string[];
}

/**
 * Makes a plan one that an svc of before has made: with the digest of the text of its contents, and no word about them.
 *
 * @param change what else somebody makes of what its hosts run. @returns the digest that the plan has for it.
 */
function asOfBefore(path: string, id: string, change?: (contents: Contents) => string): void {
  using db = new Database(path);
  const row = db
    .query<{ seq: number; spec: string; content: string }, [string]>(
      "SELECT seq, spec, content FROM plan WHERE id = ?1",
    )
    .get(id);
  if (!row) throw new Error("no plan");
  const { contents: _, ...spec } = JSON.parse(row.spec);
  const { key: __, ...read } = JSON.parse(row.content);
  const changed = change?.(read);
  const content = JSON.stringify(read);
  const hosts = db
    .query<{ label: string; identity: string }, [number]>(
      "SELECT label, identity FROM target WHERE plan = ?1 ORDER BY n",
    )
    .all(row.seq);
  const contentDigest = changed ?? digestOf(content);
  const digest = digestOfPlan(contentDigest, spec, hosts);
  db.run("UPDATE plan SET spec = ?2, content = ?3, content_digest = ?4, digest = ?5 WHERE seq = ?1", [
    ...[row.seq, JSON.stringify(spec), content, contentDigest, digest],
  ]);
}
