/** `tls_certificate`: how long clients will accept the certificate of the server of `{config_dir}`. */
import { once } from "node:events";
import { check, type Finding, failed, fine, warning } from "../check";
import { RESTART } from "./rest-api";

const DAY_MS = 86_400_000;
/** Clients that renew on their own (RFC 8555) do so 30 days before; half of that has passed by then. */
const WARN_BELOW_DAYS = 14;

export const tlsCertificate = check({
  name: "tls_certificate",
  summary: `The server's certificate is valid now; a warning when it has less than ${WARN_BELOW_DAYS} days left`,
  advice: RESTART,
  async run({ runningServer }: { runningServer(): { readonly url: string } | null }, { signal }) {
    const url = runningServer()?.url;
    if (url === undefined) return fine("no server runs here", { tls: false });
    if (!url.startsWith("https:")) return fine("TLS is off", { tls: false });
    const { from, until } = await validity(new URL(url), signal);
    return judgeValidity(from, until, new Date());
  },
});

export function judgeValidity(from: Date, until: Date, now: Date): Finding {
  const days = Math.floor((until.getTime() - now.getTime()) / DAY_MS);
  const extra = { tls: true, valid_from: from.toISOString(), valid_until: until.toISOString(), days };
  const renew = "renew the certificate, then restart the server with --tls-cert and --tls-key";
  if (from > now) {
    return failed(`not valid before ${extra.valid_from}`, ["set the clock right", renew], extra);
  }
  if (until < now) return failed(`expired on ${extra.valid_until}`, [renew], extra);
  const detail = `valid for ${days} days, until ${extra.valid_until}`;
  return days < WARN_BELOW_DAYS ? warning(detail, [renew], extra) : fine(detail, extra);
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
