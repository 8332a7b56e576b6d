/** Verifying the receipt of a run: all that it says of the run follows from rows that are proven. */
import { badInput, rejected } from "../../../lib/errors";
import { type Envelope, statementIn } from "../../../wire/receipt/file";
import { hmacOfParameters } from "../../../wire/receipt/run-record";
import { type RunStatement, runReceiptOf } from "../../../wire/receipt/statement";
import { claimsOf } from "./claims";
import type { VerifiedRun } from "./result";
import { subjectsOf } from "./subjects";
import { inTime, requireTimes, requireYes } from "./times";
import { isSame, type LogTrust, type ReceiptTrust, sightOf, verifySource } from "./verify-source";

/**
 * What the receipt in `envelope` shows of its run.
 *
 * @param label its host in a plan; null for the receipt of one run. @throws a `rejected` failure, or `bad_input` for what is no receipt.
 */
export function verifyRun(envelope: Envelope, trust: LogTrust, label: string | null): VerifiedRun {
  const { subject, predicate, predicateType }: RunStatement = statementIn(envelope, "run");
  const { before, after } = verifySource(envelope, predicate, trust);
  const claims = claimsOf(predicate.run.id, predicate.rows);
  if (!isSame(claims, predicate.run)) throw rejected("it claims something else than the rows of the run say");
  if (predicateType !== runReceiptOf(claims))
    throw rejected("it is of another version than what was allowed with a passkey has");
  if (!isSame(subject, subjectsOf(claims)))
    throw rejected("its subjects are not what the rows of the run say");
  const sight = sightOf(before, after, trust);
  requireTimes(predicate.rows, sight);
  const yeses = claims.allowed.flatMap(({ id, passkey }) => (passkey ? [{ id, text: passkey.text }] : []));
  for (const yes of yeses) requireYes(yes, predicate.host.id, sight);
  const parameters = checkParameters(predicate, trust.parameters);
  return {
    label,
    run: claims,
    host_id: predicate.host.id,
    rows: predicate.rows.length,
    parameters,
    ...sight,
    content_shown: null,
    yes_in_time: inTime(yeses, sight),
  };
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
