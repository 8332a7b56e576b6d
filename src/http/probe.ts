/**
 * Whether a listener of this process still answers. For the watchdog, so it is small: no HTTP client is loaded, and no
 * proxy of the environment is asked.
 */
import { deadline } from "../lib/deadline";
import { systemCode } from "../lib/errors";

/** How long an answer may take, in milliseconds: well below what a supervisor waits for. */
const ANSWER_MS = 5_000;

/**
 * Asks for `/health`, and whatever comes back is good: a listener that is full closes at once, and it lives. So does one
 * that this process has no descriptor left to ask.
 *
 * @param url of the listener.
 * @returns false when nobody listens there any longer, or there is no answer within {@link ANSWER_MS}.
 */
export async function answers(url: string): Promise<boolean> {
  const { protocol, hostname, host, port } = new URL(url);
  const isTls = protocol === "https:";
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const lives = () => resolve(true);
  const connecting = Bun.connect({
    hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port || (isTls ? 443 : 80)),
    ...(isTls && { tls: { rejectUnauthorized: false } }),
    socket: {
      open: (socket) =>
        void socket.write(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      data: lives,
      close: lives,
      error: lives,
    },
  });
  connecting.catch((error) => resolve(systemCode(error) !== "ECONNREFUSED"));
  const lived = await deadline(promise, { ms: ANSWER_MS, late: () => false });
  void connecting.then(
    (socket) => socket.terminate(),
    () => {},
  );
  return lived;
}
