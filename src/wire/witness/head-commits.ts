/**
 * The commits of a witness: cosigned checkpoints become the heads of their logs.
 *
 * The promise: a cosignature leaves once its checkpoint is on disk. Checkpoints that come together share a commit; when it fails,
 * none of them is cosigned.
 */
import { createBatch } from "../../lib/batch";
import { failureOf } from "../../lib/errors";
import type { Answer } from "./add-checkpoint";
import type { SignedCheckpoint } from "./signed-checkpoint";
import type { Head, Store } from "./store";

/** How many checkpoints share a commit: the process does nothing else meanwhile. */
const MAX_BATCH = 128;

/** A checkpoint that is cosigned, but not on disk yet. */
interface QueuedHead {
  readonly signed: SignedCheckpoint;
  readonly former: Head | undefined;
  readonly next: Head;
  readonly cosignatures: string;
  readonly answer: (answer: Answer) => void;
}

/**
 * What makes cosigned checkpoints the heads of their logs. It resolves to the answer, and never rejects.
 *
 * @param keepIfOther keeps that a checkpoint contradicts the head that came before it.
 */
export function createHeadCommits(
  store: Store,
  keepIfOther: (signed: SignedCheckpoint, head: Head | undefined) => void,
) {
  const commit = createBatch<QueuedHead>((batch) => {
    let answers: Answer[];
    try {
      answers = store.commit(() =>
        batch.map(({ signed, former, next, cosignatures }) =>
          // What came in between may contradict it: then its cosignature is for nobody.
          store.advance(signed.origin, former, next)
            ? { status: 200, cosignatures }
            : { status: 409, size: store.head(signed.origin)?.size ?? 0 },
        ),
      );
      for (const [at, { signed }] of batch.entries())
        if (answers[at]?.status === 409) keepIfOther(signed, store.head(signed.origin));
    } catch (error) {
      answers = batch.map(() => notKept(error));
    }
    for (const [at, { answer }] of batch.entries()) answer(answers[at] as Answer);
  }, MAX_BATCH);

  return (head: Omit<QueuedHead, "answer">): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    commit({ ...head, answer: resolve });
    return promise;
  };
}

export const refused = (status: 400 | 422 | 429 | 503, reason: string): Answer => ({ status, reason });

export const notKept = (error: unknown): Answer =>
  refused(503, failureOf(error)?.message ?? "the checkpoint cannot be kept");
