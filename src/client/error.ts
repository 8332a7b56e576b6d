/**
 * Why a call to another server came to nothing, in the words that operators read.
 */

/**
 * `unreachable`: no usable connection, so the server has not seen the request; `unauthorized`: it refused the token;
 * `timeout`: a deadline passed; `cancelled`: nobody wants the answer any more; `answer`: it answered, with something else
 * than what was asked for.
 */
export type RemoteFault = "unreachable" | "unauthorized" | "timeout" | "cancelled" | "answer";

export class RemoteError extends Error {
  /**
   * @param message fit for a terminal: what the server said in it has been made printable.
   * @param sent whether the whole request may have reached the server, which may then have acted on it.
   */
  constructor(
    readonly fault: RemoteFault,
    message: string,
    readonly sent: boolean,
  ) {
    super(message);
    this.name = "RemoteError";
  }
}

/** What was answered is not what a svc host answers. */
export const notSvc = () => new RemoteError("answer", "not a svc host", true);
