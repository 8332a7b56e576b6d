/** Programs of others verify receipts: Sigstore's library the envelope, Go's note library the heads. */
import { expect, test } from "bun:test";
import { createPublicKey } from "node:crypto";
import { bundleFromJSON } from "@sigstore/bundle";
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import type { Envelope } from "../../../../src/wire/receipt/dsse";
import { parseCheckpoint } from "../../../../src/wire/witness/checkpoint";
import { parseNote, toBase64 } from "../../../../src/wire/witness/signed-note";
import { testWith } from "../../../support";
import { type Asked, GO_NOTE, go } from "../witness/go-verifier";
import { newKey } from "../witness/support";
import { provenRun, statementOf } from "./support";

/** Verifies an envelope as Sigstore does with a key that it is given. @throws its error. */
function verifyBySigstore(dsseEnvelope: Envelope, publicKey: string): void {
  const bundle = bundleFromJSON({
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: { publicKey: { hint: dsseEnvelope.signatures[0].keyid }, tlogEntries: [] },
    dsseEnvelope,
  });
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
  const roots = {
    mediaType: "",
    certificateAuthorities: [],
    timestampAuthorities: [],
    tlogs: [],
    ctlogs: [],
  };
  const trusted = toTrustMaterial(roots, () => ({ publicKey: key, validFor: () => true }));
  const none = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 };
  new Verifier(trusted, none).verify(toSignedEntity(bundle));
}

test("Sigstore verifies the envelope, and refuses it with another payload, type or key", async () => {
  await using made = await provenRun();
  const { envelope, identity } = made;
  verifyBySigstore(envelope, identity.publicKey);
  const other = toBase64(Buffer.from(JSON.stringify({ ...statementOf(envelope), subject: [] })));
  expect(() => verifyBySigstore({ ...envelope, payload: other }, identity.publicKey)).toThrow();
  expect(() => verifyBySigstore({ ...envelope, payloadType: "text/plain" }, identity.publicKey)).toThrow();
  expect(() => verifyBySigstore(envelope, newKey().publicKey)).toThrow();
});

testWith("go", GO_NOTE)(
  "Go verifies the heads, that the log went on between them, and each row",
  async () => {
    await using made = await provenRun();
    const { rows, heads, log } = statementOf(made.envelope).predicate;
    const { size: old, root } = parseCheckpoint(parseNote(heads.before ?? "").text);
    const head = { key: log.key, witnesses: [made.witness.vkey] };
    const about = { ...head, old, oldRoot: toBase64(root), consistency: heads.consistency };
    const asked = rows.map(
      ({ index, row_hash, inclusion }): Asked => ({
        ...{ ...about, note: heads.after, index, inclusion },
        rowHash: Buffer.from(row_hash, "hex").toString("base64"),
      }),
    );
    const [first] = asked;
    if (!first) throw new Error("no row");
    const before: Asked = {
      ...{ ...head, note: heads.before ?? "", old: 0, oldRoot: "", consistency: null },
      ...{ index: 0, rowHash: "", inclusion: [] },
    };
    const answers = await go([...asked, before, { ...first, inclusion: first.inclusion.slice(1) }]);
    expect(answers.slice(0, -1)).toEqual([...asked, before].map(() => "2 signatures"));
    expect(answers.at(-1)).toStartWith("refused: ");
  },
  120_000,
);
