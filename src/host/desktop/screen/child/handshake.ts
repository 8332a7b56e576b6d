/**
 * The handshake of RFB (RFC 6143, sections 7.1 to 7.3), in its versions 3.3, 3.7 and 3.8, without a security of its own: the carrier
 * has shown its key.
 */

import { GREETING, SECURITY_NONE } from "./server-messages";
import { ProtocolError } from "./viewer-messages";

/** @param send takes the answers of the server. */
export function createHandshake(send: (bytes: Uint8Array) => void) {
  let expected: "version" | "security" | "init" | "nothing" = "version";
  let minorVersion = 8;

  return {
    /** The server speaks first. */
    begin: () => send(GREETING),
    /** Whether the viewer has done its part: what comes next for it is the server's init. */
    isOver: () => expected === "nothing",
    /**
     * Takes the next message of the viewer, which `bytes` begin with, and answers it.
     *
     * @returns how many bytes it has; 0 while it is not there as a whole.
     * @throws ProtocolError
     */
    take(bytes: Buffer): number {
      switch (expected) {
        case "version": {
          if (bytes.length < 12) return 0;
          const version = /^RFB 003\.(\d{3})\n$/.exec(bytes.toString("latin1", 0, 12));
          if (!version) throw new ProtocolError("no version of RFB 3");
          minorVersion = Number(version[1]);
          if (minorVersion < 7) send(Buffer.of(0, 0, 0, SECURITY_NONE));
          else send(Buffer.of(1, SECURITY_NONE));
          expected = minorVersion < 7 ? "init" : "security";
          return 12;
        }
        case "security":
          if (bytes.length < 1) return 0;
          if (bytes[0] !== SECURITY_NONE)
            throw new ProtocolError(`security type ${bytes[0]}; expected ${SECURITY_NONE}`);
          if (minorVersion >= 8) send(Buffer.alloc(4));
          expected = "init";
          return 1;
        case "init":
          if (bytes.length < 1) return 0;
          expected = "nothing";
          return 1;
        default:
          return 0;
      }
    },
  };
}
