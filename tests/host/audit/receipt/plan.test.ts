/** Receipts of plans: the desk and its hosts in one file. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { localCaller } from "../../../../src/core/caller";
import { type ReceiptTrust, verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { hostIdOf } from "../../../../src/trust/identity";
import { digestOfPlan } from "../../../../src/wire/job/plan-digest";
import { type Envelope, envelopeText, sealed } from "../../../../src/wire/receipt/dsse";
import {
  PLAN_RECEIPT,
  type PlanStatement,
  statementOf as statement,
} from "../../../../src/wire/receipt/statement";
import { parseVerifierKey } from "../../../../src/wire/witness/signed-note";
import { runActions, until } from "../../../support";
import { newWitness } from "../witness/support";
import { provenRun, statementOf } from "./support";

setDefaultTimeout(60_000);

const PLAN = "7d3f0c52-0000-4000-8000-000000000000";
const CONTENT = "a".repeat(64);
const SPEC = { kind: "plan", on: "all" };

type Change = (statement: PlanStatement) => unknown;

/**
 * A plan that ran at one of two hosts, which is the desk itself; and the parts that a desk makes its receipt of.
 *
 * @param given.identity of the first host as the plan has it.
 */
async function provenPlan(given: { readonly identity?: string } = {}) {
  const made = await provenRun();
  const { service, identity, key } = made;
  const host_id = hostIdOf(identity.publicKey);
  const base = localCaller(service, "api");
  const before = `plan=${PLAN} job=${PLAN} signed content=sha256:${CONTENT} `;
  const caller = { ...base, announce: (subject: string) => base.announce(`${before}${subject}`) };
  const first = { label: "lab-01", identity: given.identity ?? host_id };
  const second = { label: "lab-02", identity: "b".repeat(32) };
  const hosts = [first, second];
  const digest = digestOfPlan(CONTENT, SPEC, hosts);
  const audit = await service.audit();
  const row = { event_type: "rest_api", host_id: null, viewer_id: null };
  await audit?.append({ ...row, detail: `POST /plans/new -> started plan.new id=${PLAN} on="all"` });
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
      { ...common, ...first, run_id, log_key, receipt_sha256: digestOf(envelope) },
      { ...common, ...second, state: "unreachable", missing: "it is off" },
    ],
    ...{ rows, heads },
  });
  /** What whoever has the desk could make of it. */
  const fileOf = (change: Change = () => {}, own: Envelope[] = [envelope]) => {
    const changed = structuredClone(good);
    change(changed);
    const plan = sealed(changed, identity, host_id);
    return JSON.stringify({ kind: "svc plan receipt", version: 1, plan, hosts: own });
  };
  const verdict = (change?: Change, own?: Envelope[], trust: ReceiptTrust = made.trust) =>
    verifyReceipt(fileOf(change, own), trust);
  /** Why it is refused; null where it is not. */
  const why = (...given: Parameters<typeof verdict>) => {
    try {
      return verdict(...given).reason;
    } catch (error) {
      return `${error instanceof Error ? error.message : error}`;
    }
  };
  return { ...made, key, verdict, why, fileOf, envelope, other, otherRun: made.other.run_id, digestOf };
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
  const { why, other, envelope, digestOf, otherRun } = made;
  const first = ({ predicate }: PlanStatement) => predicate.targets[0] ?? {};
  const zeros = "0".repeat(64);
  const strange = newWitness("svc.witness/desk").vkey;
  const refused: Record<string, readonly [found: string | null, expected: string]> = {
    "the receipt of a host": [why(() => {}, []), "the receipt of lab-01 was left out"],
    "the key of its log": [why((one) => Object.assign(first(one), { log_key: null })), "was left out"],
    "another key of its log": [
      why((one) => Object.assign(first(one), { log_key: strange })),
      "with another key than",
    ],
    "a host": [why(({ predicate }) => predicate.targets.pop()), "the digest of the plan"],
    "a limit": [
      why(({ predicate }) => Object.assign(predicate.plan, { spec: "{}" })),
      "the digest of the plan",
    ],
    "limits in another spelling": [
      why(({ predicate }) => Object.assign(predicate.plan, { spec: JSON.stringify(SPEC, null, 1) })),
      "the limits of the plan as JSON",
    ],
    "limits that are none": [
      why(({ predicate }) => Object.assign(predicate.plan, { spec: "[" })),
      "the limits of the plan as JSON",
    ],
    "the digest": [
      why(({ predicate }) => Object.assign(predicate.plan, { digest: zeros })),
      "the digest of the plan",
    ],
    "the subject": [
      why(({ subject }) => Object.assign(subject[0]?.digest ?? {}, { sha256: zeros })),
      "its subject is not the plan",
    ],
    "the row by which it was applied": [
      why(({ predicate }) => {
        predicate.rows = predicate.rows.filter(({ detail }) => !detail?.includes("plan.apply"));
      }),
      "no row of the desk says that the plan was applied",
    ],
    "a row of something else": [
      why(({ predicate }) => {
        const { rows, heads } = statementOf(other).predicate;
        predicate.rows.unshift(...rows);
        predicate.heads = heads;
      }),
      "does not name the plan",
    ],
    "the plan": [
      why(({ predicate }) => Object.assign(predicate.plan, { id: "another" })),
      "does not name the plan",
    ],
    "a receipt more": [why(() => {}, [envelope, other]), "a host that the plan did not have"],
    "the run of another plan": [
      why((one) => Object.assign(first(one), { receipt_sha256: digestOf(other), run_id: otherRun }), [other]),
      "of another host, run or plan",
    ],
    "another run": [
      why((one) => Object.assign(first(one), { run_id: otherRun })),
      "of another host, run or plan",
    ],
    "another witness": [
      why(({ predicate }) => Object.assign(predicate, { witness: strange })),
      "has not cosigned one of the heads",
    ],
  };
  const wrong = Object.entries(refused).filter(([, [found, expected]]) => !found?.includes(expected));
  expect(wrong).toEqual([]);
});

test("the receipt of another host in the place of one is refused", async () => {
  await using made = await provenPlan({ identity: "c".repeat(32) });
  expect(made.why()).toBe("the receipt of lab-01 is of another host, run or plan");
});

test("a plan is no run, and a run no plan", async () => {
  await using made = await provenPlan();
  const file = JSON.parse(made.fileOf());
  const verify = (one: unknown) => verifyReceipt(JSON.stringify(one), made.trust);
  expect(() => verify(file.plan)).toThrow("expected the receipt of a run");
  expect(() => verify({ ...file, plan: made.envelope })).toThrow("expected the receipt of a plan");
  expect(made.why(undefined, undefined, { ...made.trust, parameters: {} })).toContain(
    "parameters: expected with the receipt of one run",
  );
});

describe("a witness that is asked for", () => {
  test("and is the desk holds for the logs of the hosts, and no other log is said to be seen", async () => {
    await using made = await provenPlan();
    const { ok, plan, runs } = made.verdict();
    expect(ok).toBe(true);
    expect(runs).toMatchObject([{ witnesses: [{ name: "svc.witness/desk", asked: true }] }]);
    expect(plan).toMatchObject({ window: null, witnesses: [] });
  });

  test("and is another holds for the log of the desk, and the desk alone names who has seen the hosts", async () => {
    await using made = await provenPlan();
    const upper = newWitness("svc.witness/upper");
    const asked = { ...made.trust, witnesses: [parseVerifierKey(upper.vkey)] };
    expect(made.why(undefined, undefined, asked)).toBe("svc.witness/upper has not cosigned one of the heads");
    // The heads of the desk, which are its own to show.
    const { ok, plan, runs } = made.verdict(
      ({ predicate: { heads } }) =>
        Object.assign(heads, {
          before: upper.cosign(heads.before ?? "", 1_790_000_061),
          after: upper.cosign(heads.after, 1_790_000_121),
        }),
      undefined,
      asked,
    );
    expect(ok).toBe(true);
    expect(plan).toMatchObject({
      window: { after: "2026-09-21T14:14:21.000Z", before: "2026-09-21T14:15:21.000Z" },
      witnesses: [{ name: "svc.witness/upper", asked: true }],
    });
    expect(runs).toMatchObject([{ witnesses: [{ name: "svc.witness/desk", asked: false }] }]);
  });

  test("and is the desk is no proof of a plan without a receipt of a host", async () => {
    await using made = await provenPlan();
    const without: Change = ({ predicate }) =>
      Object.assign(predicate.targets[0] ?? {}, {
        receipt_sha256: null,
        log_key: null,
        missing: "it is off",
      });
    expect(made.why(without, [])).toContain("as there is no receipt of a host");
    expect(made.why(without, [], { ...made.trust, witnesses: [] })).toBe(null);
  });
});
