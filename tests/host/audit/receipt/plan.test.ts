/** Receipts of plans: the desk and its hosts in one file. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { localCaller } from "../../../../src/core/caller";
import { verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { hostIdOf } from "../../../../src/trust/identity";
import { digestOfPlan } from "../../../../src/wire/job/plan-digest";
import { type Envelope, envelopeText, sealed } from "../../../../src/wire/receipt/dsse";
import {
  PLAN_RECEIPT,
  type PlanStatement,
  statementOf as statement,
} from "../../../../src/wire/receipt/statement";
import { runActions, until } from "../../../support";
import { provenRun } from "./support";

setDefaultTimeout(60_000);

const PLAN = "7d3f0c52-0000-4000-8000-000000000000";
const CONTENT = "a".repeat(64);
const SPEC = { kind: "plan", on: "all" };

/** A plan that ran at one of two hosts, which is the desk itself; and the parts that a desk makes its receipt of. */
async function provenPlan() {
  const made = await provenRun();
  const { service, identity, key } = made;
  const host_id = hostIdOf(identity.publicKey);
  const base = localCaller(service, "api");
  const before = `plan=${PLAN} job=${PLAN} signed content=sha256:${CONTENT} `;
  const caller = { ...base, announce: (subject: string) => base.announce(`${before}${subject}`) };
  const hosts = [
    { label: "lab-01", identity: host_id },
    { label: "lab-02", identity: "b".repeat(32) },
  ];
  const digest = digestOfPlan(CONTENT, SPEC, hosts);
  const audit = await service.audit();
  const row = { event_type: "rest_api", host_id: null, viewer_id: null };
  await audit?.append({
    ...row,
    detail: `POST /plans/x/apply -> started plan.apply id=${PLAN} digest=${digest} hosts=2`,
  });
  const { run_id } = await runActions(service, [["AC_sleep", [0]]], {}, caller);
  await until("the row of its end", async () =>
    (await audit?.list({ limit: 1 }))?.[0]?.detail?.startsWith(`run=${run_id} ended`),
  );
  await made.cosign(1_790_000_120);
  const receipts = await service.receipts();
  const of = async (id: string) => receipts?.ofRun((await service.runs()).show(id), false);
  const [envelope, other, source] = [
    await of(run_id),
    await of(made.other.run_id),
    await receipts?.ofPlan({ id: PLAN, created: 0 }),
  ];
  const log_key = envelope && (JSON.parse(atob(envelope.payload)).predicate.log.key as string);
  if (!envelope || !other || !source || !log_key) throw new Error("no receipt");
  const common = { state: "ok", run_id: null, log_key: null, receipt_sha256: null, missing: null };
  const digestOf = (one: Envelope) => Bun.SHA256.hash(envelopeText(one), "hex");
  const { host, log, rows, heads } = source;
  const good: PlanStatement = statement(PLAN_RECEIPT, [{ name: "plan", digest: { sha256: digest } }], {
    ...{ host, log },
    plan: {
      ...{ id: PLAN, digest, content_sha256: CONTENT, spec: JSON.stringify(SPEC), state: "done" },
      ...{ made_by: null, applied_by: null },
    },
    witness: made.witness.vkey,
    targets: [
      { ...common, label: "lab-01", identity: host_id, run_id, log_key, receipt_sha256: digestOf(envelope) },
      { ...common, label: "lab-02", identity: "b".repeat(32), state: "unreachable", missing: "it is off" },
    ],
    ...{ rows, heads },
  });
  /** What whoever has the desk could make of it. */
  const verdict = (
    change: (statement: PlanStatement) => unknown = () => {},
    own: Envelope[] = [envelope],
  ) => {
    const changed = structuredClone(good);
    change(changed);
    const plan = sealed(changed, identity, host_id);
    const file = { kind: "svc plan receipt", version: 1, plan, hosts: own };
    return verifyReceipt(JSON.stringify(file), made.trust);
  };
  return { ...made, key, verdict, envelope, other, otherRun: made.other.run_id, digestOf };
}

test("the receipt of a plan has those of its hosts, and names the hosts without one", async () => {
  await using made = await provenPlan();
  const { ok, reason, plan, runs } = made.verdict();
  expect([ok, reason]).toEqual([true, null]);
  expect(plan).toMatchObject({ id: PLAN, hosts: 2, missing: [{ label: "lab-02", why: "it is off" }] });
  expect(runs).toMatchObject([{ label: "lab-01", run: { status: "ok", plan: { id: PLAN, signed: true } } }]);
});

test("that of which something was left out or exchanged is refused", async () => {
  await using made = await provenPlan();
  const { verdict, other, envelope, digestOf, otherRun } = made;
  const first = ({ predicate }: PlanStatement) => predicate.targets[0] ?? {};
  const refused = {
    "the receipt of a host": verdict(() => {}, []),
    "a host": verdict(({ predicate }) => predicate.targets.pop()),
    "a limit": verdict(({ predicate }) => Object.assign(predicate.plan, { spec: "{}" })),
    "the digest": verdict(({ predicate }) => Object.assign(predicate.plan, { digest: "0".repeat(64) })),
    "the subject": verdict(({ subject }) =>
      Object.assign(subject[0]?.digest ?? {}, { sha256: "0".repeat(64) }),
    ),
    "the row by which it was applied": verdict(({ predicate }) => {
      const own = predicate.rows.filter(({ detail }) => !detail?.includes("plan.apply"));
      predicate.rows = own.length > 0 ? own : predicate.rows.map((row) => ({ ...row, index: row.index + 1 }));
    }),
    "the plan": verdict(({ predicate }) => Object.assign(predicate.plan, { id: "another" })),
    "a receipt twice": verdict(() => {}, [envelope, other]),
    "the run of another plan": verdict(
      (one) => Object.assign(first(one), { receipt_sha256: digestOf(other), run_id: otherRun }),
      [other],
    ),
    "another run": verdict((one) => Object.assign(first(one), { run_id: otherRun })),
  };
  const accepted = Object.entries(refused).filter(([, { ok }]) => ok);
  expect(accepted).toEqual([]);
});
