/**
 * This desk and the hosts of its address book for Prometheus: where their metrics are, and those of hosts that it cannot reach.
 */
import { hostname } from "node:os";
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { field, LABEL, NO_INPUT } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { notFound } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { mapInSlices } from "../../../lib/turn";
import type { AddressBook } from "../address-book";
import { linkedHost } from "../host";
import { targetOf, withDesk } from "../targets";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "reach">>;
}

interface TargetUses extends Uses {
  /** The server that runs here; null when none does. */
  runningServer(): { readonly url: string } | null;
}

/** The content type of the Prometheus text format, version 0.0.4. */
const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** How long a host may take, in milliseconds, where Prometheus does not say how long it waits: 10 s by default. */
const ANSWER_MS = 10_000;

/** The largest text of metrics: a hundred times what a host has. */
const MAX_BYTES = 8 * 1_048_576;

export const listTargets = operation({
  name: "admin.targets",
  summary: "List this desk and the hosts as targets for Prometheus (HTTP service discovery)",
  scope: "metrics",
  leftOut: { script: "Prometheus reads it over HTTP" },
  http: { method: "GET", path: "/admin/targets" },
  input: NO_INPUT,
  output: v.array(v.object({ targets: v.array(v.string()), labels: v.record(v.string(), v.string()) })),
  async run(service: TargetUses, _input, caller) {
    const hosts = (await service.addressBook()).hosts();
    const desk = addressOf(service, caller);
    const known = desk ? hosts : hosts.filter(({ base_url }) => linkedHost(base_url) === undefined);
    const left = hosts.length - known.length;
    if (left > 0)
      caller.warn?.(`${left} hosts that are reached over their links are left out: no server runs here`);
    const targets = await mapInSlices(known, (host) => targetOf(host, desk ?? new URL(host.base_url)));
    return desk ? withDesk(targets, desk, hostname()) : targets;
  },
});

/** Where the caller has reached this desk; else where its server is; undefined where none runs. */
function addressOf(service: TargetUses, { request }: Caller): URL | undefined {
  const running = service.runningServer();
  if (!running) return undefined;
  const own = new URL(running.url);
  const proto = request?.headers?.get("x-forwarded-proto");
  const scheme = proto === "https" || proto === "http" ? `${proto}:` : own.protocol;
  return URL.parse(`${scheme}//${request?.headers?.get("host") ?? own.host}`) ?? own;
}

const hostMetrics = operation({
  name: "admin.host_metrics",
  onHosts: true,
  summary: "Return the metrics of a host of the address book, in the Prometheus text format",
  scope: "metrics",
  leftOut: {
    cli: "the metrics are those of the host's server, for Prometheus to scrape",
    script: "an action has no use for the text of a scrape",
  },
  http: {
    method: "GET",
    path: "/admin/hosts/{label}/metrics",
    content: METRICS_CONTENT_TYPE,
    relays: true,
  },
  input: v.strictObject({
    label: field(LABEL, "Label of the host, or the id with which it has joined"),
  }),
  output: v.instance(Response),
  async run(service: Uses, { label }, caller) {
    const book = await service.addressBook();
    const hosts = book.hosts();
    const host =
      hosts.find((one) => one.label === label) ?? hosts.find(({ member }) => member?.host_id === label);
    if (!host) throw notFound(`no host is labelled ${printable(label, 130)}`);
    const { relay, headers } = caller.request ?? {};
    relay?.to(host.label);
    const within = Number(headers?.get("x-prometheus-scrape-timeout-seconds") ?? 0) * 1_000;
    const ms = within > 0 && within < ANSWER_MS ? within : ANSWER_MS;
    // Loaded on first use: the modules for dialling are large.
    const { getFromHost } = await import("../../../client/for-caller");
    const asked = { label: host.label, server: book.reach(host) };
    const { body } = await getFromHost(asked, "/metrics", { ms, maxBytes: MAX_BYTES }, caller);
    relay?.recorded();
    return new Response(body, { headers: { "content-type": METRICS_CONTENT_TYPE } });
  },
});

export const operations = [listTargets, hostMetrics];
