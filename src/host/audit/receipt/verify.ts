/**
 * Verifying receipts, without the host and without a network.
 *
 * The promise: what is said to be good was in the log of that host when the witnesses saw it, and is all that the run left there up to
 * its end. Every signature, proof and claim is computed anew. A host that somebody had taken over can have recorded what never happened;
 * it cannot have recorded it later.
 */
import { badInput, Failure, rejected } from "../../../lib/errors";
import { hostIdOf } from "../../../trust/identity";
import { digestOfPlan } from "../../../wire/job/plan-digest";
import {
  type Envelope,
  envelopeText,
  parseReceipt,
  requireSigned,
  statementIn,
} from "../../../wire/receipt/file";
import { hmacOfParameters } from "../../../wire/receipt/run-record";
import {
  type PlanStatement,
  type ProvenRow,
  type ReceiptSource,
  type RunStatement,
  runReceiptOf,
} from "../../../wire/receipt/statement";
import { type Checkpoint, parseCheckpoint, parseHash } from "../../../wire/witness/checkpoint";
import { type Hash, isConsistent, isIncluded } from "../../../wire/witness/merkle";
import {
  ownerText,
  parseNote,
  parseVerifierKey,
  type VerifierKey,
  verifiedBy,
} from "../../../wire/witness/signed-note";
import { rowHash } from "../row";
import { leafOf } from "../witness/tree";
import { claimsOf } from "./claims";
import type { ReceiptResult, Sight, VerifiedRun } from "./result";
import { subjectsOf } from "./subjects";

/** What whoever verifies a receipt trusts. */
export interface ReceiptTrust {
  /** The key of the log: of the host, or for a plan of the desk. */
  readonly key: VerifierKey;
  /**
   * Each of them must have cosigned both heads. For a plan, those of the log of the desk; but the desk as a witness has to have cosigned
   * those of its hosts, as no log is witnessed by its own machine.
   */
  readonly witnesses: readonly VerifierKey[];
  /** What the parameters of the run are said to have been; undefined where nobody looks. */
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

/** What is trusted of one of the logs in a receipt. */
interface LogTrust extends ReceiptTrust {
  /** Whether whoever made the receipt has named the witnesses, and nobody else: default false. */
  readonly isNamed?: boolean;
}

/** A head that its log has signed. */
interface Head extends Checkpoint {
  /** The witnesses that have cosigned it, and when, in seconds since 1970. */
  readonly seen: ReadonlyArray<{ readonly name: string; readonly time: number }>;
}

/**
 * What the receipt in `text` shows to whoever trusts these keys.
 *
 * @throws a `bad_input` failure for what is no receipt.
 */
export function verifyReceipt(text: string, trust: ReceiptTrust): ReceiptResult {
  const read = parseReceipt(text);
  const origin = trust.key.name;
  try {
    if (!("plan" in read))
      return { ok: true, reason: null, origin, plan: null, runs: [verifyRun(read, trust, null)] };
    if (trust.parameters) throw badInput("parameters: expected with the receipt of one run");
    return { ok: true, reason: null, origin, ...verifyPlan(read.plan, read.hosts, trust) };
  } catch (error) {
    if (error instanceof Failure && error.code === "rejected")
      return { ok: false, reason: error.message, origin, plan: null, runs: [] };
    throw error;
  }
}

function verifyRun(envelope: Envelope, trust: LogTrust, label: string | null): VerifiedRun {
  const { subject, predicate, predicateType }: RunStatement = statementIn(envelope, "run");
  const { before, after } = verifySource(envelope, predicate, trust);
  const claims = claimsOf(predicate.run.id, predicate.rows);
  if (!isSame(claims, predicate.run)) throw rejected("it claims something else than the rows of the run say");
  if (predicateType !== runReceiptOf(claims))
    throw rejected("it is of another version than what was allowed with a passkey has");
  if (!isSame(subject, subjectsOf(claims)))
    throw rejected("its subjects are not what the rows of the run say");
  requireYesHere(claims, predicate.host.id);
  const parameters = checkParameters(predicate, trust.parameters);
  return {
    ...{ label, run: claims, host_id: predicate.host.id, rows: predicate.rows.length, parameters },
    ...sightOf(before, after, trust),
  };
}

/** @throws `rejected` where somebody has signed a yes to another host than that of the log. */
export function requireYesHere({ allowed }: RunStatement["predicate"]["run"], host: string): void {
  for (const { id, passkey } of allowed) {
    if (passkey && Object(JSON.parse(passkey.text)).host !== `urn:svc:host:${host}`)
      throw rejected(`the yes to ${id} was given to another host`);
  }
}

/** Whether the parameters are those of the run; null where nobody has asked. @throws `rejected` where they are not. */
function checkParameters(
  { run, parameters_key }: RunStatement["predicate"],
  given: ReceiptTrust["parameters"],
): boolean | null {
  if (given === undefined) return null;
  if (run.parameters_hmac === null) {
    if (Object.keys(given).length === 0) return true;
    throw rejected("the run had no parameters");
  }
  if (parameters_key === null)
    throw badInput("parameters: expected a receipt that `svc runs proof --parameters` has written");
  if (hmacOfParameters(parameters_key, given) === run.parameters_hmac) return true;
  throw rejected("the run had other parameters");
}

/** Verifies all of a receipt that is not what it says of the run: signatures, heads, rows. @throws a `rejected` failure. */
function verifySource(
  envelope: Envelope,
  { host, log, rows, heads }: ReceiptSource,
  { key, witnesses }: LogTrust,
): { before: Head | null; after: Head } {
  if (!isSame(parseVerifierKey(log.key, "file"), key))
    throw rejected(
      `it is of the log ${parseVerifierKey(log.key, "file").name}, with another key than ${key.name}`,
    );
  if (hostIdOf(host.identity) !== host.id) throw rejected("the id of its host is not that of its key");
  const owner = parseNote(log.owner);
  if (owner.text !== ownerText(host.id) || !verifiedBy(owner, key))
    throw rejected("the key of the log has not signed that it is the log of this host");
  requireSigned(envelope, host.identity);
  const after = headIn(heads.after, key, witnesses);
  const before = heads.before === null ? null : headIn(heads.before, key, witnesses);
  if (before === null && witnesses.length > 0)
    throw rejected("it has no head from before the run, which a witness could have seen");
  const proof = heads.consistency.map(hashIn);
  const isOne = before
    ? isConsistent(before.size, before.root, after.size, after.root, proof)
    : proof.length === 0;
  if (!isOne) throw rejected("the log did not go on from the head before to the head after");
  verifyRows(rows, before?.size ?? 0, after);
  return { before, after };
}

function headIn(text: string, key: VerifierKey, witnesses: readonly VerifierKey[]): Head {
  const note = parseNote(text);
  const checkpoint = parseCheckpoint(note.text);
  if (checkpoint.origin !== key.name) throw rejected(`a head is of the log ${checkpoint.origin}`);
  if (!verifiedBy(note, key)) throw rejected(`${key.name} has not signed one of the heads`);
  const seen = witnesses.map((witness) => {
    const by = verifiedBy(note, witness);
    if (!by) throw rejected(`${witness.name} has not cosigned one of the heads`);
    return { name: by.name, time: by.time ?? 0 };
  });
  return { ...checkpoint, seen };
}

function verifyRows(rows: readonly ProvenRow[], from: number, after: Head): void {
  let last = from - 1;
  for (const { index, inclusion, ...row } of rows) {
    if (index <= last)
      throw rejected(`leaf ${index} is not behind the one before, or not behind the head before`);
    last = index;
    if (rowHash(row.prev_hash, row.ts, row) !== row.row_hash)
      throw rejected(`the row of leaf ${index} was edited: the hash is not that of its content`);
    if (!isIncluded(leafOf(row.row_hash), index, after.size, after.root, inclusion.map(hashIn)))
      throw rejected(`the row of leaf ${index} is not in the tree of the head after`);
  }
}

function hashIn(text: string): Hash {
  const hash = parseHash(text);
  if (!hash) throw badInput("file: expected hashes in base64");
  return hash;
}

/** Who has seen the rows, and between which times they came by the clocks of the witnesses: null where none is asked. */
function sightOf(before: Head | null, after: Head, { isNamed = false }: LogTrust): Sight {
  const early = (before?.seen ?? []).map(({ time }) => time);
  const late = after.seen.map(({ time }) => time);
  const isSeen = early.length > 0 && late.length > 0;
  return {
    window: isSeen ? { after: isoOf(Math.min(...early)), before: isoOf(Math.max(...late)) } : null,
    witnesses: after.seen.map(({ name, time }) => ({ name, time: isoOf(time), asked: !isNamed })),
  };
}

const isoOf = (seconds: number) => new Date(seconds * 1_000).toISOString();

const isSame = (one: unknown, other: unknown) => Bun.deepEquals(one, other, true);

/** The receipt of a plan, and those of its hosts. */
function verifyPlan(envelope: Envelope, hosts: readonly Envelope[], trust: ReceiptTrust) {
  const { subject, predicate }: PlanStatement = statementIn(envelope, "plan");
  const { plan, targets, witness } = predicate;
  const desk = witness === null ? undefined : parseVerifierKey(witness, "file");
  const isDesk = (one: VerifierKey) => desk !== undefined && isSame(one, desk);
  const own = { ...trust, witnesses: trust.witnesses.filter((one) => !isDesk(one)) };
  const { before, after } = verifySource(envelope, predicate, own);
  if (digestOfPlan(plan.content_sha256, specIn(plan.spec), targets) !== plan.digest)
    throw rejected("the digest of the plan is not that of its content, its limits and its hosts");
  const names = predicate.rows.map(({ detail }) => detail ?? "");
  if (!names.every((detail) => detail.includes(plan.id)))
    throw rejected("one of the rows of the desk does not name the plan");
  if (!names.some((detail) => detail.includes(`plan.apply id=${plan.id} digest=${plan.digest} `)))
    throw rejected("no row of the desk says that the plan was applied by its digest");
  if (!isSame(subject, [{ name: "plan", digest: { sha256: plan.digest } }]))
    throw rejected("its subject is not the plan");
  const left = new Map(hosts.map((one) => [Bun.SHA256.hash(envelopeText(one), "hex"), one]));
  const byDesk = { witnesses: desk ? [desk] : [], isNamed: !trust.witnesses.some(isDesk) };
  const runs = targets.flatMap((target) => {
    if (target.receipt_sha256 === null) return [];
    const receipt = left.get(target.receipt_sha256);
    if (!receipt || target.log_key === null)
      throw rejected(`the receipt of ${target.label} was left out or changed`);
    left.delete(target.receipt_sha256);
    const hostTrust = { key: parseVerifierKey(target.log_key, "file"), ...byDesk };
    const verified = verifyRun(receipt, hostTrust, target.label);
    requireTarget(target, verified, plan.id);
    return [verified];
  });
  if (left.size > 0) throw rejected("it has the receipt of a host that the plan did not have, or one twice");
  if (!byDesk.isNamed && runs.length === 0)
    throw rejected("the witness of the desk has seen no log of it, as there is no receipt of a host");
  const missing = targets.flatMap(({ label, state, missing: why, receipt_sha256 }) =>
    receipt_sha256 === null ? [{ label, state, why: why ?? "" }] : [],
  );
  return {
    plan: {
      ...{ id: plan.id, digest: plan.digest, state: plan.state, hosts: targets.length, missing },
      ...sightOf(before, after, own),
    },
    runs,
  };
}

function requireTarget(
  { label, identity, run_id }: PlanStatement["predicate"]["targets"][number],
  { run, host_id }: VerifiedRun,
  plan: string,
): void {
  const isHost = !/^[0-9a-f]{32}$/.test(identity) || identity === host_id;
  if (!isHost || run.id !== run_id || run.plan?.id !== plan)
    throw rejected(`the receipt of ${label} is of another host, run or plan`);
}

function specIn(text: string): object {
  try {
    const spec: unknown = JSON.parse(text);
    if (spec !== null && typeof spec === "object" && JSON.stringify(spec) === text) return spec;
  } catch {
    // As below.
  }
  throw badInput("file: expected the limits of the plan as JSON");
}
