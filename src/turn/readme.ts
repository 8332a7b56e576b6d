/**
 * `README.txt`: what the operator of the relay does next, and what its clients are told.
 */
import { CONTAINER_USER } from "./compose";
import type { Settings } from "./settings";
import { CONF_PATH } from "./systemd-unit";
import { turnUrls } from "./url";

/** The text of the file. It holds the secret. */
export function readme(settings: Settings): string {
  const { realm, listenPort, tlsPort, minPort, maxPort } = settings;
  const urls = turnUrls(realm, listenPort, tlsPort);
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

Open in the firewall: ${listenPort} udp and tcp, ${tlsPort} tcp, ${minPort}-${maxPort} udp.
${realm} has to lead to this machine.${natNote(settings)}

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

  svc turn test '${urls.plain[0]}' --user ${testUser(settings)}

It asks the relay for a port, sends itself a datagram through it, and proves that the relay refuses to send to
127.0.0.1, 169.254.169.254 and 10.0.0.1.${settings.timeLimited ? " The pair comes from `svc turn credentials`." : ""}
With coturn's own client: turnutils_uclient -p ${listenPort} -u USER -w SECRET -y ${realm}
`;
}

function secureNote({ tls }: Settings): string {
  return tls ? "" : "\n    (not yet: it needs a certificate, see TLS below)";
}

function credentials({ user, secret, timeLimited }: Settings): string {
  if (!timeLimited) return `  user name  ${user}\n  secret     ${secret}`;
  return `  Time-limited. The pair for a client, good for an hour:

    svc turn credentials --ttl 1h --user ${user ?? "NAME"} --output-dir .

  secret     ${secret}
  (it signs the pairs; clients never get to see it)`;
}

function natNote({ external }: Settings): string {
  if (external?.local) {
    return `\nThe router in front of it passes those ports of ${external.address} on to ${external.local}, unchanged.`;
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

const testUser = ({ user, timeLimited }: Settings) => (timeLimited ? "USERNAME" : user);
