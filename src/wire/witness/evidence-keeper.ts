/**
 * Keeping what proves that a log contradicts itself.
 */
import type { Publish } from "../../core/events";
import type { Submission } from "./add-checkpoint";
import { witnessContradicted } from "./events";
import { contradictionOf, type Evidence, evidenceText } from "./evidence";
import type { SignedCheckpoint } from "./signed-checkpoint";
import { noteOf, toBase64 } from "./signed-note";
import type { Head, Store } from "./store";

interface EvidenceKeeper {
  /** Keeps that `signed` contradicts `head`, where both are of one size: then two roots need no proof. */
  keepIfOther(signed: SignedCheckpoint, head: Head | undefined): void;
  /** Keeps what proves that the log of `submission` contradicts itself, if it does: anybody can send a wrong proof. */
  keep(signed: SignedCheckpoint, former: Head, submission: Omit<Submission, "old">): void;
}

/** @param now milliseconds since 1970. */
export function createEvidenceKeeper(store: Store, publish: Publish, now: () => number): EvidenceKeeper {
  const keepIfOther = (signed: SignedCheckpoint, head: Head | undefined) => {
    if (head?.size !== signed.size || head.root === toBase64(signed.root)) return;
    keep(signed, head, { proof: [], note: noteOf(signed.note.text, [signed.line]) });
  };

  const keep = (
    { origin, size }: SignedCheckpoint,
    former: Head,
    { proof, note }: Omit<Submission, "old">,
  ) => {
    const { vkey = "" } = store.log(origin) ?? {};
    const evidence: Evidence = { vkey, notes: [former.note, note], proof };
    if (contradictionOf(evidence) === null) return;
    if (store.addEvidence(origin, Math.floor(now() / 1_000), evidenceText(evidence)))
      publish(witnessContradicted, { origin, size });
  };

  return { keepIfOther, keep };
}
