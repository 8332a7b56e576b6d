/** Receipts in files: that of a run is its envelope; that of a plan has one of the desk, and those of its hosts. */
import * as v from "valibot";
import { badInput } from "../../lib/errors";
import { ENVELOPE, type Envelope, noReceipt, onlyMeaning, payloadOf } from "./dsse";
import {
  PLAN_FILE,
  PLAN_STATEMENT,
  type PlanFile,
  type PlanStatement,
  RUN_STATEMENT,
  type RunStatement,
} from "./statement";

export { type Envelope, envelopeText, requireSigned } from "./dsse";

/** The receipt in `text`. @throws a `bad_input` failure for anything else. */
export function parseReceipt(text: string): Envelope | PlanFile {
  const read = v.safeParse(v.union([ENVELOPE, PLAN_FILE]), onlyMeaning(text));
  if (read.success) return read.output;
  throw noReceipt();
}

/** The statement in an envelope, before anybody has looked at its signature. @throws a `bad_input` failure where it has none of that kind. */
export function statementIn(envelope: Envelope, kind: "run"): RunStatement;
export function statementIn(envelope: Envelope, kind: "plan"): PlanStatement;
export function statementIn(envelope: Envelope, kind: "run" | "plan"): RunStatement | PlanStatement {
  const read = v.safeParse(kind === "run" ? RUN_STATEMENT : PLAN_STATEMENT, payloadOf(envelope), {
    abortEarly: true,
  });
  if (read.success) return read.output;
  const path = read.issues[0] ? v.getDotPath(read.issues[0]) : null;
  throw badInput(
    `file: expected the receipt of a ${kind}${path === null ? "" : `, but ${path} is none of it`}`,
  );
}
