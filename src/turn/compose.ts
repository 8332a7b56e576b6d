/**
 * `docker-compose.yml`: the relay as one container on the host's network.
 */
import type { Settings } from "./settings";

/** The version that every line of the configuration was checked against last. */
const IMAGE = "coturn/coturn:4.16.0";

/** `nobody` in the image; the README has the configuration given to it. */
export const CONTAINER_USER = "65534:65534";

/** Where coturn looks in the image. */
const CONF_TARGET = "/etc/coturn/turnserver.conf";

/** The text of the file. */
export function composeFile({ listenPort, tlsPort, tls }: Settings): string {
  const mounts = [
    { source: "./turnserver.conf", target: CONF_TARGET },
    // Certificate and key may be one file, and a container has no two mounts in one place.
    ...[...new Set(tls && [tls.cert, tls.key])].map((path) => ({ source: path, target: path })),
  ];
  const lowPort = Math.min(listenPort, tlsPort) < 1024;
  return `# docker-compose.yml, made by \`svc turn\`.
services:
  coturn:
    image: ${IMAGE}
    command: ["-c", "${CONF_TARGET}"]
    network_mode: host
    restart: unless-stopped
    user: "${CONTAINER_USER}"
    read_only: true
    tmpfs:
      - /var/lib/coturn:uid=65534,gid=65534,mode=0700
      - /tmp
    cap_drop:
      - ALL
    cap_add:
      # The binary in the image asks for it, and does not start without.
      - NET_BIND_SERVICE
${lowPort ? "" : '    security_opt:\n      - "no-new-privileges:true"\n'}    volumes:
${mounts.map(mountLines).join("")}`;
}

function mountLines({ source, target }: { readonly source: string; readonly target: string }): string {
  return `      - type: bind
        source: "${source}"
        target: "${target}"
        read_only: true
        bind:
          create_host_path: false
`;
}
