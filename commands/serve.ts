import * as v from "valibot";
import { ICE_FIELDS, iceOptions } from "../src/cli/ice-flags";
import { print, subcommand, terminated, withService } from "../src/cli/subcommand";
import { bytes, field } from "../src/core/fields";
import { findSupervisor } from "../src/daemon/notify";
import type { RestServer } from "../src/http/server";
import { badInput, messageOf, systemCode } from "../src/lib/errors";
import { ensurePrivateFolder } from "../src/lib/files";
import { configFiles } from "../src/lib/paths";
import { startOnceThereAreJobs } from "../src/scheduler/lazy-start";
import { version } from "../src/version";

/** After this the start is over, milliseconds. */
const SETTLED_MS = 1_000;

const INPUT = v.strictObject({
  host: field(v.optional(v.string(), "127.0.0.1"), "Address to listen on"),
  port: field(v.optional(v.number(), 9939), "Port to listen on; 0 picks one"),
  audit: field(v.optional(v.boolean(), true), "Keep the audit log (--no-audit: do not)"),
  allow_shell: field(v.optional(v.boolean(), false), "Let scripts run programs (AC_shell_command)"),
  audit_max_rows: field(
    v.optional(v.number(), 1_000_000),
    "Archive the oldest rows of the audit log beyond this; 0: never",
  ),
  allow_audit_clear: field(v.optional(v.boolean(), false), "Let requests clear the audit log"),
  token_file: field(v.optional(v.string()), "File that holds the bearer token"),
  tls_cert: field(v.optional(v.string()), "PEM file with the certificate chain"),
  tls_key: field(v.optional(v.string()), "PEM file with the private key"),
  rate_limit: field(v.optional(v.number(), 120), "Requests a minute and client; 0: any"),
  rate_burst: field(v.optional(v.number(), 30), "Requests that may come at once"),
  trust_proxy: field(
    v.optional(v.array(v.string()), []),
    "Address or CIDR block whose X-Forwarded-For counts",
  ),
  allow_host: field(v.optional(v.array(v.string()), []), "Host name to answer to when bound to loopback"),
  history_rows: field(v.optional(v.number(), 10_000), "Runs that the history keeps"),
  max_body: field(v.optional(bytes(v.number()), 1_000_000), "Largest request body, in bytes"),
  inbox: field(v.optional(v.string()), "Folder for files from peers (~/.svc/inbox)"),
  inbox_quota: field(v.optional(bytes(v.number()), 0), "Bytes the inbox may hold; 0: any amount"),
  inbox_min_free: field(
    v.optional(bytes(v.number())),
    "Bytes that files from peers leave free on the disk (1 GB)",
  ),
  usb_watch: field(v.optional(v.boolean(), false), "Watch USB devices come and go (/usb/events)"),
  mask_serials: field(v.optional(v.boolean(), false), "Hide serial numbers of USB devices"),
  ...ICE_FIELDS,
});

export default subcommand({
  describe: "Run the REST server",
  input: INPUT,
  resident: true,
  async run(given, globals) {
    const flags = v.parse(INPUT, given);
    return withService(
      globals,
      async (service) => {
        const ended = terminated();
        const supervisor = await findSupervisor();
        const rest = await service.rest();
        const server = await rest.start({
          host: flags.host,
          port: flags.port,
          tokenFile: flags.token_file,
          audit: flags.audit,
          auditMaxRows: flags.audit_max_rows,
          allowAuditClear: flags.allow_audit_clear,
          tlsCert: flags.tls_cert,
          tlsKey: flags.tls_key,
          rateLimit: flags.rate_limit,
          rateBurst: flags.rate_burst,
          trustProxy: flags.trust_proxy,
          allowHost: flags.allow_host,
          maxBody: flags.max_body,
        });
        if (flags.usb_watch) void (await service.usb()).watcher.start();
        const { jobs } = configFiles(service.configDir);
        const scheduler = await startOnceThereAreJobs(jobs, service.scheduler, service.log);
        print(globals, about(server), () => greeting(server));
        supervisor.ready();
        // An idle server has no occasion to collect what only the start needed.
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
        maskSerials: flags.mask_serials,
        allowShell: flags.allow_shell,
        historyRows: flags.history_rows,
        peers: {
          ice: await iceOptions(flags),
          inbox: madeFolder("inbox", flags.inbox),
          inboxQuota: atLeastZero("inbox-quota", flags.inbox_quota),
          inboxMinFree: atLeastZero("inbox-min-free", flags.inbox_min_free),
        },
      },
    );
  },
  examples: [
    ["$0 serve", "On this machine only, http://127.0.0.1:9939"],
    ["$0 serve --host 0.0.0.0 --tls-cert c.pem --tls-key k.pem", "For the network"],
  ],
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
