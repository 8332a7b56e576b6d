/** Clients of a server over TLS that ask as long as they are let, and count what fails. */
import { Agent, request } from "node:https";
import { connect } from "node:tls";
import { spkiPin } from "../../src/lib/spki";

export const HOST = "127.0.0.1";

/** The pin of the certificate that a new connection gets. */
export async function pinAt(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: HOST, port, rejectUnauthorized: false }, () => {
    resolve(spkiPin(socket.getPeerCertificate().raw));
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

/** The body of an answer, and whether its connection had been used before. @throws when none comes. */
export function ask(
  port: number,
  agent: Agent | false,
  path = "/",
  headers: Record<string, string> = {},
): Promise<{ body: string; reused: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ body: string; reused: boolean }>();
  const asked = request({ host: HOST, port, path, agent, headers, rejectUnauthorized: false }, (response) => {
    let body = "";
    response.on("data", (piece) => {
      body += piece;
    });
    response.on("error", reject).on("end", () => resolve({ body, reused: asked.reusedSocket }));
  });
  asked.on("error", reject).end();
  return promise;
}

interface Asking {
  readonly keepAlive: boolean;
  readonly pauseMs: number;
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

/** `count` clients that ask one request after the other, each on one connection or on a new one for each request. */
export function clients(count: number, port: number, { keepAlive, pauseMs, path, headers }: Asking) {
  const stopping = new AbortController();
  const failures: unknown[] = [];
  let answers = 0;
  const ended = Array.from({ length: count }, async () => {
    const agent = keepAlive && new Agent({ keepAlive, maxSockets: 1 });
    while (!stopping.signal.aborted) {
      await ask(port, agent, path, headers).then(
        () => {
          answers++;
        },
        (error) => failures.push(error),
      );
      await Bun.sleep(pauseMs);
    }
    if (agent) agent.destroy();
  });
  return {
    failures,
    answers: () => answers,
    async stop() {
      stopping.abort();
      await Promise.all(ended);
    },
  };
}
