import * as v from "valibot";
import { field, NO_INPUT, operation } from "../operation";
import type { Service } from "../service";
import { checkHost, HOST_FIELDS, type Host, listed } from "./host";
import { POLLED } from "./polled";
import { selectHosts } from "./selection";
import { targetOf } from "./targets";

const LISTED = v.object({ label: v.string(), base_url: v.string(), tags: v.array(v.string()) });

const SELECTION = v.pipe(v.string(), v.nonEmpty(), v.maxLength(10_000));
const WHICH = "Which hosts: labels, tag:TAG, all, and !… to leave some out, between commas";

/** How many hosts a poll asks at once, and how long each may take, unless told otherwise. */
export const DEFAULT_CONCURRENCY = 64;
export const DEFAULT_TIMEOUT_S = 3;

export const addHost = operation({
  name: "admin.add_host",
  summary: "Add a host to the address book",
  scope: "admin",
  changes: "announces",
  command: "AC_admin_add_host",
  input: v.strictObject(HOST_FIELDS),
  output: LISTED,
  async run(service, input, caller) {
    const host = checkHost(input);
    await caller.announce(`admin.add_host ${JSON.stringify(listed(host))}`);
    await (await service.addressBook()).add(host);
    return listed(host);
  },
});

export const removeHost = operation({
  name: "admin.remove_host",
  summary: "Remove a host from the address book",
  scope: "admin",
  changes: "announces",
  command: "AC_admin_remove_host",
  input: v.strictObject({
    label: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)), "What the host is called here"),
  }),
  output: v.object({ removed: v.literal(true) }),
  async run(service, { label }, caller) {
    await caller.announce(`admin.remove_host ${JSON.stringify(label)}`);
    await (await service.addressBook()).remove(label);
    return { removed: true } as const;
  },
});

export const listHosts = operation({
  name: "admin.list_hosts",
  summary: "List the hosts of the address book, without their tokens",
  scope: "read",
  command: "AC_admin_list_hosts",
  input: NO_INPUT,
  output: v.array(LISTED),
  async run(service) {
    return (await service.addressBook()).hosts().map(listed);
  },
});

export const poll = operation({
  name: "admin.poll",
  summary: "Ask hosts of the address book how they are",
  scope: "read",
  command: "AC_admin_poll",
  input: v.strictObject({
    on: field(v.optional(SELECTION), `${WHICH} (default: every host there is)`),
    concurrency: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000)), DEFAULT_CONCURRENCY),
      "How many are asked at once; one that is slow to answer stops counting",
    ),
    timeout_s: field(
      v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(300)), DEFAULT_TIMEOUT_S),
      "Seconds that a host may take for all that it is asked",
    ),
  }),
  output: v.array(POLLED),
  async run(service, { on, concurrency, timeout_s }, { signal }) {
    const hosts = on === undefined ? (await service.addressBook()).hosts() : await select(service, on);
    const { pollHosts } = await import("./poll");
    return pollHosts(hosts, { concurrency, timeoutMs: timeout_s * 1_000, signal });
  },
});

export const listTargets = operation({
  name: "admin.targets",
  summary: "Give the address book as targets for Prometheus to discover (HTTP service discovery)",
  scope: "metrics",
  http: { method: "GET", path: "/admin/targets" },
  input: NO_INPUT,
  output: v.array(v.object({ targets: v.array(v.string()), labels: v.record(v.string(), v.string()) })),
  async run(service) {
    return (await service.addressBook()).hosts().map(targetOf);
  },
});

export const operations = [addHost, removeHost, listHosts, poll, listTargets];

async function select(service: Service, on: string): Promise<Host[]> {
  return selectHosts((await service.addressBook()).hosts(), on);
}
