/**
 * The REST server of a service: started, asked about and stopped, at most one at a time.
 */
import { conflict } from "../lib/errors";
import type { Service } from "../service";
import { type RestServer, type RestServerOptions, startRestServer } from "./server";

export interface RestControl {
  /** The server that runs, or null. */
  readonly server: RestServer | null;
  /** @throws a `conflict` failure when one runs already; what {@link startRestServer} throws. */
  start(options: RestServerOptions): Promise<RestServer>;
  /** Finishes what is in flight, then stops; nothing when none runs. */
  stop(): Promise<void>;
}

export function createRestControl(service: Service): RestControl {
  let server: RestServer | null = null;
  let starting: Promise<RestServer> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    get server() {
      return server;
    },
    async start(options) {
      if (server) throw conflict(`the REST server already runs at ${server.url}`);
      if (starting) throw conflict("the REST server is being started already");
      starting = startRestServer(service, options);
      try {
        server = await starting;
      } finally {
        starting = undefined;
      }
      return server;
    },
    async stop() {
      if (starting) await starting.catch(() => {});
      // Whoever comes second waits as well: the process ends when this resolves.
      if (server) stopped = server.stop();
      server = null;
      await stopped;
    },
  };
}
