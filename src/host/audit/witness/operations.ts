import * as v from "valibot";
import { field, fileContent, NO_INPUT, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { notFound } from "../../../lib/errors";
import type { AuditLog } from "../log";
import { PATROL_REPORT, PROOF_RESULT } from "./findings";

const PROOF_TYPE = "text/plain; charset=utf-8";

const VKEY = v.pipe(v.string(), v.nonEmpty(), v.maxLength(500));

interface Uses {
  /** Null where no log was ever kept: looking does not make one. */
  existingAudit(): Promise<AuditLog | null>;
}

interface MembershipUses {
  /** Undefined where this host has joined no desk. */
  membership(): Promise<{ readonly host_id: string } | undefined>;
}

async function witnessedLog(service: Uses) {
  const log = await service.existingAudit();
  if (!log) throw notFound("no audit log is kept here");
  return log.witness();
}

const SIZE = whole(0, Number.MAX_SAFE_INTEGER);

const FOR_PEOPLE = "it is for whoever checks the log, not for what a script automates";

export const auditKey = operation({
  name: "audit.key",
  summary: "Show the key that verifies checkpoints of this host's audit log",
  scope: "read",
  leftOut: { script: FOR_PEOPLE },
  // A public key.
  http: { method: "GET", path: "/audit/key", public: true },
  input: NO_INPUT,
  output: v.object({
    vkey: v.string(),
    origin: v.string(),
    /** What the key has signed to say whose log it is; null where this host has joined no desk. */
    owner: v.nullable(v.string()),
  }),
  async run(service: Uses & MembershipUses) {
    const { vkey, verifier, ownedBy } = (await witnessedLog(service)).key();
    // Who only wants the key gets it whatever is wrong with the membership.
    const member = await service.membership().catch(() => undefined);
    return { vkey, origin: verifier.name, owner: member ? ownedBy(member.host_id) : null };
  },
});

export const auditCheckpoint = operation({
  name: "audit.checkpoint",
  summary:
    "Show the newest signed checkpoint of the audit log: how many rows ever joined its tree, and the root",
  scope: "read",
  leftOut: { script: FOR_PEOPLE },
  // A witness publishes the same for anybody, as C2SP's tlog-witness asks; and a row for each look would make the next one.
  http: { method: "GET", path: "/audit/checkpoint", public: true },
  input: v.strictObject({
    old: field(
      v.optional(SIZE, 0),
      "Size of an earlier checkpoint, to get the proof that the log goes on from it",
    ),
  }),
  output: v.object({
    /** The checkpoint with its signature and cosignatures, as C2SP's signed-note has it. */
    note: v.string(),
    size: v.number(),
    old: v.number(),
    /** Hashes in base64; null where the log has not so many leaves. */
    proof: v.nullable(v.array(v.string())),
    made: v.string(),
    /** What the server here has found of the rows, all of which it verifies in turn. */
    rows: v.optional(PATROL_REPORT),
  }),
  run: async (service: Uses, { old }) => (await witnessedLog(service)).checkpoint(old),
});

export const auditProof = operation({
  name: "audit.proof",
  summary: "Return the proof that a row is in the audit log, as one file that is verified anywhere",
  scope: "audit",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "GET", path: "/audit/proof", content: PROOF_TYPE },
  input: v.strictObject({
    id: field(v.pipe(v.number(), v.safeInteger()), "The id of the row"),
  }),
  output: v.instance(Response),
  async run(service: Uses, { id }) {
    const proof = await (await witnessedLog(service)).proof(id);
    return new Response(proof, { headers: { "content-type": PROOF_TYPE } });
  },
});

const OFFLINE = "it needs nothing of this host but a file";

export const verifyProofFile = operation({
  name: "audit.verify_proof",
  summary: "Verify a proof that a row is in the audit log of a host, without that host",
  scope: "audit",
  subcommand: "audit verify-proof",
  leftOut: { http: OFFLINE, script: OFFLINE },
  input: v.strictObject({
    proof: field(
      fileContent(v.pipe(v.string(), v.maxLength(1_000_000))),
      "The proof, as `svc audit proof` writes it",
    ),
    key: field(
      v.optional(VKEY),
      "Key of that log, as `svc audit key` prints it (default: that of this host)",
    ),
    witness: field(
      v.optional(v.pipe(v.array(VKEY), v.maxLength(16)), []),
      "Key of a witness that must have cosigned it",
    ),
    hash: field(
      v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits"))),
      "The row_hash of the row, where the proof is of a row that was pruned",
    ),
  }),
  output: PROOF_RESULT,
  async run(service: { readonly configDir: string }, { proof, key, witness, hash }) {
    const [{ verifyProof }, { trustedKeys }] = await Promise.all([import("./proof"), import("./key")]);
    return verifyProof(proof, { ...trustedKeys(service.configDir, key, witness), hash });
  },
});

export const operations = [auditKey, auditCheckpoint, auditProof, verifyProofFile];
