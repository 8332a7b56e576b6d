/**
 * What receipts say: in-toto statements (https://in-toto.io/Statement/v1) about a run of a host, and about a plan of a desk.
 *
 * Everything that a statement claims of a run follows from the rows in it, which the log of the host has: whoever verifies it computes the
 * claims anew.
 */
import * as v from "valibot";
import { field } from "../../core/fields";
import { endpoint } from "../../core/operation";
import { ENVELOPE } from "./dsse";

const STATEMENT = "https://in-toto.io/Statement/v1";

/** Names, not addresses: nothing is served there. */
const RUN_RECEIPT = "https://svc.host/run-receipt/v1";
/** Of a run that somebody has allowed with a passkey: readers of the first would not look at what was signed. */
const SIGNED_RUN_RECEIPT = "https://svc.host/run-receipt/v2";
export const PLAN_RECEIPT = "https://svc.host/plan-receipt/v1";

const text = (most: number) => v.pipe(v.string(), v.maxLength(most));
const HEX = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const COUNT = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const HASH = v.pipe(v.string(), v.regex(/^[A-Za-z0-9+/]{43}=$/));
const PROOF = v.pipe(v.array(HASH), v.maxLength(63));
const NOTE = text(65_536);

/** A row with its place in the tree of the log. */
const PROVEN_ROW = v.strictObject({
  /** The number of its leaf. */
  index: COUNT,
  ts: text(100),
  event_type: text(1_000),
  host_id: v.nullable(text(1_000_000)),
  viewer_id: v.nullable(text(1_000_000)),
  detail: v.nullable(text(1_000_000)),
  prev_hash: v.nullable(text(100)),
  row_hash: HEX,
  /** That it is in the tree of the head after: hashes in base64, from the sibling of the leaf upwards. */
  inclusion: PROOF,
});

export type ProvenRow = v.InferOutput<typeof PROVEN_ROW>;

/** The passkey with which somebody has signed a yes, and what was signed; the row has the signature. */
export const PASSKEY = v.strictObject({
  /** The id of the credential, base64url. */
  credential: text(2_000),
  /** Its public key: SubjectPublicKeyInfo, DER in base64url. */
  key: text(6_000),
  /** The page at which it was given. */
  origin: text(500),
  /** What the person was asked, as JSON: its SHA-256 is the challenge. */
  text: text(20_000),
});

/** What a person decided that a run needed. */
const ALLOWED = v.strictObject({
  id: v.string(),
  /** Of what exactly was allowed. */
  digest: HEX,
  /** Tokens; null for the host's own. */
  asked_by: v.nullable(v.string()),
  allowed_by: v.nullable(v.string()),
  at: v.string(),
  /** Absent where nobody has signed it. */
  passkey: v.exactOptional(PASSKEY),
});

/** What the rows of a run say of it. */
export const RUN_CLAIMS = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^[0-9a-f-]{36}$/)),
  status: v.string(),
  started: v.string(),
  ended: v.string(),
  /** By which way, from where (null: this host), and with which token (null: the host's own, or a person at the command line). */
  asked_by: v.strictObject({
    surface: v.string(),
    client: v.nullable(v.string()),
    token: v.nullable(v.string()),
    agent: v.nullable(v.string()),
  }),
  /** The plan and the job of it that the run was; null for any other. */
  plan: v.nullable(
    v.strictObject({ id: v.string(), job: v.string(), content_sha256: v.string(), signed: v.boolean() }),
  ),
  commands: v.array(v.string()),
  /** Of the list with `***` in place of every secret, as rows have it (`args`). */
  script_sha256: HEX,
  /** A digest of the variables with a key of the run, so that nobody can guess short ones; null where there were none. */
  parameters_hmac: v.nullable(HEX),
  /** Of the outcomes, as `svc runs show --json` prints them. */
  outcomes: v.strictObject({ count: COUNT, sha256: HEX }),
  /** Of the ZIP archive; null where none was kept. */
  trace_sha256: v.nullable(HEX),
  allowed: v.array(ALLOWED),
});

export type RunClaims = v.InferOutput<typeof RUN_CLAIMS>;

const SOURCE = {
  host: v.strictObject({
    /** The first half of the SHA-256 of `identity`. */
    id: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
    /** The key that signs the envelope: Ed25519, base64url. */
    identity: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{43}$/)),
  }),
  log: v.strictObject({
    /** As `svc audit key` prints it. */
    key: text(500),
    /** What that key has signed to say that it is the log of this host. */
    owner: NOTE,
  }),
};

/** The most rows of a receipt. */
export const MAX_ROWS = 5_000;

const HEADS = {
  rows: v.pipe(v.array(PROVEN_ROW), v.minLength(1), v.maxLength(MAX_ROWS)),
  heads: v.strictObject({
    /** A checkpoint from before the first row; null where the log keeps none. */
    before: v.nullable(NOTE),
    /** One that has the last row. */
    after: NOTE,
    /** That the log went on from the one to the other. */
    consistency: PROOF,
  }),
};

const SUBJECT = v.strictObject({ name: text(200), digest: v.strictObject({ sha256: HEX }) });

const statement = <const T extends readonly [string, ...string[]], P extends v.GenericSchema>(
  types: T,
  predicate: P,
) =>
  v.strictObject({
    _type: v.literal(STATEMENT),
    subject: v.pipe(v.array(SUBJECT), v.minLength(1), v.maxLength(10)),
    predicateType: v.picklist(types),
    predicate,
  });

const RUN_PREDICATE = v.strictObject({
  ...SOURCE,
  run: RUN_CLAIMS,
  /** The key of `parameters_hmac`, where whoever made the receipt lets others check the parameters; hexadecimal. */
  parameters_key: v.nullable(HEX),
  ...HEADS,
});

export const RUN_STATEMENT = statement([RUN_RECEIPT, SIGNED_RUN_RECEIPT], RUN_PREDICATE);
export type RunStatement = v.InferOutput<typeof RUN_STATEMENT>;

/** The type of the statement about a run. */
export const runReceiptOf = ({ allowed }: Pick<RunClaims, "allowed">): RunStatement["predicateType"] =>
  allowed.some(({ passkey }) => passkey) ? SIGNED_RUN_RECEIPT : RUN_RECEIPT;

/** A host of a plan, and what became of it there by the word of the desk. */
const PLAN_TARGET = v.strictObject({
  label: v.string(),
  /** Its id where it has joined the desk, else its address: what the digest of the plan has. */
  identity: v.string(),
  state: v.string(),
  run_id: v.nullable(v.string()),
  /** The key of its log, as the host gave it; null without a receipt. */
  log_key: v.nullable(v.string()),
  /** Of its receipt in the same file; null where there is none. */
  receipt_sha256: v.nullable(HEX),
  /** Why there is none. */
  missing: v.nullable(v.string()),
  /** What it was to run; absent where all hosts of the plan run the same, and for plans that an earlier svc has made. */
  content: v.exactOptional(
    v.strictObject({
      /** Stands for that (`commitmentOf`); `content_sha256` of the plan stands for those of all hosts. */
      commitment: HEX,
      /** Which content that is, for whoever has its digest; null without a receipt. */
      key: v.nullable(HEX),
    }),
  ),
});

export type PlanTarget = v.InferOutput<typeof PLAN_TARGET>;

const PLAN_PREDICATE = v.strictObject({
  ...SOURCE,
  plan: v.strictObject({
    id: v.string(),
    digest: HEX,
    /** What the digest stands for: the digest of what hosts run, or of all `content` of `targets`; the limits; and every host (`targets`). */
    content_sha256: HEX,
    /** As JSON, as the desk keeps it. */
    spec: text(1_000_000),
    state: v.string(),
    /** Tokens; null for the owner of the desk. */
    made_by: v.nullable(v.string()),
    applied_by: v.nullable(v.string()),
  }),
  /** The key of the desk as a witness, which has to have seen the heads of the hosts; null where it is none. */
  witness: v.nullable(text(500)),
  targets: v.pipe(v.array(PLAN_TARGET), v.maxLength(100_000)),
  ...HEADS,
});

export const PLAN_STATEMENT = statement([PLAN_RECEIPT], PLAN_PREDICATE);
export type PlanStatement = v.InferOutput<typeof PLAN_STATEMENT>;

/** The parts of a statement that are the same for all. */
export type ReceiptSource = Pick<RunStatement["predicate"], "host" | "log" | "rows" | "heads">;

/** `predicate` as a statement about `subject`. */
export const statementOf = <const T extends string, P>(
  predicateType: T,
  subject: RunStatement["subject"],
  predicate: P,
) => ({ _type: STATEMENT, subject, predicateType, predicate }) as const;

/** The receipt of a plan and of its hosts, in one file. */
export const PLAN_FILE = v.strictObject({
  kind: v.literal("svc plan receipt"),
  version: v.literal(1),
  plan: ENVELOPE,
  hosts: v.pipe(v.array(ENVELOPE), v.maxLength(100_000)),
});

export type PlanFile = v.InferOutput<typeof PLAN_FILE>;

/** How a desk asks a host for the receipt of a run. */
export const RUN_PROOF = endpoint({
  name: "runs.proof",
  http: { method: "GET", path: "/runs/{run_id}/proof" },
  input: v.strictObject({
    run_id: field(v.pipe(v.string(), v.minLength(4), v.maxLength(64)), "Run id, or its first characters"),
    parameters: field(
      v.optional(v.boolean(), false),
      "Let whoever has the receipt check the values of variables, and so guess short ones",
    ),
  }),
  output: ENVELOPE,
});
