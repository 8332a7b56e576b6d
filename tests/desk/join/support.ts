/** Desks and hosts for tests: each a folder and a server of its own on loopback, with TLS. */
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { addJoinString } from "../../../src/desk/join/operations";
import { join } from "../../../src/host/join/operations";
import { configFiles } from "../../../src/lib/paths";
import type { Service } from "../../../src/service/service";
import { openSigningKey } from "../../../src/trust/identity";
import { parseJoinString } from "../../../src/wire/join/join-string";
import { type JoinRequest, joinMessage } from "../../../src/wire/join/messages";
import { TOKEN, testService } from "../../support";

/** A server with TLS on `127.0.0.1`, with its service. */
export async function tlsServer({
  service,
  ...options
}: {
  readonly client_ca?: string;
  readonly rate_limit?: number;
  readonly service?: Parameters<typeof testService>[0];
} = {}) {
  const made = testService(service);
  const files = configFiles(made.configDir);
  const rest = await made.service.rest();
  const server = await rest.start({ port: 0, token: TOKEN, tls: true, ...options });
  return { ...made, files, server };
}

/** A join string of `desk`. */
export async function joinString(
  desk: { readonly service: Service },
  wanted: Parameters<typeof addJoinString.run>[1] | object = {},
) {
  const { service } = desk;
  return callOperation(service, addJoinString, wanted, localCaller(service, "cli"));
}

/** Lets a host join with a string. */
export const joinWith = async (
  { service }: { readonly service: Service },
  join_string: string,
  more: { label?: string; direct?: string; allow?: readonly string[] } = {},
) => callOperation(service, join, { join_string, ...more }, localCaller(service, "cli"));

/** Counts up where requests come within a millisecond. */
let lastTime = 0;

/**
 * What a host sends that makes up its request: with the key in `keyFile`, signed, and any fields it likes.
 *
 * @param more in place of its own fields; `token` is another at each call.
 */
export function madeUpRequest(join_string: string, keyFile: string, more: Partial<JoinRequest> = {}) {
  const { pin, id, secret } = parseJoinString(join_string);
  const { publicKey, sign } = openSigningKey(keyFile);
  lastTime = Math.max(Date.now(), lastTime + 1);
  const url = "https://127.0.0.1:1";
  const about = {
    id,
    host_key: publicKey,
    name: "forger",
    url,
    token: `token-of-${lastTime}`,
    time: lastTime,
  };
  const signed = { ...about, ...more };
  return { ...signed, secret, signature: sign(joinMessage(pin, signed)) };
}

/** Sends a request to join. */
export async function sendJoin(desk: { readonly server: { readonly url: string } }, request: object) {
  const response = await fetch(`${desk.server.url}/join`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
    tls: { rejectUnauthorized: false },
  });
  return { status: response.status, body: (await response.json()) as { label: string } };
}
