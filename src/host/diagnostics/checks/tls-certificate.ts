/** `tls_certificate`: whether the server of `{config_dir}` speaks TLS, and how long clients will accept its certificate. */
import { once } from "node:events";
import { isLoopback } from "../../../lib/loopback";
import type { RunningServer } from "../../../lib/running-server";
import { check, type Finding, failed, fine, warning } from "../check";
import { RESTART } from "./rest-api";

const DAY_MS = 86_400_000;
/** Clients that renew on their own (RFC 8555) do so 30 days before; half of that has passed by then. */
const WARN_BELOW_DAYS = 14;

const RENEW_FILES = [
  "renew the certificate in the files of --tls-cert and --tls-key: the server reads them again",
];

/** svc renews its own certificate by itself. */
const RENEW_OWN = ["svc tls renew, and read the log of the server for why it did not"];

type Server = Pick<RunningServer, "url" | "host" | "tls_cert">;

export const tlsCertificate = check({
  name: "tls_certificate",
  summary: `The server speaks TLS beyond loopback, and its certificate is valid; a warning when it has less than ${WARN_BELOW_DAYS} days left`,
  advice: RESTART,
  async run({ runningServer }: { runningServer(): Server | null }, { signal }) {
    const server = runningServer();
    if (server === null) return fine("no server runs here", { tls: false });
    const { url, host, tls_cert } = server;
    if (url.startsWith("https:")) {
      const { from, until } = await validity(new URL(url), signal);
      return judgeValidity(from, until, new Date(), tls_cert ? RENEW_FILES : RENEW_OWN);
    }
    if (host === undefined || isLoopback(host)) return fine("TLS is off", { tls: false });
    const detail = `the server speaks plain http on ${host}: everybody on the way can read its tokens`;
    return failed(detail, ["start it without --insecure-http"], { tls: false });
  },
});

export function judgeValidity(from: Date, until: Date, now: Date, renew: readonly string[]): Finding {
  const days = Math.floor((until.getTime() - now.getTime()) / DAY_MS);
  const extra = { tls: true, valid_from: from.toISOString(), valid_until: until.toISOString(), days };
  if (from > now) {
    return failed(`not valid before ${extra.valid_from}`, ["set the clock right", ...renew], extra);
  }
  if (until < now) return failed(`expired on ${extra.valid_until}`, [...renew], extra);
  const detail = `valid for ${days} days, until ${extra.valid_until}`;
  return days < WARN_BELOW_DAYS ? warning(detail, [...renew], extra) : fine(detail, extra);
}

/** From when to when the certificate in use at `url` is valid. */
async function validity(url: URL, signal: AbortSignal) {
  const { connect } = await import("node:tls");
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  // The question is about the certificate itself, not about who signed it.
  const socket = connect({ host, port: Number(url.port), rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect", { signal });
    const { valid_from, valid_to } = socket.getPeerCertificate();
    return { from: new Date(valid_from), until: new Date(valid_to) };
  } finally {
    socket.destroy();
  }
}
