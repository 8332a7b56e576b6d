/** Receipts of runs: what one shows, and that none that was tampered with is accepted. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { runProof } from "../../../../src/host/audit/receipt/operations";
import { verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { rowHash } from "../../../../src/host/audit/row";
import { notFound } from "../../../../src/lib/errors";
import { hostIdOf } from "../../../../src/trust/identity";
import { type Envelope, envelopeText } from "../../../../src/wire/receipt/dsse";
import { digestOfOutcomes, hmacOfParameters } from "../../../../src/wire/receipt/run-record";
import type { RunStatement } from "../../../../src/wire/receipt/statement";
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
import { type ProvenRun, provenRun, resealed, SEEN, seenAfter, statementOf } from "./support";

let made: ProvenRun;
let stranger: ProvenRun;

beforeAll(async () => {
  [made, stranger] = await Promise.all([provenRun(), provenRun({ site: "Paris" })]);
});
afterAll(async () => {
  await made[Symbol.asyncDispose]();
  await stranger[Symbol.asyncDispose]();
});

/** Whether it is accepted; a file that is no receipt is not. */
function verdict(text: string, trust = made.trust): string {
  try {
    const { ok, reason } = verifyReceipt(text, trust);
    return ok ? "accepted" : `refused: ${reason}`;
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : error}`;
  }
}

describe("a receipt", () => {
  test("says what was run, for whom, how it ended, and between which times", () => {
    const { ok, runs, plan } = verifyReceipt(made.text, {
      ...made.trust,
      parameters: { site: "Berlin" },
    });
    expect([ok, plan]).toEqual([true, null]);
    const [found] = runs;
    expect(found).toMatchObject({
      host_id: hostIdOf(made.identity.publicKey),
      parameters: true,
      run: {
        ...{ id: made.report.run_id, status: "ok", plan: null, trace_sha256: null, allowed: [] },
        asked_by: { surface: "api", client: null, token: null, agent: null },
        commands: ["AC_audit_log_status", "AC_config_export"],
      },
      window: { after: seenAfter(0), before: seenAfter(60) },
      ...{ content_shown: null, yes_in_time: null },
      witnesses: [{ name: "svc.witness/desk", asked: true }],
    });
    // Its begin, what it changed, and its end.
    expect(found?.rows).toBe(4);
  });

  test("has the digest of the outcomes that `svc runs show` prints", async () => {
    const { outcomes } = (await made.service.runs()).show(made.report.run_id);
    const { run, ...predicate } = statementOf(made.envelope).predicate;
    expect(run.outcomes).toEqual({ count: 3, sha256: digestOfOutcomes(outcomes) });
    expect(predicate.rows.every(({ detail }) => !detail?.includes("Berlin"))).toBe(true);
  });

  test("without a key of the parameters cannot say what they were", async () => {
    const closed = await (await made.service.receipts())?.ofRun(made.run, false);
    const text = envelopeText(closed as Envelope);
    expect(verdict(text)).toBe("accepted");
    expect(() => verifyReceipt(text, { ...made.trust, parameters: { site: "Berlin" } })).toThrow(
      "`svc runs proof --parameters`",
    );
  });

  test("of a run without parameters says that there were none", async () => {
    await using bare = await provenRun({});
    const of = (parameters: Record<string, unknown>) =>
      verifyReceipt(bare.text, { ...bare.trust, parameters });
    expect(of({})).toMatchObject({ ok: true, runs: [{ parameters: true }] });
    expect(of({ site: "Berlin" })).toMatchObject({ ok: false, reason: "the run had no parameters" });
  });

  test("is good without a head before for whoever asks no witness, but not with a proof from nothing", () => {
    const trust = { ...made.trust, witnesses: [] };
    const without = (consistency: string[]) =>
      byHost(({ predicate }) => void Object.assign(predicate.heads, { before: null, consistency }));
    expect(verdict(without([]), trust)).toBe("accepted");
    const { consistency } = statementOf(made.envelope).predicate.heads;
    expect(consistency).not.toEqual([]);
    expect(verdict(without(consistency), trust)).toContain("did not go on");
  });

  test("is made by the first characters of the id, also of a run that another process has made", async () => {
    const { run_id } = made.report;
    const { service, caller } = made;
    const asked = async (short: string) => {
      const elsewhere = {
        receipts: () => service.receipts(),
        history: () => service.history(),
        runs: async () => ({
          show(): never {
            throw notFound("not of this process");
          },
        }),
      };
      return runProof.run(elsewhere, { run_id: short, parameters: false }, caller);
    };
    expect(await asked(run_id.slice(0, 8))).toMatchObject({ payloadType: expect.any(String) });
    expect(asked(run_id.slice(0, 8).replace(/.$/, "x"))).rejects.toThrow("has no rows of run");
  });

  test("is not made of a run that has no end on record", async () => {
    const audit = await made.service.audit();
    const id = crypto.randomUUID();
    await audit?.append({
      ...{ event_type: "api", host_id: null, viewer_id: null },
      detail: `run=${id} commands=AC_sleep args=sha256:${"0".repeat(64)}`,
    });
    const receipts = await made.service.receipts();
    const of = (run_id: string) => receipts?.ofRun({ run_id, started_at: "" }, false);
    expect(of(id)).rejects.toThrow("has no row of its end");
    expect(of(crypto.randomUUID())).rejects.toThrow("has no rows of run");
  });
});

type Change = (statement: RunStatement) => unknown;

/** The statement after `change`, signed by the host itself: whoever has taken it over can do that. */
function byHost(change: Change): string {
  const statement = statementOf(made.envelope);
  return resealed(change(statement) ?? statement, made.identity);
}

const text = (change: (text: string) => string) => () => change(made.text);
const row = (statement: RunStatement, nth: number) => {
  const found = statement.predicate.rows.at(nth);
  if (!found) throw new Error(`no row ${nth}`);
  return found;
};
/** A row that says something else, with the hash of that. */
function edited(statement: RunStatement, nth: number, change: (detail: string) => string): void {
  const one = row(statement, nth);
  one.detail = change(one.detail ?? "");
  one.row_hash = rowHash(one.prev_hash, one.ts, one);
}
/** The last row with another time, and the hash of that. */
function dated(statement: RunStatement, ts: string): void {
  const one = row(statement, -1);
  one.ts = ts;
  one.row_hash = rowHash(one.prev_hash, one.ts, one);
}
const ZEROS = "0".repeat(64);
const ONES = "1".repeat(64);
const ofStranger = () => statementOf(stranger.envelope).predicate;

/** Each way to tamper, and a part of the reason why it is refused. */
const WAYS: Record<string, readonly [make: () => string | Promise<string>, why: string]> = {
  "another digest of the script": [
    () => byHost(({ predicate }) => void Object.assign(predicate.run, { script_sha256: ZEROS })),
    "claims something else",
  ],
  "another digest of the script, in the row too": [
    () =>
      byHost((statement) => {
        edited(statement, 0, (detail) => detail.replace(/args=sha256:[0-9a-f]+/, `args=sha256:${ZEROS}`));
        statement.predicate.run.script_sha256 = ZEROS;
      }),
    "not in the tree",
  ],
  "other parameters": [
    () => byHost(({ predicate }) => void Object.assign(predicate.run, { parameters_hmac: ZEROS })),
    "claims something else",
  ],
  "no digest of the parameters": [
    () => byHost(({ predicate }) => void Object.assign(predicate.run, { parameters_hmac: null })),
    "claims something else",
  ],
  "another key of the parameters, and their digest": [
    () =>
      byHost(({ predicate }) => {
        predicate.parameters_key = ONES;
        predicate.run.parameters_hmac = hmacOfParameters(ONES, { site: "Berlin" });
      }),
    "claims something else",
  ],
  "another key of the parameters, and their digest in the row too": [
    () =>
      byHost((statement) => {
        const hmac = hmacOfParameters(ONES, { site: "Berlin" });
        edited(statement, 0, (detail) => detail.replace(/hmac:[0-9a-f]{64}/, `hmac:${hmac}`));
        statement.predicate.parameters_key = ONES;
        statement.predicate.run.parameters_hmac = hmac;
      }),
    "not in the tree",
  ],
  "another outcome": [
    () => byHost(({ predicate }) => void Object.assign(predicate.run.outcomes, { sha256: ZEROS })),
    "claims something else",
  ],
  "a failure that ended well": [
    () =>
      byHost((statement) => edited(statement, -1, (detail) => detail.replace("status=ok", "status=error"))),
    "not in the tree",
  ],
  "another subject": [
    () => byHost(({ subject }) => void Object.assign(subject[1]?.digest ?? {}, { sha256: ZEROS })),
    "subjects",
  ],
  "another token that asked": [
    () => byHost(({ predicate }) => void Object.assign(predicate.run.asked_by, { token: "anna" })),
    "claims something else",
  ],
  "the rows of another run": [
    async () => {
      const other = statementOf((await made.otherReceipt()) as Envelope);
      return byHost((statement) => {
        statement.predicate.rows = other.predicate.rows;
        statement.predicate.heads = other.predicate.heads;
      });
    },
    "expected one row of the end",
  ],
  "a row of another run among its own": [
    async () => {
      const other = statementOf((await made.otherReceipt()) as Envelope);
      return byHost(({ predicate }) => void predicate.rows.unshift(row(other, 0)));
    },
    "a row of something else",
  ],
  "a row that was left out": [() => byHost(({ predicate }) => void predicate.rows.splice(1, 1)), "are shown"],
  "the first row left out": [() => byHost(({ predicate }) => void predicate.rows.shift()), "begin of run"],
  "the last row left out": [() => byHost(({ predicate }) => void predicate.rows.pop()), "row of the end"],
  "a row twice": [
    () =>
      byHost((statement) => void statement.predicate.rows.splice(1, 0, structuredClone(row(statement, 1)))),
    "not behind the one before",
  ],
  "rows in another order": [() => byHost(({ predicate }) => void predicate.rows.reverse()), "not behind"],
  "rows in another order, with their places exchanged": [
    () =>
      byHost((statement) => {
        const [one, other] = [row(statement, 1), row(statement, 2)];
        [one.index, other.index] = [other.index, one.index];
        statement.predicate.rows.splice(1, 2, other, one);
      }),
    "not in the tree",
  ],
  "a row that was edited without its hash": [
    () =>
      byHost(
        (statement) => void Object.assign(row(statement, 1), { detail: `${row(statement, 1).detail}!` }),
      ),
    "was edited",
  ],
  "a signature of another key": [
    () => resealed(statementOf(made.envelope), newKey()),
    "has not signed what is in it",
  ],
  "another key that says it is the host": [
    () => {
      const key = newKey();
      return resealed(
        (() => {
          const statement = statementOf(made.envelope);
          statement.predicate.host = { id: hostIdOf(key.publicKey), identity: key.publicKey };
          return statement;
        })(),
        key,
      );
    },
    "log of this host",
  ],
  "the id of the host with another key": [
    () => {
      const key = newKey();
      const statement = statementOf(made.envelope);
      statement.predicate.host.identity = key.publicKey;
      return resealed(statement, key);
    },
    "id of its host",
  ],
  "the receipt of another host": [() => stranger.text, "with another key than"],
  "the receipt of another host, with the key of this log": [
    () =>
      byHost((statement) => {
        statement.predicate = { ...ofStranger(), log: statement.predicate.log };
      }),
    "log of this host",
  ],
  "another key that says whose log it is": [
    () =>
      byHost(({ predicate }) => {
        const key = newKey();
        const said = ownerText(predicate.host.id);
        predicate.log.owner = noteOf(said, [signNote(said, logName(key.publicKey), key)]);
      }),
    "log of this host",
  ],
  "a hash in another spelling of the same": [
    () =>
      byHost((statement) => {
        const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const one = row(statement, 1);
        const [hash = ""] = one.inclusion;
        const last = letters[letters.indexOf(hash.charAt(42)) + 1];
        one.inclusion[0] = `${hash.slice(0, 42)}${last}=`;
      }),
    "hashes in base64",
  ],
  "heads of another log": [
    () => byHost(({ predicate }) => void Object.assign(predicate, { heads: ofStranger().heads })),
    "a head is of the log",
  ],
  "a head with another root": [
    () =>
      byHost(({ predicate }) => {
        const [origin, size, , ...rest] = predicate.heads.after.split("\n");
        predicate.heads.after = [origin, size, toBase64(new Uint8Array(32)), ...rest].join("\n");
      }),
    "is not that of this note",
  ],
  "a larger tree": [
    () =>
      byHost(({ predicate }) => {
        const [origin, size, ...rest] = predicate.heads.after.split("\n");
        predicate.heads.after = [origin, `${Number(size) + 1}`, ...rest].join("\n");
      }),
    "is not that of this note",
  ],
  "a forged signature of the witness": [
    () =>
      byHost(({ predicate }) => {
        const { text: said, signatures } = parseNote(predicate.heads.after);
        const own = noteOf(said, [signatures[0]?.line ?? ""]);
        const forged = newWitness("svc.witness/desk").cosign(own, SEEN + 60);
        const line = parseNote(forged).signatures.at(-1)?.line ?? "";
        predicate.heads.after = noteOf(said, [signatures[0]?.line ?? "", line]);
      }),
    "has not cosigned",
  ],
  "a false signature in the name of the witness": [
    () =>
      byHost(({ predicate }) => {
        predicate.heads.after = predicate.heads.after.replace(/.{8}\n$/, "AAAAAA==\n");
      }),
    "the signature of svc.witness/desk is not that of this note",
  ],
  "another time of the witness, with its signature": [
    () =>
      byHost(({ predicate }) => {
        // The name, the id of the key, the time and the signature.
        const { text: said, signatures } = parseNote(predicate.heads.after);
        const [own = "", seen = ""] = signatures.map(({ line }) => line);
        const [dash, name, blob = ""] = seen.split(" ");
        const bytes = Buffer.from(blob, "base64");
        bytes.writeBigUInt64BE(bytes.readBigUInt64BE(4) - 86_400n, 4);
        predicate.heads.after = noteOf(said, [own, `${dash} ${name} ${toBase64(bytes)}\n`]);
      }),
    "the signature of svc.witness/desk is not that of this note",
  ],
  "no signature of the witness": [
    () =>
      byHost(({ predicate }) => {
        const { text: said, signatures } = parseNote(predicate.heads.before ?? "");
        predicate.heads.before = noteOf(said, [signatures[0]?.line ?? ""]);
      }),
    "has not cosigned",
  ],
  "a head that the log has not signed": [
    () =>
      byHost(({ predicate }) => {
        const { text: said, signatures } = parseNote(predicate.heads.after);
        predicate.heads.after = noteOf(said, [signatures[1]?.line ?? ""]);
      }),
    "has not signed one of the heads",
  ],
  "no head before": [
    () =>
      byHost(({ predicate }) => {
        predicate.heads.before = null;
        predicate.heads.consistency = [];
      }),
    "no head from before",
  ],
  "the head before as the head after, which is too old": [
    () =>
      byHost(({ predicate }) => void Object.assign(predicate.heads, { after: predicate.heads.before ?? "" })),
    "did not go on",
  ],
  "the head before as both heads": [
    () =>
      byHost(({ predicate }) => {
        predicate.heads.after = predicate.heads.before ?? "";
        predicate.heads.consistency = [];
      }),
    "not in the tree",
  ],
  "the head after as both heads": [
    () =>
      byHost(({ predicate }) => {
        predicate.heads.before = predicate.heads.after;
        predicate.heads.consistency = [];
      }),
    "not behind the head before",
  ],
  "a truncated proof of the heads": [
    () => byHost(({ predicate }) => void predicate.heads.consistency.pop()),
    "did not go on",
  ],
  "a truncated proof of a row": [
    () => byHost((statement) => void row(statement, 1).inclusion.pop()),
    "not in the tree",
  ],
  "another payload type": [
    text((all) => all.replace("application/vnd.in-toto+json", "application/json")),
    "payload type",
  ],
  "another predicate type": [
    () => byHost((statement) => ({ ...statement, predicateType: "https://svc.host/run-receipt/v3" })),
    "receipt of a run",
  ],
  "the predicate type of one that was allowed with a passkey": [
    () => byHost((statement) => ({ ...statement, predicateType: "https://svc.host/run-receipt/v2" })),
    "another version",
  ],
  "a key that is there twice in the envelope": [
    text((all) => all.replace("{", '{"payloadType":"application/json",')),
    "repeated keys",
  ],
  "a key that is there twice in the statement": [
    () => {
      const payload = Buffer.from(made.envelope.payload, "base64").toString();
      const twice = payload.replace('"predicate":{', '"predicate":{"run":{},');
      return envelopeText({ ...made.envelope, payload: toBase64(Buffer.from(twice)) });
    },
    "repeated keys",
  ],
  "a field that nobody knows": [
    () => byHost((statement) => ({ ...statement, extra: 1 })),
    "receipt of a run",
  ],
  "a second signature": [
    () => {
      const [one] = made.envelope.signatures;
      return JSON.stringify({ ...made.envelope, signatures: [one, one] });
    },
    "expected a receipt",
  ],
  "no signature": [() => JSON.stringify({ ...made.envelope, signatures: [] }), "expected a receipt"],
  "no JSON": [() => "{", "expected a receipt"],
  "a payload with bytes that are no text": [
    () => {
      const bytes = Buffer.from(made.envelope.payload, "base64");
      bytes[bytes.indexOf('"name":"script"') + 8] = 0xff;
      return envelopeText({ ...made.envelope, payload: toBase64(bytes) });
    },
    "expected a receipt, as",
  ],
  "a payload in another spelling of the same base64": [
    text((all) => all.replace('"payload":"', '"payload":"\\n')),
    "expected a receipt, as",
  ],
  "a signature in another spelling of the same base64": [
    text((all) => all.replace('"sig":"', '"sig":"\\n')),
    "has not signed what is in it",
  ],
  "a payload with a letter more": [
    text((all) => all.replace(/"payload":"(.)/, '"payload":"A$1')),
    "expected a receipt, as",
  ],
  "a payload with a space more, which means the same": [
    () => {
      const payload = Buffer.from(made.envelope.payload, "base64").toString();
      return envelopeText({ ...made.envelope, payload: toBase64(Buffer.from(`${payload} `)) });
    },
    "has not signed what is in it",
  ],
  "a row of another year": [
    () => byHost((statement) => dated(statement, "2019-01-01T00:00:00.000000+00:00")),
    "not in the tree",
  ],
};

describe("a receipt that was tampered with is refused", () => {
  test("and the one that they are made of is good, as is its statement signed anew", () => {
    expect([verdict(made.text), verdict(byHost(() => undefined))]).toEqual(["accepted", "accepted"]);
    expect(Object.keys(WAYS).length).toBeGreaterThanOrEqual(16);
  });

  for (const [way, [make, why]] of Object.entries(WAYS)) {
    test(way, async () => {
      const found = verdict(await make());
      expect(found).toStartWith("refused: ");
      expect(found).toContain(why);
    });
  }

  test("as are parameters that it did not have, and keys that did not sign it", () => {
    expect(verdict(made.text, { ...made.trust, parameters: { site: "Paris" } } as never)).toContain(
      "had other parameters",
    );
    // Another key of theirs, which the host can sign, but their digest in the row is of the right one.
    const otherKey = byHost(({ predicate }) => void Object.assign(predicate, { parameters_key: ONES }));
    expect(verdict(otherKey, { ...made.trust, parameters: { site: "Berlin" } } as never)).toContain(
      "had other parameters",
    );
    expect(verdict(made.text, { ...made.trust, key: stranger.key })).toContain("with another key");
    const other = parseVerifierKey(newWitness("svc.witness/desk").vkey);
    expect(verdict(made.text, { ...made.trust, witnesses: [other] })).toContain("has not cosigned");
  });
});
