/** The receipts that this host gives: signed by its identity, about rows of its log. */
import type { SigningKey } from "../../../lib/signing-key";
import { hostIdOf } from "../../../trust/identity";
import { type Envelope, sealed } from "../../../wire/receipt/dsse";
import {
  digestOfDecisions,
  type HostsOnRecord,
  PLAN_ENDED,
  planEndText,
} from "../../../wire/receipt/plan-record";
import { type ReceiptSource, runReceiptOf, statementOf } from "../../../wire/receipt/statement";
import type { AuditLog } from "../log";
import { claimsOf } from "./claims";
import { decisionsOn, type PlanOnRecord, planSource, runSource } from "./make";
import { parametersKeyOf } from "./parameters";
import { subjectsOf } from "./subjects";
import { refusalsFor } from "./verify-plan";

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
  /** The rows by which somebody has decided about a plan of this desk, and that of its end. @throws as `ofRun`. */
  ofPlan(plan: PlanOnRecord): Promise<ReceiptSource>;
  /** What looks at the receipts of hosts before they are put into that of a plan. */
  readonly refusalsFor: typeof refusalsFor;
  /** Puts on record that a plan is over, with what became of it at its hosts. @throws `unavailable` where it cannot be. */
  planEnded(plan: PlanOnRecord & { readonly state: string }, hosts: HostsOnRecord): Promise<void>;
  /** `statement` in an envelope that this host has signed. */
  seal(statement: object): Envelope;
}

export function createReceipts(log: AuditLog, identity: SigningKey): Receipts {
  const parts = { log, identity };
  const seal = (statement: object) => sealed(statement, identity, hostIdOf(identity.publicKey));
  return {
    seal,
    refusalsFor,
    ofPlan: (plan) => planSource(parts, plan),
    async planEnded({ state, ...plan }, { hosts, hostsDigest }) {
      const hashes = (await decisionsOn(log, plan)).map(({ row_hash }) => row_hash);
      const end = { state, rows: hashes.length, rowsDigest: digestOfDecisions(hashes), hosts, hostsDigest };
      const row = { event_type: PLAN_ENDED, host_id: null, viewer_id: null };
      await log.append({ ...row, detail: planEndText(plan.id, end) });
    },
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
