/**
 * What the server that runs on a `{config_dir}` says of itself.
 */
import { existsSync } from "node:fs";
import type * as v from "valibot";
import type { NO_INPUT } from "../core/fields";
import type { Operation, OutputSchema } from "../core/operation";
import type { NatsStates } from "../desk/nats/operations/fleet";
import type { overview as overviewOperation } from "../http/operations";
import { unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import type { HostLink } from "../wire/link/links";
import type { Service } from "./interface";

/** Asks the running server. Both throw where it does not answer. */
export interface ServerReport {
  /** Asks over HTTP, also in this process: whether that works is the question. */
  health(): Promise<unknown>;
  overview(): Promise<v.InferInput<typeof overviewOperation.output>>;
  /** The link of this host to its desk; null where it has joined none. */
  link(): Promise<HostLink | null>;
  /** The connections of this host and of this desk to their NATS server. */
  nats(): Promise<NatsStates>;
}

/** The reports of the server that was found running on the `{config_dir}` of `service`. */
export function serverReport(service: Service): ServerReport {
  const { configDir } = service;
  const ask = async <O extends OutputSchema>(operation: Operation<typeof NO_INPUT, O>) => {
    const { askServer } = await import("../client/owner");
    const asked = await askServer(configDir, operation, {});
    if (!asked) throw unavailable("the server has ended");
    return asked.answer;
  };
  return {
    async health() {
      const [{ callLocalServer }, { health }] = await Promise.all([
        import("../client/local-server"),
        import("../http/operations"),
      ]);
      return callLocalServer(configDir, health, {});
    },
    overview: async () => ask((await import("../http/operations")).overview),
    link: async () => (await ask((await import("../desk/link/operations")).showLink)).host,
    async nats() {
      const isUsed = existsSync(configFiles(configDir).nats) || (await service.natsHost()) !== null;
      if (!isUsed) return { host: null, desk: null };
      return ask((await import("../desk/nats/operations/fleet")).showNats);
    },
  };
}
