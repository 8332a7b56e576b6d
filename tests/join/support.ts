/** Desks and hosts for tests: each a folder and a server of its own on loopback, with TLS. */
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { addJoinString } from "../../src/join/operations/desk";
import { join } from "../../src/join/operations/host";
import { configFiles } from "../../src/lib/paths";
import type { Service } from "../../src/service";
import { TOKEN, testService } from "../support";

/** A server with TLS on `127.0.0.1`, with its service. */
export async function tlsServer(options: { readonly client_ca?: string } = {}) {
  const made = testService();
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
  more: { label?: string; direct?: string } = {},
) => callOperation(service, join, { join_string, ...more }, localCaller(service, "cli"));
