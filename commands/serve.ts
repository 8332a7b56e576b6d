import * as v from "valibot";
import { ICE_FIELDS, iceOptions } from "../src/cli/ice-flags";
import { print, subcommand, terminated, withService } from "../src/cli/subcommand";
import { SERVE_OPTIONS } from "../src/http/options";
import { badInput, messageOf, systemCode } from "../src/lib/errors";
import { ensurePrivateFolder } from "../src/lib/files";
import { findSupervisor } from "../src/lib/supervisor";
import { version } from "../src/version";

/** How long a start takes at most, in milliseconds. */
const SETTLED_MS = 1_000;

const INPUT = v.strictObject({ ...SERVE_OPTIONS.entries, ...ICE_FIELDS });

export default subcommand({
  describe: "Run the REST server",
  input: INPUT,
  resident: true,
  async run(given, globals) {
    const {
      allow_shell,
      history_rows,
      inbox,
      inbox_quota,
      inbox_min_free,
      usb_watch,
      mask_serials,
      ...others
    } = v.parse(INPUT, given);
    const { ice_server, ice_user, ice_secret_file, relay_only, ...options } = others;
    return withService(
      globals,
      async (service) => {
        const ended = terminated();
        const supervisor = await findSupervisor();
        const rest = await service.rest();
        const { url, host, port, token } = await rest.start(options);
        if (usb_watch) void (await service.usb()).watcher.start();
        const stopJobs = await service.runJobs();
        const created = token.created && process.stdout.isTTY ? token.current() : null;
        const ready = { url, host, port, pid: process.pid, token_file: token.file };
        print(globals, ready, () => greeting(url, token.file, created));
        supervisor.ready();
        // An idle server has no occasion to collect what only the start needed.
        setTimeout(() => Bun.gc(true), SETTLED_MS).unref();
        await ended;
        supervisor.stopping();
        stopJobs();
        // Together: runs that are cancelled in time can still answer their callers.
        await Promise.all([rest.stop(), service.runs().then((runs) => runs.stop())]);
        return 0;
      },
      {
        audit: options.audit,
        maskSerials: mask_serials,
        allowShell: allow_shell,
        historyRows: history_rows,
        peers: {
          ice: await iceOptions({ ice_server, ice_user, ice_secret_file, relay_only }),
          inbox: madeFolder(inbox),
          inboxQuota: inbox_quota,
          inboxMinFree: inbox_min_free,
        },
      },
    );
  },
  examples: [
    ["$0 serve", "On this machine only, http://127.0.0.1:9939"],
    ["$0 serve --host 0.0.0.0 --tls-cert c.pem --tls-key k.pem", "For the network"],
  ],
});

/** Made at the start, where a person reads what is wrong with it. */
function madeFolder(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    ensurePrivateFolder(path);
  } catch (error) {
    throw badInput(`inbox: ${path} cannot be made (${systemCode(error) ?? messageOf(error)})`);
  }
  return path;
}

/** @param created a token to show, because this start made it. */
function greeting(url: string, tokenFile: string | null, created: string | null): string {
  const lines = [
    `svc ${version} answers at ${url}`,
    `  dashboard  ${url}/dashboard`,
    `  API        ${url}/docs`,
    `  token      ${tokenFile ? `in ${tokenFile} (svc token show)` : "from SVC_TOKEN"}`,
  ];
  if (created !== null) lines.push(`  new token  ${created}`);
  return lines.join("\n");
}
