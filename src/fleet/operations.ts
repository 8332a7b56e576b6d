import * as v from "valibot";
import type { Caller } from "../core/caller";
import { field, NO_INPUT, secret } from "../core/fields";
import { operation } from "../core/operation";
import { MAX_TIMEOUT_S } from "../core/run";
import { LINES_CONTENT_TYPE, tellAsLines } from "../lib/ndjson";
import type { Service } from "../service";
import { DELIVERED, type Delivered } from "./delivered";
import { checkHost, HOST_FIELDS, type Host, listed } from "./host";
import { POLLED } from "./polled";
import { selectHosts } from "./selection";
import { targetOf } from "./targets";

const LISTED = v.object({ label: v.string(), base_url: v.string(), tags: v.array(v.string()) });

/** Long enough for the labels of 2,000 hosts, one by one, as the dashboard selects them. */
const SELECTION = v.pipe(v.string(), v.nonEmpty(), v.maxLength(300_000));
const WHICH = "Which hosts: labels, tag:TAG, all, and !… to leave some out, between commas";

const PERCENT = /^(\d{1,2}|100)%$/;

/** A number of hosts, or a share of those that are selected. */
const SHARE = v.union([
  v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100_000)),
  v.pipe(v.string(), v.regex(PERCENT, "a number, or a share such as 25%")),
]);

/** How many of `total` that is, rounded down. */
const shareOf = (share: number | string, total: number) =>
  typeof share === "number" ? share : Math.floor((Number(PERCENT.exec(share)?.[1] ?? 0) / 100) * total);

/** How many hosts a poll asks at once, and how long each may take, unless told otherwise. */
export const DEFAULT_CONCURRENCY = 64;
export const DEFAULT_TIMEOUT_S = 3;

export const addHost = operation({
  name: "admin.add_host",
  summary: "Add a host to the address book",
  scope: "admin",
  changes: "announces",
  command: "AC_admin_add_host",
  http: { method: "POST", path: "/admin/hosts/add" },
  example: { label: "lab-01", base_url: "http://10.0.0.5:9939", token: "its-token", tags: ["lab"] },
  input: v.strictObject(HOST_FIELDS),
  output: LISTED,
  async run(service: Service, input, caller) {
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
  http: { method: "POST", path: "/admin/hosts/remove" },
  example: { label: "lab-01" },
  input: v.strictObject({
    label: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)), "What the host is called here"),
  }),
  output: v.object({ removed: v.literal(true) }),
  async run(service: Service, { label }, caller) {
    await caller.announce(`admin.remove_host ${JSON.stringify(label)}`);
    await (await service.addressBook()).remove(label);
    return { removed: true } as const;
  },
});

export const tagHost = operation({
  name: "admin.tag_host",
  summary: "Set the tags of a host of the address book",
  scope: "admin",
  changes: "announces",
  command: "AC_admin_tag_host",
  http: { method: "POST", path: "/admin/hosts/tag" },
  example: { label: "lab-01", tags: ["lab", "floor-2"] },
  input: v.strictObject({ label: removeHost.input.entries.label, tags: HOST_FIELDS.tags }),
  output: LISTED,
  async run(service: Service, { label, tags }, caller) {
    await caller.announce(`admin.tag_host ${JSON.stringify({ label, tags })}`);
    return listed(await (await service.addressBook()).tag(label, tags));
  },
});

export const listHosts = operation({
  name: "admin.list_hosts",
  summary: "List the hosts of the address book, without their tokens",
  scope: "read",
  command: "AC_admin_list_hosts",
  http: { method: "GET", path: "/admin/hosts" },
  input: NO_INPUT,
  output: v.array(LISTED),
  async run(service: Service) {
    return (await service.addressBook()).hosts().map(listed);
  },
});

export const poll = operation({
  name: "admin.poll",
  summary: "Ask hosts of the address book how they are",
  scope: "read",
  command: "AC_admin_poll",
  http: { method: "GET", path: "/admin/poll" },
  example: { on: "tag:lab", timeout_s: 1 },
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
  async run(service: Service, { on, concurrency, timeout_s }, { signal }) {
    const hosts = on === undefined ? (await service.addressBook()).hosts() : await select(service, on);
    const { pollHosts } = await import("./poll");
    return pollHosts(hosts, { concurrency, timeoutMs: timeout_s * 1_000, signal });
  },
});

/** What a broadcast takes. */
export const BROADCAST = v.strictObject({
  // Not an ACTION_LIST: it does not run here. Its arguments may be secret.
  actions: field(secret(v.array(v.unknown())), "The list, as POST /execute takes it"),
  on: field(SELECTION, WHICH),
  max_parallel: field(v.optional(SHARE, DEFAULT_CONCURRENCY), "How many hosts, or 25% of them, at once"),
  max_failures: field(
    v.optional(SHARE, "100%"),
    "How many hosts, or 10% of them, may fail: when more have, no further one is begun",
  ),
  canary: field(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100_000)), 0),
    "How many go first, the others only when all of these are ok",
  ),
  stop_on_error: field(v.optional(v.boolean(), false), "Leave the rest of a host's list once one has failed"),
  delivery_timeout_s: field(
    v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(3_600)), 10),
    "Seconds until the list must have got to a host",
  ),
  execution_timeout_s: field(
    v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(MAX_TIMEOUT_S)), 300),
    "Seconds from then until the host must be done",
  ),
});

export const broadcastExecute = operation({
  name: "admin.broadcast_execute",
  summary: "Run a list of actions on hosts of the address book",
  scope: "admin",
  changes: "announces",
  command: "AC_admin_broadcast_execute",
  example: { actions: [["AC_screen_size"]], on: "tag:lab,!tag:old", canary: 1 },
  input: BROADCAST,
  output: v.array(DELIVERED),
  async run(service: Service, input, caller) {
    return broadcastTo(service, await select(service, input.on), input, caller);
  },
});

/**
 * Brings `actions` to `hosts`, once it is on record.
 *
 * @throws a `bad_input` failure that lists everything wrong with the actions; `unavailable` when it cannot be put on
 *   record. Nothing has been sent then.
 */
export async function broadcastTo(
  service: Service,
  hosts: readonly Host[],
  input: v.InferOutput<typeof BROADCAST>,
  caller: Caller,
  done?: (result: Delivered) => void,
): Promise<Delivered[]> {
  const { actions } = input;
  const { commands, described } = (await service.executor()).check(actions);
  await caller.announce(
    `admin.broadcast_execute on=${JSON.stringify(input.on)} hosts=${hosts.length} ${described}`,
  );
  const [{ broadcast }, { deliver }] = await Promise.all([import("./broadcast"), import("./deliver")]);
  const { signal } = caller;
  const options = {
    maxParallel: Math.max(1, shareOf(input.max_parallel, hosts.length)),
    maxFailures: shareOf(input.max_failures, hosts.length),
    canary: input.canary,
    signal,
    done,
  };
  return broadcast(hosts, options, (host) =>
    deliver(host, {
      actions,
      commands,
      stopOnError: input.stop_on_error,
      deliveryMs: input.delivery_timeout_s * 1_000,
      executionMs: input.execution_timeout_s * 1_000,
      signal,
    }),
  );
}

export const broadcastLive = operation({
  name: "admin.broadcast_live",
  summary: "Run a list of actions on hosts of the address book; each result as it comes, a line of JSON each",
  scope: "admin",
  changes: "announces",
  http: { method: "POST", path: "/admin/broadcast", content: LINES_CONTENT_TYPE, line: DELIVERED },
  input: broadcastExecute.input,
  output: v.instance(Response),
  async run(service: Service, input, caller) {
    const hosts = await select(service, input.on);
    const begun = Promise.withResolvers<void>();
    const announce = async (subject: string) => {
      await caller.announce(subject);
      begun.resolve();
    };
    return tellAsLines((tell, gone) => {
      const signal = AbortSignal.any([caller.signal, gone]);
      const all = broadcastTo(service, hosts, input, { ...caller, signal, announce }, tell);
      return { begun: Promise.race([begun.promise, all]), ended: all };
    });
  },
});

export const listTargets = operation({
  name: "admin.targets",
  summary: "Give the address book as targets for Prometheus to discover (HTTP service discovery)",
  scope: "metrics",
  http: { method: "GET", path: "/admin/targets" },
  input: NO_INPUT,
  output: v.array(v.object({ targets: v.array(v.string()), labels: v.record(v.string(), v.string()) })),
  async run(service: Service) {
    return (await service.addressBook()).hosts().map(targetOf);
  },
});

export const operations = [
  addHost,
  removeHost,
  tagHost,
  listHosts,
  poll,
  broadcastExecute,
  broadcastLive,
  listTargets,
];

async function select(service: Service, on: string): Promise<Host[]> {
  return selectHosts((await service.addressBook()).hosts(), on);
}
