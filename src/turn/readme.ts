/** `README.txt`: the next steps for the operator of the relay, and what its clients need. */
import type { Settings } from "./settings";
import { CONF_PATH, CONTAINER_USER } from "./units";
import { turnUrls } from "./url";

/** The text of the file. It holds the secret. */
export function readme(settings: Settings): string {
  const { realm, listen_port, tls_port, min_port, max_port } = settings;
  const urls = turnUrls(settings);
  return `TURN relay ${realm}
${"=".repeat(11 + realm.length)}

This file and turnserver.conf hold the secret: keep both private.

For the clients
---------------

${urls.plain.map((url) => `  ${url}`).join("\n")}
  ${urls.secure}${secureNote(settings)}

${credentials(settings)}

On the relay
------------

Open in the firewall: ${listen_port} udp and tcp, ${tls_port} tcp, ${min_port}-${max_port} udp.
${realm} has to resolve to this machine.${natNote(settings)}

With systemd (Debian, Ubuntu):

  sudo apt install coturn
  sudo install -o turnserver -g turnserver -m 600 turnserver.conf ${CONF_PATH}
  sudo install -m 644 coturn.service /etc/systemd/system/coturn.service
  sudo systemctl daemon-reload
  sudo systemctl enable coturn
  sudo systemctl restart coturn
  journalctl -u coturn -f

With Docker:

  sudo chown ${CONTAINER_USER} turnserver.conf
  sudo docker compose up -d
  sudo docker compose logs -f
${tlsNote(settings)}
How to test
-----------

From another machine:

  svc turn test '${urls.plain[0]}' --user ${settings.auth_secret ? "USERNAME" : settings.user}

It requests a port of the relay, sends itself a datagram through it, and proves that the relay refuses to send to
127.0.0.1, 169.254.169.254 and 10.0.0.1.${settings.auth_secret ? " The pair comes from `svc turn credentials`." : ""}
With coturn's own client: turnutils_uclient -p ${listen_port} -u USER -w SECRET -y ${realm}
`;
}

function secureNote({ tls }: Settings): string {
  return tls ? "" : "\n    (not yet: it needs a certificate, see TLS below)";
}

function credentials({ user, secret, auth_secret }: Settings): string {
  if (!auth_secret) return `  user name  ${user}\n  secret     ${secret}`;
  return `  Time-limited. The pair for a client, valid for an hour:

    svc turn credentials --ttl 1h --user ${user ?? "NAME"} --output-dir .

  secret     ${secret}
  (it signs the pairs; do not give it to clients)`;
}

function natNote({ external }: Settings): string {
  if (external?.local) {
    return `\nThe router in front of it has to forward those ports of ${external.address} to ${external.local}, unchanged.`;
  }
  return "\nBehind a router (NAT), make this bundle again with --external-ip PUBLIC/PRIVATE.";
}

function tlsNote({ tls }: Settings): string {
  if (tls) {
    return `
TLS
---

The relay reads ${tls.cert} and
${tls.key} at its start, as the user turnserver (in the container:
${CONTAINER_USER}): make both readable for it, and restart it when the certificate is renewed.
`;
  }
  return `
TLS
---

turns: needs a certificate for the name above and its key, in PEM, readable for the user turnserver (in the
container: ${CONTAINER_USER}, and mounted there). Make this bundle again with --tls-cert and --tls-key.
`;
}
