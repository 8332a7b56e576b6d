/**
 * The server of `svc robot`: for Robot Framework on this machine alone. Whoever has its token is the owner.
 */
import { timingSafeEqual } from "node:crypto";
import { type CallerService, localCaller } from "../../core/caller";
import { badInput, messageOf, systemCode, unavailable } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { faultXml, xmlResponse } from "../../lib/xml-rpc/write";
import type { RobotLibrary } from "./library";

interface LoopbackOptions {
  /** 0: a free one. */
  readonly port: number;
  /** What clients send as the password of HTTP Basic, or as a bearer token. */
  readonly token: string;
  /** Aborted when it is to end what it does. */
  readonly signal: AbortSignal;
}

interface LoopbackServer {
  readonly port: number;
  /** Resolves when no call is under way. */
  stop(): Promise<void>;
}

/** The largest call, in bytes. */
const MAX_BYTES = 1_000_000;

/** @throws `unavailable` where the port is taken. */
export function listenOnLoopback(
  service: CallerService & { readonly log: Log },
  library: RobotLibrary,
  { port, token, signal }: LoopbackOptions,
): LoopbackServer {
  const expected = digestOf(token);
  const answer = async (request: Request, server: Bun.Server<undefined>): Promise<Response> => {
    const { headers, method } = request;
    if (!timingSafeEqual(digestOf(tokenIn(headers.get("authorization") ?? "")), expected))
      return new Response("unauthorized\n", {
        status: 401,
        headers: { "www-authenticate": 'Basic realm="svc robot"' },
      });
    if (headers.has("origin"))
      return new Response("a page in a browser is no Robot Framework\n", { status: 403 });
    if (method !== "POST")
      return new Response("this is for Robot Framework: Library    Remote    <this address>\n", {
        status: 405,
        headers: { allow: "POST" },
      });
    // A keyword may take longer than a silent client may.
    server.timeout(request, 0);
    const call = await request.text();
    const caller = localCaller(service, "cli", {
      signal: AbortSignal.any([signal, request.signal]),
      lasts: true,
    });
    return xmlResponse(await library.answer(call, caller));
  };
  const server = serve(port, async (request, server) => {
    try {
      return await answer(request, server);
    } catch (error) {
      service.log.error(`a call of Robot Framework failed: ${messageOf(error)}`, error);
      return xmlResponse(faultXml(500, "internal error"));
    }
  });
  if (server.port === undefined) throw unavailable("the server has no port");
  return { port: server.port, stop: () => server.stop() };
}

function serve(
  port: number,
  fetch: (request: Request, server: Bun.Server<undefined>) => Promise<Response>,
): Bun.Server<undefined> {
  try {
    return Bun.serve({ hostname: "127.0.0.1", port, maxRequestBodySize: MAX_BYTES, fetch });
  } catch (error) {
    if (systemCode(error) === "EADDRINUSE") throw unavailable(`port ${port} is taken: give another --port`);
    if (systemCode(error) === "EACCES") throw badInput(`port: this user may not listen on ${port}`);
    throw error;
  }
}

const digestOf = (text: string): Uint8Array => new Bun.CryptoHasher("sha256").update(text).digest();

/** The token of `Basic` or `Bearer`; empty for anything else. */
function tokenIn(authorization: string): string {
  const [, basic] = /^basic +(\S+)$/i.exec(authorization) ?? [];
  if (basic !== undefined) return /^[^:]*:(.*)$/s.exec(Buffer.from(basic, "base64").toString())?.[1] ?? "";
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? "";
}
