/**
 * What the server that runs on a `{config_dir}` says of itself.
 */
import { existsSync } from "node:fs";
import type * as v from "valibot";
import { callOperation } from "../core/call";
import { localCaller } from "../core/caller";
import type { overview as overviewOperation } from "../http/operations";
import { configFiles } from "../lib/paths";
import type { RunningServer } from "../lib/running-server";
import type { HostLink } from "../link/links";
import type { NatsStates } from "../nats/operations/fleet";
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
export function serverReport(service: Service, { pid }: RunningServer): ServerReport {
  const { configDir } = service;
  const modules = () => Promise.all([import("../client/local-server"), import("../http/operations")]);
  return {
    async health() {
      const [{ callLocalServer }, { health }] = await modules();
      return callLocalServer(configDir, health, {});
    },
    async overview() {
      const [{ callLocalServer }, { overview }] = await modules();
      if (pid === process.pid) return callOperation(service, overview, {}, localCaller(service, "api"));
      return callLocalServer(configDir, overview, {});
    },
    async link() {
      if (pid === process.pid) return service.hostLink();
      const [{ callLocalServer }, { showLink }] = await Promise.all([
        import("../client/local-server"),
        import("../link/operations"),
      ]);
      return (await callLocalServer(configDir, showLink, {})).host;
    },
    async nats() {
      const isUsed = existsSync(configFiles(configDir).nats) || (await service.natsHost()) !== null;
      if (!isUsed) return { host: null, desk: null };
      const [{ callLocalServer }, { showNats }] = await Promise.all([
        import("../client/local-server"),
        import("../nats/operations/fleet"),
      ]);
      if (pid === process.pid) return callOperation(service, showNats, {}, localCaller(service, "api"));
      return callLocalServer(configDir, showNats, {});
    },
  };
}
