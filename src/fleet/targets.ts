/**
 * The address book as Prometheus discovers it (https://prometheus.io/docs/prometheus/latest/http_sd/): a target a host.
 *
 * `__scheme__` and `__metrics_path__` make Prometheus ask where the host answers; `svc_host` is its label, and each tag
 * `lab` is `svc_tag_lab="true"`. No tokens.
 */
import type { Host } from "./host";

export interface Target {
  readonly targets: [string];
  readonly labels: Record<string, string>;
}

export function targetOf({ label, base_url, tags }: Host): Target {
  const { protocol, hostname, port, pathname } = new URL(base_url);
  return {
    targets: [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`],
    labels: {
      __scheme__: protocol.slice(0, -1),
      // Prometheus escapes it.
      __metrics_path__: `${unescaped(pathname.replace(/\/+$/, ""))}/metrics`,
      svc_host: label,
      ...Object.fromEntries(tags.map((tag) => [`svc_tag_${tag.replaceAll(/[^A-Za-z0-9_]/g, "_")}`, "true"])),
    },
  };
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
