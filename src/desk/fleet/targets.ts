/**
 * This desk and the hosts of the address book as targets for Prometheus (https://prometheus.io/docs/prometheus/latest/http_sd/), without
 * their tokens.
 */
import { orElse } from "../../lib/or-else";
import { type Host, linkedHost } from "./host";

/** What Prometheus scrapes, and the labels that it gives to it. */
interface Target {
  readonly targets: string[];
  readonly labels: Record<string, string>;
}

const addressOf = ({ protocol, hostname, port }: URL) =>
  `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;

/**
 * The targets of `hosts`, and this desk, which alone has the metrics of its links, its plans and the logs that it watches: first,
 * under `name`, or as the host of the address book that it is. Its label is `svc_desk`.
 *
 * @param desk the address of this desk.
 * @param name of this machine.
 */
export function withDesk(targets: readonly Target[], desk: URL, name: string): Target[] {
  const address = addressOf(desk);
  const isDesk = ({ targets: [at], labels }: Target) =>
    at === address && labels.__metrics_path__ === "/metrics";
  if (targets.some(isDesk))
    return targets.map((one) =>
      isDesk(one) ? { ...one, labels: { ...one.labels, svc_desk: "true" } } : one,
    );
  // Two targets with one name would have the same series.
  const isTaken = targets.some(({ labels }) => labels.svc_host === name);
  const labels = {
    __scheme__: desk.protocol.slice(0, -1),
    __metrics_path__: "/metrics",
    svc_host: isTaken ? `${name} (desk)` : name,
    svc_desk: "true",
  };
  return [{ targets: [address], labels }, ...targets];
}

/**
 * Where Prometheus finds the metrics of a host: `__scheme__` and `__metrics_path__` lead to them, `svc_host` is its label, and a
 * tag `lab` is `svc_tag_lab="true"`.
 *
 * @param desk the address of this desk, which has the metrics of hosts that are reached over their links.
 */
export function targetOf({ label, base_url, tags }: Host, desk: URL): Target {
  const linked = linkedHost(base_url);
  const at = linked === undefined ? new URL(base_url) : desk;
  return {
    targets: [addressOf(at)],
    labels: {
      __scheme__: at.protocol.slice(0, -1),
      // Prometheus escapes it.
      __metrics_path__:
        linked === undefined ? pathOf(at.pathname) : `/admin/hosts/${nameOf(label, linked)}/metrics`,
      svc_host: label,
      ...Object.fromEntries(tags.map((tag) => [`svc_tag_${tag.replaceAll(/[^A-Za-z0-9_]/g, "_")}`, "true"])),
    },
  };
}

/** What names a host in a path that Prometheus escapes: it leaves slashes as they are, and dots have a meaning there. */
const nameOf = (label: string, id: string) => (/^\.\.?$|[/\\]/.test(label) ? id : label);

function pathOf(pathname: string): string {
  const path = `${pathname.replace(/\/+$/, "")}/metrics`;
  return orElse(() => decodeURIComponent(path), path);
}
