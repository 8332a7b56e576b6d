/**
 * What a relay's answers mean, in words for its operator.
 */
import { TransactionFailed, TransactionTimeout } from "werift-ice/lib/ice/src/exceptions";
import { type Message, parseMessage } from "werift-ice/lib/ice/src/stun/message";
import { messageOf, systemCode } from "../lib/errors";

/** What a check found wrong, in words. */
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

/** The STUN error code in `message`; null when it has none. */
export function errorCodeOf(message: Message): number | null {
  const attribute: unknown = message.getAttributeValue("ERROR-CODE");
  return Array.isArray(attribute) && typeof attribute[0] === "number" ? attribute[0] : null;
}

/** The STUN message that `data` is, if it is one and no more than one. */
export function readMessage(data: Buffer): Message | undefined {
  try {
    return parseMessage(data);
  } catch {
    return undefined;
  }
}
