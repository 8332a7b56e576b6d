import { command, print, terminated, withService } from "../src/cli/command";
import { iceOptions, withIceFlags } from "../src/cli/ice-flags";
import { findSupervisor } from "../src/daemon/notify";
import type { RestServer } from "../src/http/server";
import { badInput, messageOf, systemCode } from "../src/lib/errors";
import { ensurePrivateFolder } from "../src/lib/files";
import { configFiles } from "../src/lib/paths";
import { startOnceThereAreJobs } from "../src/scheduler/lazy-start";
import { version } from "../src/version";

/** When a start is over and done with, milliseconds. */
const SETTLED_MS = 1_000;

export default command({
  builder: (argv) =>
    withIceFlags(argv)
      .option("host", { type: "string", default: "127.0.0.1", describe: "Address to listen on" })
      .option("port", { type: "number", default: 9939, describe: "Port to listen on; 0 picks one" })
      .option("audit", {
        type: "boolean",
        default: true,
        describe: "Keep the audit log (--no-audit: do not)",
      })
      .option("allow-shell", {
        type: "boolean",
        default: false,
        describe: "Let scripts run programs (AC_shell_command)",
      })
      .option("audit-max-rows", {
        type: "number",
        default: 1_000_000,
        describe: "Archive the oldest rows of the audit log beyond this; 0: never",
      })
      .option("allow-audit-clear", {
        type: "boolean",
        default: false,
        describe: "Let requests clear the audit log",
      })
      .option("token-file", { type: "string", describe: "File that holds the bearer token" })
      .option("tls-cert", {
        type: "string",
        describe: "PEM file with the certificate chain",
      })
      .option("tls-key", { type: "string", describe: "PEM file with the private key" })
      .option("rate-limit", {
        type: "number",
        default: 120,
        describe: "Requests a minute and client; 0: any",
      })
      .option("rate-burst", { type: "number", default: 30, describe: "Requests that may come at once" })
      .option("trust-proxy", {
        type: "string",
        array: true,
        default: [] as string[],
        describe: "Address or CIDR block whose X-Forwarded-For counts",
      })
      .option("allow-host", {
        type: "string",
        array: true,
        default: [] as string[],
        describe: "Host name to answer to when bound to loopback",
      })
      .option("history-rows", { type: "number", default: 10_000, describe: "Runs that the history keeps" })
      .option("max-body", { type: "number", default: 1_000_000, describe: "Largest request body, in bytes" })
      .option("inbox", { type: "string", describe: "Folder for files from peers (~/.svc/inbox)" })
      .option("inbox-quota", {
        type: "number",
        default: 0,
        describe: "Bytes the inbox may hold; 0: any amount",
      })
      .option("inbox-min-free", {
        type: "number",
        describe: "Bytes that files from peers leave free on the disk (1 GB)",
      })
      .option("usb-watch", {
        type: "boolean",
        default: false,
        describe: "Watch USB devices come and go (/usb/events)",
      })
      .option("mask-serials", {
        type: "boolean",
        default: false,
        describe: "Hide serial numbers of USB devices",
      })
      .example("$0 serve", "On this machine only, http://127.0.0.1:9939")
      .example("$0 serve --host 0.0.0.0 --tls-cert c.pem --tls-key k.pem", "For the network"),
  handler: async (flags) =>
    withService(
      flags,
      async (service) => {
        const ended = terminated();
        const supervisor = await findSupervisor();
        const rest = await service.rest();
        const server = await rest.start({
          host: flags.host,
          port: flags.port,
          tokenFile: flags.tokenFile,
          audit: flags.audit,
          auditMaxRows: flags.auditMaxRows,
          allowAuditClear: flags.allowAuditClear,
          tlsCert: flags.tlsCert,
          tlsKey: flags.tlsKey,
          rateLimit: flags.rateLimit,
          rateBurst: flags.rateBurst,
          trustProxy: flags.trustProxy,
          allowHost: flags.allowHost,
          maxBody: flags.maxBody,
        });
        if (flags.usbWatch) void (await service.usb()).watcher.start();
        const { jobs } = configFiles(service.configDir);
        const scheduler = await startOnceThereAreJobs(jobs, service.scheduler, service.log);
        print(flags, about(server), () => greeting(server));
        supervisor.ready();
        // What starting needed is not needed again, and an idle server has no occasion to notice.
        setTimeout(() => Bun.gc(true), SETTLED_MS).unref();
        await ended;
        supervisor.stopping();
        scheduler.stop();
        // Together: runs that are cancelled in time can still answer whoever waits for them.
        await Promise.all([rest.stop(), service.runs().then((runs) => runs.stop())]);
        return 0;
      },
      {
        audit: flags.audit,
        maskSerials: flags.maskSerials,
        allowShell: flags.allowShell,
        historyRows: flags.historyRows,
        peers: {
          ice: await iceOptions(flags),
          inbox: madeFolder("inbox", flags.inbox),
          inboxQuota: atLeastZero("inbox-quota", flags.inboxQuota),
          inboxMinFree: atLeastZero("inbox-min-free", flags.inboxMinFree),
        },
      },
    ),
});

/** At the start, where somebody reads what is wrong with it. */
function madeFolder(flag: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  if (path === "") throw badInput(`${flag}: expected a folder but found ""`);
  try {
    ensurePrivateFolder(path);
  } catch (error) {
    throw badInput(`${flag}: ${path} cannot be made (${systemCode(error) ?? messageOf(error)})`);
  }
  return path;
}

function atLeastZero(flag: string, bytes: number | undefined): number | undefined {
  if (bytes === undefined || bytes >= 0) return bytes;
  throw badInput(`${flag}: expected bytes, 0 or more, but found ${bytes}`);
}

function about({ url, host, port, token }: RestServer) {
  return { url, host, port, pid: process.pid, token_file: token.file };
}

function greeting({ url, token }: RestServer): string {
  const lines = [
    `svc ${version} answers at ${url}`,
    `  dashboard  ${url}/dashboard`,
    `  API        ${url}/docs`,
    `  token      ${token.file ? `in ${token.file} (svc token show)` : "from SVC_TOKEN"}`,
  ];
  if (token.created && process.stdout.isTTY) lines.push(`  new token  ${token.current()}`);
  return lines.join("\n");
}
