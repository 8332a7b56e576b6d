/** Go's own packages for signed notes and Merkle trees verify what svc writes, and refuse what was tampered with. */
import { expect } from "bun:test";
import { parseProof } from "../../../../src/host/audit/witness/proof";
import { parseCheckpoint } from "../../../../src/wire/witness/checkpoint";
import { parseNote, toBase64 } from "../../../../src/wire/witness/signed-note";
import { testWith } from "../../../support";
import { event, testLog } from "../support";
import { type Asked, GO_NOTE, go } from "./go-verifier";
import { newWitness } from "./support";

testWith("go", GO_NOTE)(
  "Go verifies notes, cosignatures and proofs of a log, and refuses each that was tampered with",
  async () => {
    await using made = await testLog();
    const seen = await made.log.witness();
    const [desk, peer] = [newWitness("svc.witness/desk"), newWitness("svc.witness/peer")];
    const asked: Asked[] = [];
    for (const rows of [1, 1, 5, 90, 1]) {
      const before = await seen.checkpoint(0);
      await Promise.all(
        Array.from({ length: rows }, (_, nth) => made.log.append(event({ detail: `é ${nth}` }))),
      );
      const { note, size } = await seen.sign();
      await seen.cosigned(peer.cosign(desk.cosign(note)), [desk.vkey, peer.vkey]);
      const { index, row, hashes, note: proven } = parseProof(await seen.proof(Math.ceil(size / 2)));
      const { size: old, root } = parseCheckpoint(parseNote(before.note).text);
      const { proof: consistency } = await seen.checkpoint(old);
      asked.push({
        ...{ note: proven, key: seen.key().vkey, witnesses: [desk.vkey, peer.vkey] },
        ...{ old, oldRoot: toBase64(root), consistency },
        ...{ index, rowHash: Buffer.from(row?.row_hash ?? "", "hex").toString("base64") },
        inclusion: hashes.map(toBase64),
      });
    }
    const last = asked.at(-1);
    if (!last) throw new Error("nothing was asked");
    const other = toBase64(new Uint8Array(32));
    const tampered: Asked[] = [
      { ...last, note: last.note.replace("\n98\n", "\n99\n") },
      { ...last, note: `${last.note.slice(0, -8)}AAA=\n` },
      { ...last, key: newWitness("svc.host/other").vkey },
      { ...last, old: last.old - 1 },
      { ...last, oldRoot: other },
      { ...last, consistency: last.consistency?.toSpliced(1, 1, other) ?? null },
      { ...last, index: last.index + 1 },
      { ...last, rowHash: other },
      { ...last, inclusion: last.inclusion.slice(1) },
    ];
    const answers = await go([...asked, ...tampered]);
    expect(answers.slice(0, asked.length)).toEqual(asked.map(() => "3 signatures"));
    const refused = answers.slice(asked.length);
    expect(refused.filter((answer) => !answer.startsWith("refused: "))).toEqual([]);
    expect(refused).toHaveLength(tampered.length);
  },
  120_000,
);
