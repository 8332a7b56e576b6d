/**
 * The hosts of the address book for programs that have lists of their own: a dynamic inventory of Ansible, and Host blocks of ssh.
 *
 * The promise: what a host or its label says gives neither program an order. Ansible takes `{{ … }}` in a text for a template, and ssh
 * takes a name that begins with a dash for an option.
 */
import { createHash } from "node:crypto";
import type * as v from "valibot";
import { printable } from "../../../lib/sanitize";
import { linkedHost } from "../host";
import type { LISTED_HOST } from "../listed";

type ListedHost = v.InferOutput<typeof LISTED_HOST>;

/** What a poll has found of a host. */
export interface Health {
  readonly label: string;
  readonly healthy: boolean;
  readonly error: string | null;
}

/** What `--list` and `--host` print (https://docs.ansible.com/ansible/latest/dev_guide/developing_inventory.html). */
export interface AnsibleInventory {
  readonly _meta: { readonly hostvars: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
  readonly [group: string]: unknown;
}

/**
 * The hosts with their variables, `all`, a group `tag_…` for each tag, and `svc_dials_desk` for those that svc reaches over a link or
 * NATS, of which no address is known.
 *
 * @param polled what a poll has found: with it, there are `svc_healthy` and `svc_unhealthy` too.
 */
export function ansibleInventory(hosts: readonly ListedHost[], polled?: readonly Health[]): AnsibleInventory {
  const names = distinctNames(
    hosts.map(({ label }) => label),
    (label) => label.replaceAll(/[{}]/g, "_"),
  );
  const tags = distinctNames(
    hosts.flatMap((host) => host.tags),
    // What Python has for a letter or digit (`\w`): other characters make Ansible complain.
    (tag) => `tag_${tag.replaceAll(/[^\p{L}\p{Nd}_]/gu, "_")}`,
  );
  const health = new Map(polled?.map((one) => [one.label, one]));
  const groups = new Map<string, string[]>();
  const hostvars: Record<string, Record<string, unknown>> = {};
  for (const host of hosts) {
    const name = names.get(host.label) ?? host.label;
    const state = health.get(host.label);
    const within = [
      "all",
      ...host.tags.map((tag) => tags.get(tag) ?? tag),
      ...(linkedHost(host.base_url) === undefined ? [] : ["svc_dials_desk"]),
      ...(state ? [state.healthy ? "svc_healthy" : "svc_unhealthy"] : []),
    ];
    for (const group of within) groups.set(group, [...(groups.get(group) ?? []), name]);
    hostvars[name] = variablesOf(host, state);
  }
  return {
    _meta: { hostvars },
    ...Object.fromEntries([...groups].map(([group, members]) => [group, { hosts: members }])),
  };
}

function variablesOf({ label, base_url, tags, trust }: ListedHost, state?: Health) {
  const address = addressOf(base_url);
  return {
    ...(address !== undefined && { ansible_host: address }),
    svc_label: plain(label),
    svc_base_url: plain(base_url),
    svc_tags: tags.map(plain),
    svc_trust: trust,
    ...(state && { svc_healthy: state.healthy, svc_error: state.error === null ? null : plain(state.error) }),
  };
}

/** A text that Ansible does not take for a template. */
const plain = (text: string) => (/\{[{%#]/.test(text) ? { __ansible_unsafe: text } : text);

/** Where ssh finds the host: a name or IP address; undefined where none is known, or it is none that ssh should see. */
function addressOf(base_url: string): string | undefined {
  if (linkedHost(base_url) !== undefined) return undefined;
  const address = new URL(base_url).hostname.replace(/^\[(.*)\]$/, "$1");
  return /^[A-Za-z0-9:][A-Za-z0-9._:-]*$/.test(address) ? address : undefined;
}

/**
 * A name for each text. Where `safe` makes one name of several texts, each of them that is not itself that name gets a part of its
 * digest, so that a name does not depend on the other texts there are.
 */
function distinctNames(texts: readonly string[], safe: (text: string) => string): Map<string, string> {
  const all = [...new Set(texts)];
  const counts = new Map<string, number>();
  for (const text of all) counts.set(safe(text), (counts.get(safe(text)) ?? 0) + 1);
  return new Map(
    all.map((text) => {
      const name = safe(text);
      if (counts.get(name) === 1 || name.endsWith(text)) return [text, name];
      return [text, `${name}_${createHash("sha256").update(text).digest("hex").slice(0, 8)}`];
    }),
  );
}

const SSH_HEAD = `# Hosts of an address book of svc, as \`svc admin list --format ssh_config\` wrote them. svc knows no port, user and key
# of SSH: set them in blocks of your own before these lines, or after them in \`Host *\`. svc carries no SSH either, so no
# block has a ProxyCommand: a host that dials its desk has a comment in place of a block.`;

/** Host blocks of ssh_config(5): a name for each host whose address is known, and a comment for each other one. */
export const sshConfig = (hosts: readonly ListedHost[]): string =>
  [SSH_HEAD, ...hosts.map(sshBlock)].join("\n\n");

function sshBlock({ label, base_url }: ListedHost): string {
  const shown = printable(label, 300);
  const address = addressOf(base_url);
  if (linkedHost(base_url) !== undefined) return `# ${shown} dials this desk: svc knows no address of it`;
  if (address === undefined) return `# ${shown}: its address is none that ssh should be given`;
  // ssh refuses names with spaces and what a shell reads, and takes some of it for a pattern.
  if (!/^[\p{L}\p{Nd}_][\p{L}\p{Nd}_.-]*$/u.test(label))
    return `# ${shown} is no name for ssh: its address is ${address}`;
  return `Host ${label}\n    HostName ${address}`;
}
