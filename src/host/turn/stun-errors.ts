/** The meaning of a relay's answers, in words for its operator. */
import { TransactionFailed, TransactionTimeout } from "werift-ice/lib/ice/src/exceptions";
import { type Message, parseMessage } from "werift-ice/lib/ice/src/stun/message";
import { messageOf, systemCode } from "../../lib/errors";

/** A step of the test found a fault; the message says which. */
export class Finding extends Error {}

/** Error codes that the operator can do something about (RFC 8656 section 19). */
const MEANINGS: Readonly<Record<number, string>> = {
  401: "the user name or the secret is wrong",
  403: "the relay refuses this peer",
  437: "the relay knows of no allocation",
  441: "the user name or the secret is wrong",
  486: "the user's quota of allocations is used up",
  508: "the relay has no port left",
};

export const meaningOf = (code: number) => `${code}: ${MEANINGS[code] ?? "refused"}`;

/** Why a step failed. */
export function explain(error: unknown): string {
  if (error instanceof TransactionTimeout) return "no answer in time";
  const code = errorCode(error);
  return code === null ? (systemCode(error) ?? messageOf(error)) : meaningOf(code);
}

/** The STUN error code in `error`; null when it is not a relay's answer. */
export const errorCode = (error: unknown) =>
  error instanceof TransactionFailed ? errorCodeOf(error.response) : null;

/** Whether `data` is a relay's answer with the error 401; then the id of its transaction. */
export function unauthorizedIn(data: Buffer): string | undefined {
  try {
    const message = parseMessage(data);
    return message && errorCodeOf(message) === 401 ? message.transactionIdHex : undefined;
  } catch {
    return undefined;
  }
}

/** The STUN error code in `message`; null when it has none. */
function errorCodeOf(message: Message): number | null {
  const attribute: unknown = message.getAttributeValue("ERROR-CODE");
  return Array.isArray(attribute) && typeof attribute[0] === "number" ? attribute[0] : null;
}
