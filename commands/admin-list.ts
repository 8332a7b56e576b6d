/** `svc admin list`: prints the address book or what a query finds in it, also for Ansible and ssh. */
import * as v from "valibot";
import { shownTable } from "../src/cli/shown-table";
import { type GlobalFlags, print } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { field, flag } from "../src/core/fields";
import { doubtOf } from "../src/core/host-query";
import { scopesText } from "../src/core/rights";
import { findHosts } from "../src/desk/fleet/operations/find";
import { poll } from "../src/desk/fleet/operations/fleet";
import { listHosts } from "../src/desk/fleet/operations/hosts";
import { type AnsibleInventory, ansibleInventory, sshConfig } from "../src/desk/fleet/operations/inventories";
import { badInput, notFound } from "../src/lib/errors";
import { findRunningServer } from "../src/lib/running-server";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";
import type { Service } from "../src/service/service";

/** A host as listings have it. */
export type Host = v.InferOutput<typeof listHosts.output>[number];

/** What stands in place of a table without hosts. */
export const NO_HOSTS = "no hosts: `svc admin add` adds one";

/** The columns of {@link rowOf}. */
export const HOST_COLUMNS = ["LABEL", "ADDRESS", "TAGS", "TRUST", "ALLOWS"];

/** What makes sure that it is the host which answers. */
const TRUST_WORDS: Readonly<Record<Host["trust"], string>> = {
  key: "pinned key",
  certificate: "pinned certificate",
  ca: "authority of its own",
  authorities: "usual authorities",
  identity: "its identity key",
  server: "the NATS server",
  loopback: "this machine",
  nothing: "NONE: not encrypted",
};

/** A host as a row of a table. */
export const rowOf = ({ label, base_url, tags, trust, next_pin, allows }: Host): string[] => [
  label,
  base_url,
  tags.join(","),
  `${TRUST_WORDS[trust]}${next_pin === null ? "" : "; another announced"}`,
  allows === null ? "" : printable(scopesText(allows), 100),
];

const FORMAT = v.picklist(["table", "ansible", "ssh_config", "on"]);

const OF_FORMAT = {
  format: field(
    v.optional(FORMAT, "table"),
    "For a person, Ansible (a dynamic inventory), ssh, or as `--on` takes them: labels with commas",
  ),
  poll: flag("Ask the hosts first: Ansible gets the groups svc_healthy and svc_unhealthy"),
  list: flag("All hosts, as Ansible asks for them; so without it"),
  host: field(v.optional(v.string()), "The variables of one host, as Ansible asks for them"),
  query: field(
    v.optional(v.array(v.string())),
    "Words that fit the hosts: tag:lab, !healthy, version:<0.3, part of a label (default: all hosts)",
  ),
};

type OfFormat = v.InferOutput<v.StrictObjectSchema<typeof OF_FORMAT, undefined>>;

/** @throws `bad_input` for what goes with another format only. */
function requireFormat({ format, poll, list, host }: OfFormat, { json }: GlobalFlags): void {
  const asked = { poll, list, host: host !== undefined };
  const [stray] = Object.entries(asked).flatMap(([name, given]) => (given ? [name] : []));
  if (stray !== undefined && format !== "ansible") throw badInput(`${stray}: works with --format ansible`);
  if (list && host !== undefined) throw badInput("list, host: expected one of them");
  if (json && (format === "ssh_config" || format === "on"))
    throw badInput(`format: ${format} is no JSON: leave --json out`);
}

/** The inventory; of one host, its variables. @throws `not_found` for a host that it has not. */
async function inventory(service: Service, hosts: readonly Host[], { poll: asks, host }: OfFormat) {
  const polled = asks && hosts.length > 0 ? await answerHere(service, poll, { on: "all" }) : undefined;
  const all: AnsibleInventory = ansibleInventory(hosts, polled);
  if (host === undefined) return all;
  const { hostvars } = all._meta;
  if (!Object.hasOwn(hostvars, host))
    throw notFound(`no host of the inventory is named ${printable(host, 130)}`);
  return hostvars[host];
}

type ListedHost = v.InferOutput<typeof findHosts.output>[number];

const FOUND_COLUMNS = ["LABEL", "STATE", "TAGS", "VERSION", "SEEN", "ADDRESS", "WHY"];

/** A host that a query has found, as a row of a table. */
const foundRow = ({
  label,
  state,
  broken,
  twin,
  tags,
  version,
  seen,
  base_url,
  why,
}: ListedHost): string[] => [
  label,
  [state, broken && "broken log", twin && "twin"].filter(Boolean).join(", "),
  tags.join(","),
  version ?? "",
  seen === null ? "" : timeText(seen),
  base_url,
  printable(why ?? "", 120),
];

/** The hosts that the words fit. States are known to a server alone. */
async function find(service: Service, query: readonly string[]): Promise<readonly ListedHost[]> {
  if (!service.elsewhere && findRunningServer(service.configDir) === null)
    service.log.warn("no server runs here, so how the hosts are is unknown: `svc admin poll` asks them");
  const q = query.join(" ");
  const found = await answerHere(service, findHosts, { q });
  const doubt = found.length === 0 ? doubtOf(q) : undefined;
  if (doubt !== undefined) service.log.warn(doubt);
  return found;
}

/** `svc admin list`. */
export const listVerb = view(listHosts, {
  on: false,
  extra: OF_FORMAT,
  positionals: ["query"],
  async run({ service, globals, input, extra, call, show }) {
    requireFormat(extra, globals);
    const { format, query } = extra;
    const found = query && (await find(service, query));
    if (found && format === "table") {
      print(globals, found, () => shownTable(FOUND_COLUMNS, found.map(foundRow), "no host fits that"));
      return 0;
    }
    if (found && format === "on") {
      print(globals, found, () => found.map(({ label }) => label).join(","));
      return 0;
    }
    const labels = found && new Set(found.map(({ label }) => label));
    const hosts = (await call(input)).filter(({ label }) => labels?.has(label) ?? true);
    if (format === "table") return show(hosts);
    if (format === "on") print(globals, hosts, () => hosts.map(({ label }) => label).join(","));
    else if (format === "ssh_config") print(globals, hosts, () => sshConfig(hosts));
    else print({ json: true }, await inventory(service, hosts, extra), String);
    return 0;
  },
  text: (hosts) => shownTable(HOST_COLUMNS, hosts.map(rowOf), NO_HOSTS),
  epilogue: 'An inventory for Ansible is a script: `exec svc admin list --format ansible "$@"`.',
  examples: [
    ["$0 admin list", "Labels, addresses and tags; never tokens"],
    ["$0 admin list 'tag:lab !healthy version:<0.3'", "Those that all words fit, as they were found last"],
    ["$0 plan new s.json --on \"$($0 admin list 'tag:lab up' --format on)\"", "A plan for what was found"],
    ["$0 admin list --format ansible --poll", "An inventory, with a group of the hosts that are down"],
    ["$0 admin list --format ssh_config > ~/.ssh/svc_hosts", "For `Include svc_hosts` in ~/.ssh/config"],
  ],
});
