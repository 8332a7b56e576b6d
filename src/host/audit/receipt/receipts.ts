/** The receipts that this host gives: signed by its identity, about rows of its log. */
import type { SigningKey } from "../../../lib/signing-key";
import { hostIdOf } from "../../../trust/identity";
import { type Envelope, sealed } from "../../../wire/receipt/dsse";
import { type ReceiptSource, runReceiptOf, statementOf } from "../../../wire/receipt/statement";
import type { AuditLog } from "../log";
import { claimsOf } from "./claims";
import { planSource, runSource } from "./make";
import { parametersKeyOf } from "./parameters";
import { subjectsOf } from "./subjects";

/** What makes receipts. */
export interface Receipts {
  /**
   * The receipt of a run that has ended.
   *
   * @param parameters whether whoever has it may check the values of its variables.
   * @throws `conflict` where its end is not on record; `not_found` where its rows are gone; `rejected` where some of them are; `unavailable`.
   */
  ofRun(
    run: { readonly run_id: string; readonly started_at: string },
    parameters: boolean,
  ): Promise<Envelope>;
  /** The rows that name a plan of this desk. @param created in milliseconds since 1970. @throws as `ofRun`. */
  ofPlan(plan: { readonly id: string; readonly created: number }): Promise<ReceiptSource>;
  /** `statement` in an envelope that this host has signed. */
  seal(statement: object): Envelope;
}

export function createReceipts(log: AuditLog, identity: SigningKey): Receipts {
  const parts = { log, identity };
  const seal = (statement: object) => sealed(statement, identity, hostIdOf(identity.publicKey));
  return {
    seal,
    ofPlan: (plan) => planSource(parts, plan),
    async ofRun(run, parameters) {
      const { host, log: own, rows, heads } = await runSource(parts, run);
      const claims = claimsOf(run.run_id, rows);
      const isOpen = parameters && claims.parameters_hmac !== null;
      const parameters_key = isOpen ? parametersKeyOf((await log.witness()).key(), run.run_id) : null;
      const predicate = { host, log: own, run: claims, parameters_key, rows, heads };
      return seal(statementOf(runReceiptOf(claims), subjectsOf(claims), predicate));
    },
  };
}
