/**
 * What diagnostics look at, taken from the service: the one place where they meet the other features.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { callLocalServer } from "../client/local-server";
import { localCaller } from "../core/caller";
import { health } from "../http/operations";
import { overview } from "../http/overview";
import { configFiles } from "../lib/paths";
import { findRunningServer } from "../lib/running-server";
import type { Service } from "../service";
import type { Subjects } from "./subjects";

export function subjectsOf(service: Service): Subjects {
  const { configDir } = service;
  const files = configFiles(configDir);
  return {
    configDir,
    privateFiles() {
      const token = findRunningServer(configDir)?.token_file ?? files.token;
      return [
        { name: "the token file", path: resolve(token), leaked: ["svc token rotate"] },
        { name: "tokens.json", path: files.tokens, leaked: [] },
        { name: "audit.db", path: files.auditLog, leaked: [] },
        {
          name: "admin_hosts.json",
          path: files.adminHosts,
          leaked: ["replace the tokens of the hosts in it"],
        },
        { name: "ice.json", path: files.ice, leaked: ["change the secrets of the TURN users in it"] },
      ];
    },
    desktop: () => service.desktop(),
    // Looking does not make one; that a server's own is gone is for it to tell.
    audit: async () =>
      existsSync(files.auditLog) || findRunningServer(configDir)?.pid === process.pid
        ? service.audit()
        : null,
    usb: async () => (await service.usb()).lister.list(),
    webrtc: async () => (await import("../peers/session")).probeWebRtc(service.log),
    async executor() {
      const [executor, runs] = await Promise.all([service.executor(), service.runs()]);
      return {
        commands: executor.commands.size,
        runs: runs.list().filter(({ status }) => status === "running" || status === "waiting").length,
        async perform(action, signal) {
          const caller = localCaller(service, "api", { signal });
          for (const { operation, input } of executor.prepare([action]).actions) {
            await operation.run(service, input, caller);
          }
        },
      };
    },
    server() {
      const running = findRunningServer(configDir);
      return (
        running && {
          url: running.url,
          pid: running.pid,
          health: () => callLocalServer(configDir, health, {}),
          async overview() {
            const asked =
              running.pid === process.pid
                ? await overview.run(service, {}, localCaller(service, "api"))
                : await callLocalServer(configDir, overview, {});
            const { server, audit } = asked;
            return {
              version: server.version,
              uptimeSeconds: server.uptime_seconds,
              auditFailures: audit?.failures ?? 0,
            };
          },
        }
      );
    },
  };
}
