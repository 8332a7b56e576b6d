/** What verifying a receipt finds. */
import * as v from "valibot";
import { PASSKEY, RUN_CLAIMS } from "../../../wire/receipt/statement";

/** Who has seen a log, before and after. */
const SIGHT = {
  /** Between which times its rows came, by the clocks of the witnesses; null where no witness is asked. */
  window: v.nullable(v.object({ after: v.string(), before: v.string() })),
  /** The witnesses of the head after. */
  witnesses: v.array(
    v.object({
      name: v.string(),
      time: v.string(),
      /** Whether whoever verifies has asked for it; else the desk has named itself, and whoever has the desk could name another. */
      asked: v.boolean(),
    }),
  ),
};

const SIGHT_OBJECT = v.object(SIGHT);

export type Sight = v.InferOutput<typeof SIGHT_OBJECT>;

const VERIFIED_RUN = v.object({
  /** Its host in the plan; null for the receipt of one run. */
  label: v.nullable(v.string()),
  host_id: v.string(),
  run: RUN_CLAIMS,
  /** How many rows of the log it has. */
  rows: v.number(),
  /** Whether its parameters are those that were given; null where none were. */
  parameters: v.nullable(v.boolean()),
  ...SIGHT,
  /** In a plan: whether it is shown that it ran what the plan was applied for; false where that is the word of the desk. Else null. */
  content_shown: v.nullable(v.boolean()),
  /** Whether the witnesses know that each yes of a passkey came in its time; false where that is the word of the host. Null without any. */
  yes_in_time: v.nullable(v.boolean()),
});

export type VerifiedRun = v.InferOutput<typeof VERIFIED_RUN>;

/** A row by which somebody has decided about a plan. */
const SHOWN_DECISION = v.object({
  /** `apply`, `pause`, `resume`, `cancel`, `retry`, `remove` or `adopt`. */
  what: v.string(),
  /** By the clock of the desk. */
  at: v.string(),
  /** By which way, and from where; null: that machine itself. */
  surface: v.string(),
  client: v.nullable(v.string()),
  /** Null for the token of the host, and for what its own commands and schedules do. */
  token: v.nullable(v.string()),
  /** The passkey that has signed it, and what it has signed; null where none has. */
  passkey: v.nullable(PASSKEY),
});

export type ShownDecision = v.InferOutput<typeof SHOWN_DECISION>;

export const RECEIPT_RESULT = v.object({
  ok: v.boolean(),
  /** Why it proves nothing; null where it is good. */
  reason: v.nullable(v.string()),
  /** The name of the log that was trusted. */
  origin: v.string(),
  /** Null for the receipt of one run. */
  plan: v.nullable(
    v.object({
      id: v.string(),
      digest: v.string(),
      state: v.string(),
      hosts: v.number(),
      /** The hosts without a receipt, and why, by the word of the desk. */
      missing: v.array(v.object({ label: v.string(), state: v.string(), why: v.string() })),
      /** Of the log of the desk. */
      ...SIGHT,
      /** In the order of the log. */
      decided: v.array(SHOWN_DECISION),
      /** Whether it is shown that no decision was left out, and that this became of it; false where both are the word of the desk. */
      whole: v.boolean(),
      /** As of a run. */
      yes_in_time: v.nullable(v.boolean()),
    }),
  ),
  runs: v.array(VERIFIED_RUN),
});

export type ReceiptResult = v.InferOutput<typeof RECEIPT_RESULT>;

/** What is found of a yes. */
export const SIGNED_APPROVAL = v.object({
  id: v.string(),
  /** Whether the yes is signed by the key in its row, and the log says that the key is registered for who gave it. */
  ok: v.boolean(),
  /** Why not; null where it is. */
  reason: v.nullable(v.string()),
  /** When the row came, and the operation that went on with it. */
  at: v.string(),
  what: v.nullable(v.string()),
  /** The token of the request; null for the host's own. */
  allowed_by: v.nullable(v.string()),
  /** Whose passkey it is; null for the host's own token. */
  holder: v.nullable(v.string()),
  /** The id of the credential, and its public key (SubjectPublicKeyInfo, DER), in base64url. */
  credential: v.nullable(v.string()),
  key: v.nullable(v.string()),
  /** The page at which the yes was given. */
  origin: v.nullable(v.string()),
  /** What was signed, as JSON: its SHA-256 is the challenge. */
  text: v.nullable(v.string()),
  /** When the log says that the key was registered; null where it does not. */
  registered: v.nullable(v.string()),
});

export type SignedApproval = v.InferOutput<typeof SIGNED_APPROVAL>;
