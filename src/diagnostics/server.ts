/** `rest_api` and `tls_certificate`: whether the server of `{config_dir}` answers, and for how long clients will take it. */
import { connect } from "node:tls";
import { messageOf } from "../lib/errors";
import { type Check, failed, fine, warning } from "./check";
import { durationText } from "./duration";
import { within } from "./run";
import type { ServerSubject, Subjects } from "./subjects";

const RESTART = ["look into the log of the server, then restart it"];

/** An answer that costs it nothing; within the deadline of the check. */
const HEALTH_MS = 4_000;

export function restApiCheck({ server }: Pick<Subjects, "server">): Check {
  return {
    name: "rest_api",
    advice: RESTART,
    async run() {
      const running = server();
      if (running === null) return fine("no server runs here (`svc serve` starts one)", { running: false });
      const { url, pid } = running;
      const extra = { running: true, url, pid };
      try {
        await within(HEALTH_MS, () => running.health());
      } catch (error) {
        return failed(
          `process ${pid} serves ${url} and does not answer: ${messageOf(error)}`,
          RESTART,
          extra,
        );
      }
      return aboutServer(running, extra);
    },
  };
}

async function aboutServer(running: ServerSubject, extra: Readonly<Record<string, unknown>>) {
  const detail = `${running.url} answers`;
  try {
    const { version, uptimeSeconds, auditFailures } = await running.overview();
    const more = { ...extra, version, uptime_seconds: uptimeSeconds, audit_failures: auditFailures };
    const known = `${detail}, up for ${durationText(uptimeSeconds)}, svc ${version}`;
    if (auditFailures === 0) return fine(known, more);
    return warning(
      `${known}; ${auditFailures} audit rows could not be written`,
      ["see `audit_chain` and `disk_space`; restart the server once that is mended"],
      more,
    );
  } catch (error) {
    return warning(
      `${detail}, and does not tell about itself: ${messageOf(error)}`,
      ["if it was started with a token of its own, set SVC_TOKEN to that"],
      extra,
    );
  }
}

const DAY_MS = 86_400_000;
/** Clients that renew on their own (RFC 8555) do so 30 days before; half of that has passed by then. */
const WARN_BELOW_DAYS = 14;

/** @param now for tests. */
export function tlsCertificateCheck(
  { server }: Pick<Subjects, "server">,
  now: () => Date = () => new Date(),
): Check {
  return {
    name: "tls_certificate",
    advice: RESTART,
    async run(signal) {
      const url = server()?.url;
      if (url === undefined) return fine("no server runs here", { tls: false });
      if (!url.startsWith("https:")) return fine("TLS is off", { tls: false });
      const { from, until } = await validity(new URL(url), signal);
      const days = Math.floor((until.getTime() - now().getTime()) / DAY_MS);
      const extra = { tls: true, valid_from: from.toISOString(), valid_until: until.toISOString(), days };
      const advice = ["renew the certificate, then restart the server with --tls-cert and --tls-key"];
      if (from > now())
        return failed(`not valid before ${from.toISOString()}`, ["set the clock right", ...advice], extra);
      if (until < now()) return failed(`expired on ${until.toISOString()}`, advice, extra);
      const detail = `valid for ${days} days, until ${until.toISOString()}`;
      return days < WARN_BELOW_DAYS ? warning(detail, advice, extra) : fine(detail, extra);
    },
  };
}

/** From when to when the certificate that is in use there is valid. */
async function validity(url: URL, signal: AbortSignal): Promise<{ from: Date; until: Date }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ from: Date; until: Date }>();
  // What is asked about is the certificate itself, whoever signed it.
  const socket = connect({
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port),
    rejectUnauthorized: false,
  });
  socket.once("secureConnect", () => {
    const { valid_from, valid_to } = socket.getPeerCertificate();
    resolve({ from: new Date(valid_from), until: new Date(valid_to) });
  });
  socket.once("error", reject);
  signal.addEventListener("abort", () => socket.destroy(), { once: true });
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
