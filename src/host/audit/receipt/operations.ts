import * as v from "valibot";
import { field, fileContent } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { allows, beyond } from "../../../core/rights";
import { badInput, Failure, forbidden, unavailable } from "../../../lib/errors";
import { valueIn } from "../../../lib/value-in";
import { MAX_ENVELOPE } from "../../../wire/receipt/dsse";
import { RUN_PROOF } from "../../../wire/receipt/statement";
import type { AuditLog } from "../log";
import type { Receipts } from "./receipts";
import { RECEIPT_RESULT, SIGNED_APPROVAL } from "./result";

interface RunAtTime {
  readonly run_id: string | null;
  readonly started_at: string;
}

interface Uses {
  runs(): Promise<{ show(id: string): RunAtTime }>;
  history(): Promise<{
    find(id: string): Promise<RunAtTime | undefined>;
    list(query: { readonly limit: number }): Promise<RunAtTime[]>;
  }>;
  /** Null when this process keeps no audit log. */
  receipts(): Promise<Receipts | null>;
}

/** Among how many of the newest runs one is looked for whose id begins so. */
const RECENT = 1_000;

/** The run with that id, or whose id begins so where it has ended lately; as it was typed where only the log may know it. */
async function runOf(service: Uses, id: string) {
  try {
    return (await service.runs()).show(id);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "not_found") throw error;
    const history = await service.history();
    const found = await history.find(id);
    if (found) return found;
    // `svc runs list` shows the first characters of ids.
    const begins = (await history.list({ limit: RECENT })).filter(({ run_id }) => run_id?.startsWith(id));
    const [only, another] = begins;
    return (another ? undefined : only) ?? { run_id: id, started_at: "" };
  }
}

export const runProof = operation({
  ...RUN_PROOF,
  summary:
    "Make a receipt of a run that has ended: what was run, for whom, and that the log has nothing else of it",
  scope: "audit",
  // It shows rows, and is for others.
  reveals: true,
  answeredBy: "server or here",
  leftOut: { script: "a receipt is for people elsewhere" },
  example: { run_id: "9f1c2e4a" },
  async run(service: Uses, { run_id: asked, parameters }, { grant }) {
    if (parameters && !allows(grant, "admin")) throw forbidden(beyond(grant, "parameters needs admin"));
    const receipts = await service.receipts();
    if (!receipts) throw unavailable("this svc keeps no audit log (--no-audit)");
    const { run_id, started_at } = await runOf(service, asked);
    return receipts.ofRun({ run_id: run_id ?? asked, started_at }, parameters);
  },
});

const VKEY = v.pipe(v.string(), v.nonEmpty(), v.maxLength(500));

const OFFLINE = "it needs nothing of this host but a file";

export const verifyRun = operation({
  name: "audit.verify_run",
  summary: "Verify the receipt of a run or a plan, without its host",
  scope: "audit",
  subcommand: "audit verify-run",
  leftOut: { http: OFFLINE, script: OFFLINE },
  input: v.strictObject({
    file: field(
      fileContent(v.pipe(v.string(), v.maxLength(MAX_ENVELOPE))),
      "The receipt, as `svc runs proof` or `svc plan proof` writes it",
    ),
    key: field(
      v.optional(VKEY),
      "Key of the log of its host, of the desk for a plan, as `svc audit key` prints it (default: that of this host)",
    ),
    witness: field(
      v.optional(v.pipe(v.array(VKEY), v.maxLength(16)), []),
      "Key of a witness that must have seen the log before and after, as `svc witness key` prints it; for a plan, that of its desk must have seen the logs of the hosts",
    ),
    parameters: field(
      v.optional(fileContent(v.pipe(v.string(), v.maxLength(10_000_000)))),
      "The variables with which the run is said to have begun, as a JSON object",
    ),
  }),
  output: RECEIPT_RESULT,
  async run(service: { readonly configDir: string }, { file, key, witness, parameters }) {
    const [{ verifyReceipt }, { trustedKeys }] = await Promise.all([
      import("./verify"),
      import("../witness/key"),
    ]);
    return verifyReceipt(file, {
      ...trustedKeys(service.configDir, key, witness),
      parameters: parameters === undefined ? undefined : parametersIn(parameters),
    });
  },
});

function parametersIn(text: string): Readonly<Record<string, unknown>> {
  const read = valueIn(v.record(v.string(), v.unknown()), text);
  if (read) return read;
  throw badInput("parameters: expected a JSON object of variables");
}

export const verifyApproval = operation({
  name: "approvals.verify",
  summary: "Verify who has allowed something with a passkey, and what exactly, by the audit log alone",
  scope: "audit",
  leftOut: { http: "it is verified where the log is; receipts are for others", script: OFFLINE },
  input: v.strictObject({
    id: field(
      v.pipe(
        v.string(),
        v.regex(
          /^[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/,
          "the id of an approval or a lease (8 hexadecimal digits), or the whole id of a plan or a viewer",
        ),
      ),
      "Id of the approval, the lease, the plan, or the viewer that took control",
    ),
  }),
  output: SIGNED_APPROVAL,
  async run(service: { audit(): Promise<AuditLog | null> }, { id }) {
    const [log, { signedApproval }] = await Promise.all([service.audit(), import("./approval-yes")]);
    if (!log) throw unavailable("this svc keeps no audit log (--no-audit)");
    return signedApproval(log, id);
  },
});

export const operations = [runProof, verifyRun, verifyApproval];
