/**
 * The hosts of the address book as targets for Prometheus (https://prometheus.io/docs/prometheus/latest/http_sd/), without
 * their tokens.
 */
import { type Host, linkedHost } from "./host";

/**
 * Where Prometheus finds the metrics of a host: `__scheme__` and `__metrics_path__` lead to them, `svc_host` is its label, and a
 * tag `lab` is `svc_tag_lab="true"`.
 *
 * @param desk the address of this desk, which has the metrics of hosts that are reached over their links.
 */
export function targetOf({ label, base_url, tags }: Host, desk: URL) {
  const linked = linkedHost(base_url);
  const { protocol, hostname, port, pathname } = linked === undefined ? new URL(base_url) : desk;
  return {
    targets: [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`],
    labels: {
      __scheme__: protocol.slice(0, -1),
      // Prometheus escapes it.
      __metrics_path__:
        linked === undefined ? pathOf(pathname) : `/admin/hosts/${nameOf(label, linked)}/metrics`,
      svc_host: label,
      ...Object.fromEntries(tags.map((tag) => [`svc_tag_${tag.replaceAll(/[^A-Za-z0-9_]/g, "_")}`, "true"])),
    },
  };
}

/** What names a host in a path that Prometheus escapes: it leaves slashes as they are, and dots have a meaning there. */
const nameOf = (label: string, id: string) => (/^\.\.?$|[/\\]/.test(label) ? id : label);

function pathOf(pathname: string): string {
  const path = `${pathname.replace(/\/+$/, "")}/metrics`;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
