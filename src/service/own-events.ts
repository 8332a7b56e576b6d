/**
 * The events of the server that runs on this `{config_dir}`, for another process of the same user.
 */
import { RemoteError } from "../client/carrier";
import type { EventSource } from "../client/events";
import { requireOwner, streamOfOwner } from "../client/owner";
import { listEvents } from "../events/operations";
import { Failure, HTTP_STATUS } from "../lib/errors";

/** @throws as `requireOwner`. */
export function ownEvents(configDir: string): EventSource {
  requireOwner(configDir);
  return {
    async *pieces(types, after, signal) {
      try {
        const input = { types: [...types], ...(after !== undefined && { after }) };
        for await (const piece of streamOfOwner(configDir, listEvents, input, signal))
          yield Buffer.from(piece);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        const refusal = { status: HTTP_STATUS[error.code], error: error.message };
        throw new RemoteError("answer", error.message, true, refusal);
      }
    },
  };
}
