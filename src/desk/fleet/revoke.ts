/**
 * Letting a host end the token that it made for this desk when it joined.
 */
import * as v from "valibot";
import { deadlineIn, RemoteError, type RemoteServer } from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { typed } from "../../client/remote-call";

/** How long the host may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;

/** The largest answer. */
const MAX_BYTES = 65_536;

/** @returns why the host could not be asked, or null once its token has ended. */
export async function revokeToken(server: RemoteServer): Promise<string | null> {
  try {
    using carrier = await carrierTo(server);
    const limits = { deadline: deadlineIn(ANSWER_MS), maxBytes: MAX_BYTES };
    typed(v.unknown(), await carrier.ask({ method: "POST", path: "/desk/forget", body: "{}" }, limits));
    return null;
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // The host does not take this token any more. A 403 says why, and the token works.
    if (error.fault === "unauthorized" && !error.refusal) return null;
    return error.message;
  }
}
