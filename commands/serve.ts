/** `svc serve`: starts the server, and says where it listens. */
import * as v from "valibot";
import { printOnce, subcommand, withService } from "../src/cli/subcommand";
import { field, flag } from "../src/core/fields";
import { SERVER_FIELDS } from "../src/http/options";
import { badInput } from "../src/lib/errors";
import { terminated } from "../src/lib/signals";
import { findSupervisor } from "../src/lib/supervisor";
import { SERVICE_FIELDS } from "../src/service/options";
import { version } from "../src/version";

/** How long a start takes at most, in milliseconds. */
const SETTLED_MS = 1_000;

const SERVER = v.object(SERVER_FIELDS);
const SERVICE = v.object(SERVICE_FIELDS);

export default subcommand({
  describe: "Run the REST server",
  input: v.strictObject({
    ...SERVER_FIELDS,
    ...SERVICE_FIELDS,
    enable_audit: field(v.optional(v.boolean()), "The same as `audit`"),
    usb_watch: flag("Record USB devices added and removed (/usb/events)"),
  }),
  resident: true,
  async run({ enable_audit, ...typed }, globals) {
    const { audit = enable_audit ?? true } = typed;
    if (audit !== (enable_audit ?? audit)) throw badInput("audit, enable_audit: expected one of them");
    if (typed.mcp_approve && !typed.mcp_write)
      throw badInput("mcp_approve: expected with mcp_write: without it there is nothing to allow");
    if ((typed.oidc === undefined) !== (typed.oidc_client === undefined))
      throw badInput("oidc, oidc_client: expected both or neither");
    if (typed.passkey_for?.length && !audit)
      throw badInput("passkey_for: expected with an audit log, which keeps what was signed");
    const given = { ...typed, audit };
    const options = v.parse(SERVICE, given);
    return withService(
      globals,
      async (service) => {
        const ended = terminated();
        const supervisor = await findSupervisor();
        const rest = await service.rest();
        const { url, host, port, token, pin, stopped } = await rest.start(v.parse(SERVER, given));
        if (given.usb_watch) void (await service.usb()).watcher.start();
        const stopJobs = await service.runJobs();
        const created = token.created && process.stdout.isTTY ? token.current() : null;
        const ready = { url, host, port, pid: process.pid, token_file: token.file, pin: pin() ?? null };
        printOnce(globals, ready, () => greeting(ready, created, options.hub));
        supervisor.ready(rest.answers);
        // An idle server has no occasion to collect what only the start needed.
        setTimeout(() => Bun.gc(true), SETTLED_MS).unref();
        const isAsked = await Promise.race([ended.then(() => true), stopped.then(() => false)]);
        if (!isAsked)
          service.log.error("the REST server was stopped, so svc ends: nobody could reach it any longer");
        supervisor.stopping();
        stopJobs();
        // Together: runs that are cancelled in time can still answer their callers.
        await Promise.all([rest.stop(), service.runs().then((runs) => runs.stop())]);
        return isAsked ? 0 : 1;
      },
      // No script ends this server, or puts another in its place.
      { ...options, serverControl: false, logsAuditFailures: true, handsOver: false },
    );
  },
  examples: [
    ["$0 serve", "On this machine only, http://127.0.0.1:9939"],
    ["$0 serve --host 0.0.0.0", "For the network, over TLS with a certificate of its own"],
    ["$0 serve --host 0.0.0.0 --tls-cert c.pem --tls-key k.pem", "With the certificate of an authority"],
  ],
});

interface ServeSummary {
  readonly url: string;
  readonly token_file: string | null;
  readonly pin: string | null;
}

/** @param created a token to show, because this start made it. */
function greeting({ url, token_file, pin }: ServeSummary, created: string | null, isHub: boolean): string {
  const lines = [
    `svc ${version} answers at ${url}`,
    `  dashboard  ${url}/dashboard`,
    `  API        ${url}/docs`,
    `  token      ${token_file ? `in ${token_file} (svc token show)` : "from SVC_TOKEN"}`,
  ];
  if (pin !== null) lines.push(`  pin        ${pin} (svc pin)`);
  if (isHub) lines.push("  hub        hosts that join dial this desk (svc link list)");
  if (created !== null) lines.push(`  new token  ${created}`);
  return lines.join("\n");
}
