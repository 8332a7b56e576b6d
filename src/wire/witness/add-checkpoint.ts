/**
 * The request and the answers of `add-checkpoint`, as C2SP tlog-witness has them (https://c2sp.org/tlog-witness).
 */
import { isCount, parseHash } from "./checkpoint";
import { MAX_PROOF } from "./merkle";

/** A checkpoint, and the proof that it goes on from the tree of size `old`. */
export interface Submission {
  readonly old: number;
  /** Each hash in base64. */
  readonly proof: readonly string[];
  readonly note: string;
}

/** What a witness answers. */
export type Answer =
  /** It has cosigned: its signature lines. */
  | { readonly status: 200; readonly cosignatures: string }
  /** The size that it has cosigned last is another. */
  | { readonly status: 409; readonly size: number }
  | { readonly status: 400 | 403 | 404 | 422 | 429 | 503; readonly reason: string };

/** The request that `body` is; undefined for anything else. */
export function parseSubmission(body: string): Submission | undefined {
  const end = body.indexOf("\n\n");
  if (end < 0) return undefined;
  const [first = "", ...proof] = body.slice(0, end).split("\n");
  const old = first.startsWith("old ") ? first.slice(4) : "";
  if (!isCount(old) || proof.length > MAX_PROOF || !proof.every(parseHash)) return undefined;
  return { old: Number(old), proof, note: body.slice(end + 2) };
}

/** The body of the request. */
export const submissionText = ({ old, proof, note }: Submission): string =>
  [`old ${old}`, ...proof, "", note].join("\n");

const TEXT = "text/plain; charset=utf-8";

/** The response to the request. */
export function answerResponse(answer: Answer): Response {
  const [body, type] =
    answer.status === 200
      ? [answer.cosignatures, TEXT]
      : answer.status === 409
        ? [`${answer.size}\n`, "text/x.tlog.size"]
        : [`${answer.reason}\n`, TEXT];
  return new Response(body, {
    status: answer.status,
    headers: { "content-type": type, "cache-control": "no-store" },
  });
}

/** The answer that a response of another witness is; undefined for one that is none. */
export function parseAnswer(status: number, body: string): Answer | undefined {
  if (status === 200) return body.startsWith("— ") ? { status, cosignatures: body } : undefined;
  if (status === 409) {
    const size = body.trimEnd();
    return isCount(size) ? { status, size: Number(size) } : undefined;
  }
  return [400, 403, 404, 422, 429, 503].includes(status)
    ? { status: status as 400, reason: body.trim() }
    : undefined;
}
