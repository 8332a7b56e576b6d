/**
 * Verifying receipts, without the host and without a network.
 *
 * The promise: what is said to be good was in the log of that host when the witnesses saw it, and is all that the run left there up to
 * its end. Every signature, proof and claim is computed anew. A host that somebody had taken over can have recorded what never happened;
 * it cannot have recorded it later.
 */
import { badInput, Failure } from "../../../lib/errors";
import { parseReceipt } from "../../../wire/receipt/file";
import type { ReceiptResult } from "./result";
import { verifyPlan } from "./verify-plan";
import { verifyRun } from "./verify-run";
import type { ReceiptTrust } from "./verify-source";

export type { ReceiptTrust } from "./verify-source";

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
