/**
 * The programmatic API: a service in your own program, its operations, and its REST server.
 *
 * @example
 * ```ts
 * import { createService } from "svc";
 *
 * const service = createService({ configDir: "/tmp/svc-example" });
 * const server = await (await service.rest()).start({ port: 0 });
 * const health = await fetch(`${server.url}/health`);
 * console.log(await health.text()); // {"status":"ok"}
 * await service.stop();
 * ```
 *
 * @example
 * ```ts
 * import { createService, localCaller } from "svc";
 *
 * const service = createService({ configDir: "/tmp/svc-example" });
 * const executor = await service.executor();
 * const run = await executor.prepare([["AC_rest_api_status"]]);
 * const report = await executor.run(run, localCaller(service, "api"));
 * console.log(report.ok); // true
 * await service.stop();
 * ```
 *
 * @example
 * ```ts
 * import { mkdirSync, writeFileSync } from "node:fs";
 * import { FolderSyncEngine } from "svc";
 *
 * const watch_dir = "/tmp/svc-example";
 * mkdirSync(watch_dir, { recursive: true });
 * const sent: string[] = [];
 * const engine = new FolderSyncEngine({ watch_dir, sender: async (_path, name) => void sent.push(name) });
 * await engine.start();
 * writeFileSync(`${watch_dir}/report.txt`, "done");
 * await engine.tick();
 * await engine.stop();
 * console.log(sent.join()); // report.txt
 * ```
 *
 * @example
 * ```ts
 * import { createService, openApiDocument } from "svc";
 *
 * const service = createService({ configDir: "/tmp/svc-example" });
 * const audit = await service.audit();
 * await audit?.log("nightly_backup", { host_id: "lab-01", detail: "done" });
 * console.log((await audit?.verify_chain())?.total_rows); // 1
 * const inspector = await service.inspector();
 * console.log(inspector.recent(60).length); // 0
 * const { watcher } = await service.usb();
 * console.log(watcher.recent_events(0).count); // 0
 * await service.stop();
 * console.log(openApiDocument("https://lab-01:9939").openapi); // 3.1.0
 * ```
 *
 * @example
 * ```ts
 * import { callOperation, createService, exportConfig, localCaller, makeTurnBundle } from "svc";
 *
 * const service = createService({ configDir: "/tmp/svc-example" });
 * const caller = localCaller(service, "api");
 * const metrics = await service.metrics();
 * metrics.record_request("GET", "/health", 200);
 * console.log((await metrics.requestTotals()).total); // 1
 * const { manifest } = await callOperation(service, exportConfig, {}, caller);
 * console.log(manifest.version); // 1
 * const relay = { realm: "relay.example", user: "lab", output_dir: `${service.configDir}/turn` };
 * console.log((await callOperation(service, makeTurnBundle, relay, caller)).files.length); // 4
 * await service.stop();
 * ```
 */
import { schemasOf } from "./events/schema";
import { openApiDocument as describeApi } from "./http/openapi";
import { eventTypes, operations } from "./operations";

export { callOperation } from "./core/call";
export { type Caller, localCaller } from "./core/caller";
export { field, NO_INPUT, secret } from "./core/fields";
export { type Operation, operation } from "./core/operation";
export type { Grant, Scope } from "./core/rights";
export { exportConfig, importConfig } from "./host/config/operations";
export { FolderSyncEngine, type FolderSyncOptions, type Sender } from "./host/sync/engine";
export type { SyncStatus } from "./host/sync/operations";
export { makeTurnBundle, makeTurnCredentials, testTurn } from "./host/turn/operations";
export type { RestServerOptions } from "./http/options";
export type { RestServer } from "./http/server";
export { Failure, type FailureCode } from "./lib/errors";
export { type Log, silentLog, stderrLog } from "./lib/log";
export { resolveConfigDir } from "./lib/paths";
export type { Metrics } from "./metrics/metrics";
export { createService, type Service, type ServiceOptions } from "./service/service";
export { commit, version } from "./version";
export { operations };

/** The API document (OpenAPI 3.1) of a server that answers at `serverUrl`. */
export const openApiDocument = (serverUrl: string) =>
  describeApi(operations, serverUrl, schemasOf(eventTypes));
