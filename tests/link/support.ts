/** Desks that take links, and hosts that dial them. */
import { deadlineIn } from "../../src/client/carrier";
import type { RestServerOptions } from "../../src/http/options";
import { configFiles } from "../../src/lib/paths";
import type { Service } from "../../src/service";
import { joinString, joinWith } from "../join/support";
import { TOKEN, testService } from "../support";

/** A server with TLS on `127.0.0.1`; with `hub`, it takes links. */
export async function linkServer(hub: boolean, options: RestServerOptions = {}) {
  const made = testService({ hub });
  const files = configFiles(made.configDir);
  const rest = await made.service.rest();
  const server = await rest.start({ port: 0, token: TOKEN, tls: true, rate_limit: 0, ...options });
  return { ...made, files, server };
}

export type LinkServer = Awaited<ReturnType<typeof linkServer>>;

/** Lets `host` join `desk`. */
export async function joinDesk(desk: LinkServer, host: LinkServer): Promise<string> {
  const { join_string } = await joinString(desk);
  return (await joinWith(host, join_string)).host_id;
}

/** Resolves once the service has published an event of that type since it was made, with its data. */
export async function untilEvent({ service }: { readonly service: Service }, type: string, nth = 1) {
  const bus = service.events();
  for (;;) {
    const all = Array.from({ length: bus.newest }, (_, index) => bus.at(index + 1));
    const found = all.filter((one) => one?.type.name === type)[nth - 1];
    if (found) return JSON.parse(found.text) as Record<string, unknown>;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = bus.listen(resolve);
    await promise;
    end();
  }
}

export const limits = (ms = 60_000) => ({ deadline: deadlineIn(ms), maxBytes: 32 * 1_048_576 });
