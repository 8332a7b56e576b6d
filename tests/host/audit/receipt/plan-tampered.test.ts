/** Receipts of plans that a desk which was taken over has made of a good one, with its own key, and that others have changed. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type ReceiptTrust, verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { rowHash } from "../../../../src/host/audit/row";
import { hostIdOf } from "../../../../src/trust/identity";
import { digestOfPlan } from "../../../../src/wire/job/plan-digest";
import { type Envelope, envelopeText, sealed } from "../../../../src/wire/receipt/dsse";
import type { PlanFile, PlanStatement } from "../../../../src/wire/receipt/statement";
import {
  logName,
  noteOf,
  ownerText,
  parseNote,
  parseVerifierKey,
  signNote,
  toBase64,
} from "../../../../src/wire/witness/signed-note";
import { newKey, newWitness } from "../witness/support";
import { type Change, PLAN, provenPlan } from "./plan-support";
import { SEEN, statementOf } from "./support";

setDefaultTimeout(60_000);

let made: Awaited<ReturnType<typeof provenPlan>>;
let stranger: Awaited<ReturnType<typeof provenPlan>>;
/** A witness of the log of the desk. */
const upper = newWitness("svc.witness/upper");

beforeAll(async () => {
  const decided = [`plan.pause id=${PLAN}`, `plan.resume id=${PLAN}`];
  [made, stranger] = await Promise.all([provenPlan({ decided, hasEnd: true }), provenPlan({ hasEnd: true })]);
});
afterAll(async () => {
  await made[Symbol.asyncDispose]();
  await stranger[Symbol.asyncDispose]();
});

/** The heads of the desk as that witness has seen them. */
function seen({ predicate: { heads } }: PlanStatement): void {
  heads.before = upper.cosign(heads.before ?? "", SEEN + 61);
  heads.after = upper.cosign(heads.after, SEEN + 121);
}

/** What the desk makes of it. */
const byDesk = (change: Change): string =>
  made.fileOf((statement) => {
    seen(statement);
    change(statement);
  });

/** What somebody makes of the file. */
function changed(change: (file: PlanFile) => object): string {
  return JSON.stringify(change(JSON.parse(byDesk(() => {}))));
}

/** With both witnesses: that of the desk, and the desk as that of its hosts. */
const trust = (): ReceiptTrust => ({
  ...made.trust,
  witnesses: [...made.trust.witnesses, parseVerifierKey(upper.vkey)],
});

function verdict(text: string): string {
  try {
    const { ok, reason } = verifyReceipt(text, trust());
    return ok ? "accepted" : `refused: ${reason}`;
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : error}`;
  }
}

const ZEROS = "0".repeat(64);
const row = ({ predicate: { rows } }: PlanStatement, nth: number) => {
  const found = rows.at(nth);
  if (!found) throw new Error(`no row ${nth}`);
  return found;
};
/** A row that says something else, with the hash of that. */
function edited(statement: PlanStatement, nth: number, change: (detail: string) => string): void {
  const one = row(statement, nth);
  one.detail = change(one.detail ?? "");
  one.row_hash = rowHash(one.prev_hash, one.ts, one);
}
const ofStranger = () => {
  const file: PlanFile = JSON.parse(stranger.fileOf(seen));
  return JSON.parse(textOf(file.plan)).predicate as PlanStatement["predicate"];
};
const textOf = ({ payload }: Envelope) => Buffer.from(payload, "base64").toString();
const withText = (envelope: Envelope, text: string): Envelope => ({
  ...envelope,
  payload: toBase64(Buffer.from(text)),
});
const resealed = (key: ReturnType<typeof newKey>, change: Change = () => {}) =>
  changed((file) => {
    const statement: PlanStatement = JSON.parse(textOf(file.plan));
    change(statement);
    return { ...file, plan: sealed(statement, key, "test") };
  });

/** Each way to tamper, and a part of the reason why it is refused. */
const WAYS: Record<string, readonly [make: () => string, why: string]> = {
  "a row that was edited without its hash": [
    () => byDesk((one) => Object.assign(row(one, 0), { detail: `${row(one, 0).detail}!` })),
    "was edited",
  ],
  "another token that applied it, in its row": [
    () =>
      byDesk((one) => {
        edited(one, 0, (detail) => `${detail} token=anna`);
        one.predicate.plan.applied_by = "anna";
      }),
    "not in the tree",
  ],
  "an end that was better, in its row and in the plan": [
    () => byDesk((one) => edited(one, -1, (detail) => detail.replace("state=done", "state=cancelled"))),
    "not in the tree",
  ],
  "another id of the plan, in its rows": [
    () =>
      byDesk((one) => {
        const id = PLAN.replace("7d3f", "0000");
        for (const [nth] of one.predicate.rows.entries())
          edited(one, nth, (detail) => detail.replaceAll(PLAN, id));
        one.predicate.plan.id = id;
      }),
    "not in the tree",
  ],
  "a decision that was left out": [() => byDesk((one) => one.predicate.rows.splice(1, 1)), "was left out"],
  "two decisions in each other's place": [
    () =>
      byDesk((one) => {
        const [first, second] = [row(one, 1), row(one, 2)];
        one.predicate.rows.splice(1, 2, second, first);
      }),
    "not behind the one before",
  ],
  "two decisions in each other's place, with their leaves exchanged": [
    () =>
      byDesk((one) => {
        const [first, second] = [row(one, 1), row(one, 2)];
        [first.index, second.index] = [second.index, first.index];
        one.predicate.rows.splice(1, 2, second, first);
      }),
    "not in the tree",
  ],
  "a row twice": [
    () => byDesk((one) => one.predicate.rows.splice(1, 0, structuredClone(row(one, 1)))),
    "not behind the one before",
  ],
  "a row of something else": [
    () =>
      byDesk((one) => {
        const { rows, heads } = statementOf(made.other).predicate;
        one.predicate.rows = rows;
        one.predicate.heads = heads;
        seen(one);
      }),
    "does not name the plan",
  ],
  "rows and heads of another desk": [
    () =>
      byDesk((one) => {
        const { rows, heads } = ofStranger();
        Object.assign(one.predicate, { rows, heads });
      }),
    "a head is of the log",
  ],
  "the log of another desk, in its name": [
    () =>
      byDesk((one) => {
        const { rows, heads, log } = ofStranger();
        Object.assign(one.predicate, { rows, heads, log });
      }),
    "with another key than",
  ],
  "another key that says whose log it is": [
    () =>
      byDesk(({ predicate }) => {
        const key = newKey();
        const said = ownerText(predicate.host.id);
        predicate.log.owner = noteOf(said, [signNote(said, logName(key.publicKey), key)]);
      }),
    "log of this host",
  ],
  "a signature of another key": [() => resealed(newKey()), "has not signed what is in it"],
  "another key that says it is the desk": [
    () => {
      const key = newKey();
      return resealed(key, ({ predicate }) => {
        predicate.host = { id: hostIdOf(key.publicKey), identity: key.publicKey };
      });
    },
    "log of this host",
  ],
  "the id of the desk with another key": [
    () => {
      const key = newKey();
      return resealed(key, ({ predicate }) => {
        predicate.host.identity = key.publicKey;
      });
    },
    "id of its host",
  ],
  "a head with another root": [
    () =>
      byDesk(({ predicate: { heads } }) => {
        const [origin, size, , ...rest] = heads.after.split("\n");
        heads.after = [origin, size, toBase64(new Uint8Array(32)), ...rest].join("\n");
      }),
    "is not that of this note",
  ],
  "no head before": [
    () => byDesk(({ predicate: { heads } }) => Object.assign(heads, { before: null, consistency: [] })),
    "no head from before",
  ],
  "a head that its witness has not seen": [
    () =>
      byDesk(({ predicate: { heads } }) => {
        const { text, signatures } = parseNote(heads.after);
        heads.after = noteOf(
          text,
          signatures.filter(({ name }) => name !== "svc.witness/upper").map(({ line }) => line),
        );
      }),
    "svc.witness/upper has not cosigned",
  ],
  "a false signature in the name of the witness": [
    () =>
      byDesk(({ predicate: { heads } }) => {
        heads.after = heads.after.replace(/.{8}\n$/, "AAAAAA==\n");
      }),
    "the signature of svc.witness/upper is not that of this note",
  ],
  "a truncated proof of the heads": [
    () => byDesk(({ predicate: { heads } }) => heads.consistency.pop()),
    "did not go on",
  ],
  "a truncated proof of a row": [() => byDesk((one) => row(one, 1).inclusion.pop()), "not in the tree"],
  "the head after as both heads": [
    () =>
      byDesk(({ predicate: { heads } }) => Object.assign(heads, { before: heads.after, consistency: [] })),
    "not behind the head before",
  ],
  "another host in the place of one": [
    () => byDesk(({ predicate }) => Object.assign(predicate.targets[1] ?? {}, { identity: "c".repeat(32) })),
    "the digest of the plan",
  ],
  "hosts in another order": [
    () => byDesk(({ predicate }) => predicate.targets.reverse()),
    "the digest of the plan",
  ],
  "another content": [
    () => byDesk(({ predicate }) => Object.assign(predicate.plan, { content_sha256: ZEROS })),
    "the digest of the plan",
  ],
  "another content, and the digest of that": [
    () =>
      byDesk(({ predicate, subject }) => {
        Object.assign(predicate.plan, { content_sha256: ZEROS, digest: digestOfChanged(predicate, ZEROS) });
        Object.assign(subject[0]?.digest ?? {}, { sha256: predicate.plan.digest });
      }),
    "no row of the desk says that the plan was applied",
  ],
  "a host whose receipt is kept back": [
    () =>
      changed((file) => {
        const statement: PlanStatement = JSON.parse(textOf(file.plan));
        const [first] = statement.predicate.targets;
        Object.assign(first ?? {}, {
          receipt_sha256: null,
          log_key: null,
          run_id: null,
          missing: "it is off",
        });
        return { ...file, hosts: [], plan: sealed(statement, made.identity, "test") };
      }),
    "something else became of it at its hosts",
  ],
  "the receipt of a host with a letter more": [
    () => changed((file) => ({ ...file, hosts: file.hosts.map((one) => withText(one, `${textOf(one)} `)) })),
    "was left out or changed",
  ],
  "another predicate type": [
    () => byDesk((one) => Object.assign(one, { predicateType: "https://svc.host/plan-receipt/v2" })),
    "receipt of a plan",
  ],
  "a field that nobody knows": [() => byDesk((one) => Object.assign(one, { extra: 1 })), "receipt of a plan"],
  "a field of a host that nobody knows": [
    () => byDesk(({ predicate }) => Object.assign(predicate.targets[0] ?? {}, { extra: 1 })),
    "receipt of a plan",
  ],
  "another payload type": [
    () => changed((file) => ({ ...file, plan: { ...file.plan, payloadType: "application/json" } })),
    "payload type",
  ],
  "a payload with a letter more": [
    () => changed((file) => ({ ...file, plan: { ...file.plan, payload: `A${file.plan.payload}` } })),
    "expected a receipt, as",
  ],
  "a payload with a space more, which means the same": [
    () => changed((file) => ({ ...file, plan: withText(file.plan, `${textOf(file.plan)} `) })),
    "has not signed what is in it",
  ],
  "a key that is there twice in the statement": [
    () =>
      changed((file) => {
        const twice = textOf(file.plan).replace('"predicate":{', '"predicate":{"witness":null,');
        return { ...file, plan: withText(file.plan, twice) };
      }),
    "repeated keys",
  ],
  "a key that is there twice in the file": [
    () => byDesk(() => {}).replace("{", '{"hosts":[],'),
    "repeated keys",
  ],
  "a file of another version": [() => changed((file) => ({ ...file, version: 2 })), "expected a receipt"],
  "no signature": [
    () => changed((file) => ({ ...file, plan: { ...file.plan, signatures: [] } })),
    "expected a receipt",
  ],
};

/** The digest of the plan with another content. */
const digestOfChanged = ({ plan, targets }: PlanStatement["predicate"], content: string) =>
  digestOfPlan(content, JSON.parse(plan.spec), targets);

describe("the receipt of a plan that was tampered with is refused", () => {
  test("and the one that they are made of is good", () => {
    expect(verdict(byDesk(() => {}))).toBe("accepted");
    expect(Object.keys(WAYS).length).toBeGreaterThanOrEqual(16);
    expect(envelopeText(made.envelope)).not.toBe(envelopeText(stranger.envelope));
  });

  for (const [way, [make, why]] of Object.entries(WAYS)) {
    test(way, () => {
      const found = verdict(make());
      expect(found).toStartWith("refused: ");
      expect(found).toContain(why);
    });
  }
});
