/** A host with a run, its receipt, and witnesses of its log. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { localCaller } from "../../../../src/core/caller";
import type { AuditLog } from "../../../../src/host/audit/log";
import { readAuditKey } from "../../../../src/host/audit/witness/key";
import { configFiles } from "../../../../src/lib/paths";
import { openSigningKey, type SigningKey } from "../../../../src/lib/signing-key";
import type { Service } from "../../../../src/service/service";
import { hostIdOf } from "../../../../src/trust/identity";
import { challengeOf, keptText, type Statement, statementText } from "../../../../src/trust/passkeys/yes";
import { type Envelope, envelopeText, sealed } from "../../../../src/wire/receipt/dsse";
import { statementIn } from "../../../../src/wire/receipt/file";
import type { RunStatement } from "../../../../src/wire/receipt/statement";
import { parseVerifierKey } from "../../../../src/wire/witness/signed-note";
import { runActions, testService, until } from "../../../support";
import { newWitness } from "../witness/support";

/** When the witness sees the log before the run, in seconds since 1970: rows have the time of the clock, which is not far from that. */
export const SEEN = Math.floor(Date.now() / 1_000);

/** That many seconds after {@link SEEN}, as a receipt has it. */
export const seenAfter = (seconds: number): string => new Date((SEEN + seconds) * 1_000).toISOString();

/** What a run changes and reads, without a desktop. */
export const ACTIONS = [["AC_audit_log_status"], ["AC_config_export"], ["AC_config_export"]];

type Witness = ReturnType<typeof newWitness>;

/** Has every head of the log from now on cosigned. */
async function cosign(service: Service, witness: Witness, time: number) {
  const own = await (await service.audit())?.witness();
  if (!own) throw new Error("no log");
  const { note } = await own.sign();
  await own.cosigned(witness.cosign(note, time), [witness.vkey]);
}

/** What is otherwise about a run. */
interface Given {
  /** When the witness sees the log before and after, in seconds from {@link SEEN}. */
  readonly seen?: readonly [before: number, after: number];
  /** Leaves rows before the run. @returns what stands in front of its own. */
  before?(audit: AuditLog, host: string): Promise<string>;
}

/** A run between two heads that a witness has cosigned. */
export async function provenRun(variables: Record<string, unknown> = { site: "Berlin" }, given: Given = {}) {
  const host = testService();
  const { service, configDir } = host;
  const files = configFiles(configDir);
  const witness = newWitness("svc.witness/desk");
  const audit = await service.audit();
  if (!audit) throw new Error("no log");
  const [seen, seenAgain] = given.seen ?? [0, 60];
  await audit.append({ event_type: "test", host_id: null, viewer_id: null, detail: "before" });
  await cosign(service, witness, SEEN + seen);
  const identity = openSigningKey(files.hostKey);
  const other = await runActions(service, [["AC_sleep", [0]]], { variables });
  const base = localCaller(service, "api");
  const front = (await given.before?.(audit, hostIdOf(identity.publicKey))) ?? "";
  const caller = { ...base, announce: (subject: string) => base.announce(`${front}${subject}`) };
  const report = await runActions(service, ACTIONS, { variables }, caller);
  await until("the row of its end", async () =>
    (await audit.list({ limit: 1 }))[0]?.detail?.startsWith(`run=${report.run_id} ended`),
  );
  await cosign(service, witness, SEEN + seenAgain);
  const receipts = await service.receipts();
  const run = (await service.runs()).show(report.run_id);
  const envelope = await receipts?.ofRun(run, true);
  const vkey = readAuditKey(files.auditKey)?.vkey;
  if (!receipts || !envelope || !vkey) throw new Error("no receipt");
  return {
    ...{ service, configDir, witness, report, other, envelope, run, audit, receipts, identity },
    text: envelopeText(envelope),
    key: parseVerifierKey(vkey),
    caller: base,
    trust: { key: parseVerifierKey(vkey), witnesses: [parseVerifierKey(witness.vkey)] },
    /** The receipt of another run of this host. */
    otherReceipt: async () => receipts.ofRun((await service.runs()).show(other.run_id), true),
    cosign: (time: number) => cosign(service, witness, time),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** What somebody is asked, but for what is the same for all. */
type Asked = Pick<Statement, "host" | "holder" | "expires" | "what" | "terms">;

/** The yes of a passkey that a page at `localhost` has asked for, as a row has it. */
export function yesOf(asked: Asked): string {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const rp_id = "localhost";
  const text = statementText({ svc: "passkey yes", version: 1, question: "q", rp_id, ...asked });
  const origin = `https://${rp_id}`;
  const client = Buffer.from(JSON.stringify({ type: "webauthn.get", challenge: challengeOf(text), origin }));
  const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest();
  const data = Buffer.concat([sha256(rp_id), Buffer.of(5), Buffer.alloc(4)]);
  const word = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  return keptText({
    ...{ credential: word(Buffer.alloc(16, 1)), text, client_data: word(client) },
    key: word(publicKey.export({ type: "spki", format: "der" })),
    authenticator_data: word(data),
    signature: word(sign(null, Buffer.concat([data, sha256(client)]), privateKey)),
  });
}

export type ProvenRun = Awaited<ReturnType<typeof provenRun>>;

/** The statement of a receipt, which may be changed. */
export const statementOf = (envelope: Envelope): RunStatement =>
  structuredClone(statementIn(envelope, "run"));

/** A receipt with another statement, signed by `key`. */
export const resealed = (statement: object, key: SigningKey, keyid = "test"): string =>
  envelopeText(sealed(statement, key, keyid));
