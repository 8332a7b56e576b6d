/**
 * Hosts of the address book as they are now, and looking for some of them. Nobody is asked: it is what polls and links have found.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { field } from "../../../core/fields";
import { type FoundHost, parseHostQuery } from "../../../core/host-query";
import { operation } from "../../../core/operation";
import { maySee, type Origin } from "../../../core/rights";
import { badInput } from "../../../lib/errors";
import { mapInSlices } from "../../../lib/turn";
import type { LinkState } from "../../../wire/link/links";
import { natsPlaceOf } from "../../../wire/nats/region";
import type { AddressBook } from "../address-book";
import { type Host, TRUST, trustOf } from "../host";
import type { Presence, Sighting } from "../presence";
import { isBusy } from "../results";

/** A plan, and those of its hosts that work on it. */
interface OpenPlan extends Origin {
  readonly seq: number;
  readonly id: string;
}

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "tagged" | "ignored">>;
  sightings(): Promise<Pick<Presence, "sighting">>;
  /** Null where this process takes no links. */
  hub(): { links(): readonly LinkState[] } | null;
  /** By region; empty where this desk has no NATS server, or needed none yet. */
  natsDesks(): ReadonlyMap<
    string,
    {
      readonly presence?:
        | { heardOf(key: string): { readonly version: string; readonly seen: number } | undefined }
        | undefined;
    }
  >;
  /** Null where no plan was ever made. */
  existingPlans(): Promise<{
    readonly ledger: {
      plans(options: { open: boolean }): readonly OpenPlan[];
      targets(
        seq: number,
        states: readonly ("sent" | "running")[],
      ): ReadonlyArray<{ readonly label: string }>;
    };
  } | null>;
  /** What witnesses have found of audit logs, by the ids of hosts. */
  foundLogs(): Promise<ReadonlyMap<string, { readonly standing: string }>>;
}

const TEXT = v.nullable(v.string());
const NUMBER = v.nullable(v.number());

/** A host as it is now. */
const FLEET_HOST = v.object({
  label: v.string(),
  base_url: v.string(),
  tags: v.array(v.string()),
  /** What makes sure that it is the host which answers. */
  trust: v.picklist(TRUST),
  way: v.picklist(["link", "nats", "https", "http"]),
  /** `busy`: it answers that it is asked too much. `unknown`: nobody has asked it since the desk started, nor has it dialled. */
  state: v.picklist(["up", "down", "busy", "unknown"]),
  /** Why it is down or busy. */
  why: TEXT,
  /** Since when it is up or down, and when it was there last, ISO 8601. */
  since: TEXT,
  seen: TEXT,
  /** The version of svc there. */
  version: TEXT,
  /** Of its link, or of the last poll. */
  rtt_ms: NUMBER,
  /** The id of the plan that it works on. */
  plan: TEXT,
  /** How many clients and jobs the last poll has found. */
  clients: NUMBER,
  jobs: NUMBER,
  /** Whether its audit log is not what witnesses have seen of it before. */
  broken: v.boolean(),
  /** Whether two machines have its identity. */
  twin: v.boolean(),
});

type FleetHost = v.InferOutput<typeof FLEET_HOST> & FoundHost;

export const findHosts = operation({
  name: "admin.find_hosts",
  summary: "Show the hosts of the address book as they were found last, all or those that a query fits",
  scope: "read",
  answeredBy: "server or here",
  leftOut: {
    cli: "`svc admin list QUERY` shows them",
    script: "AC_admin_list_hosts lists them, and AC_admin_poll asks them",
  },
  http: { method: "GET", path: "/admin/fleet" },
  input: v.strictObject({
    q: field(
      v.optional(v.pipe(v.string(), v.maxLength(300_000))),
      "Words that fit the hosts, as tag:lab !healthy version:<0.3 (default: all hosts)",
    ),
  }),
  output: v.array(FLEET_HOST),
  async run(service: Uses, { q = "" }, caller) {
    const query = parseHostQuery(q);
    if ("fault" in query) throw badInput(`q: ${query.fault}`);
    const book = await service.addressBook();
    const known = await whatIsKnown(service, caller);
    const ignored = book.ignored();
    if (ignored !== undefined) caller.warn?.(ignored);
    const candidates = query.tags ? await book.tagged(query.tags) : book.hosts();
    const hosts = await mapInSlices(candidates, (host) => asFound(host, known));
    if (q === "") return hosts;
    const fits = query.among(hosts, Date.now());
    const found = await mapInSlices(hosts, (host) => (fits(host) ? [host] : []));
    return found.flat();
  },
});

/** What is looked up for each host. */
interface FleetKnowledge {
  readonly sighting: Presence["sighting"];
  readonly links: ReadonlyMap<string, LinkState>;
  /** What the host with this address has said over NATS. */
  heardOf(address: string): { readonly version: string; readonly seen: number } | undefined;
  /** The plan that a host works on, by its label. */
  readonly plans: ReadonlyMap<string, string>;
  readonly logs: ReadonlyMap<string, { readonly standing: string }>;
}

async function whatIsKnown(service: Uses, caller: Caller): Promise<FleetKnowledge> {
  const [{ sighting }, logs, plans] = await Promise.all([
    service.sightings(),
    service.foundLogs(),
    service.existingPlans(),
  ]);
  const links = new Map(
    service
      .hub()
      ?.links()
      .map((link) => [link.label, link]),
  );
  const desks = service.natsDesks();
  const heardOf = (address: string) => {
    const place = natsPlaceOf(address);
    return place && desks.get(place.region)?.presence?.heardOf(place.key);
  };
  const working = new Map<string, string>();
  for (const plan of plans?.ledger.plans({ open: true }) ?? []) {
    if (!maySee(caller.grant, plan)) continue;
    for (const { label } of plans?.ledger.targets(plan.seq, ["sent", "running"]) ?? [])
      working.set(label, plan.id);
  }
  return { sighting, links, heardOf, plans: working, logs };
}

function asFound(host: Host, known: FleetKnowledge): FleetHost {
  const { label, base_url, tags, member } = host;
  const way = base_url.startsWith("nats:") ? "nats" : wayOf(base_url);
  const link = way === "link" ? known.links.get(label) : undefined;
  const heard = known.heardOf(base_url);
  const sighting = known.sighting(label);
  const { found = null } = sighting ?? {};
  return {
    label,
    base_url,
    tags,
    trust: trustOf(host),
    way,
    ...stateOf(sighting),
    since: sighting?.since ?? null,
    seen: seenLast(sighting, link?.last_seen, heard?.seen),
    version: link?.version ?? heard?.version ?? found?.version ?? null,
    rtt_ms: link?.rtt_ms ?? found?.latency_ms ?? null,
    plan: known.plans.get(label) ?? null,
    clients: found?.clients ?? null,
    jobs: found?.jobs ?? null,
    broken: known.logs.get(member?.host_id ?? "")?.standing === "broken",
    twin: link?.twin != null,
  };
}

const wayOf = (base_url: string) =>
  base_url.startsWith("link:") ? "link" : base_url.toLowerCase().startsWith("https:") ? "https" : "http";

function stateOf(sighting: Sighting | undefined): Pick<FleetHost, "state" | "why"> {
  if (!sighting) return { state: "unknown", why: null };
  const { isUp, error } = sighting;
  return { state: isBusy({ error }) ? "busy" : isUp ? "up" : "down", why: error };
}

/** The latest of the times at which a host was there, ISO 8601; null where there is none. */
function seenLast(sighting: Sighting | undefined, linked?: string, heard?: number): string | null {
  const times = [sighting?.seen, linked, heard === undefined ? undefined : new Date(heard).toISOString()];
  return (
    times
      .filter((one) => one != null)
      .sort()
      .at(-1) ?? null
  );
}

export const operations = [findHosts];
