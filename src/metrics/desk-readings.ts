/** Readings of a desk: its hosts, their links and logs, its plans and its standbys. */
import type { Reading } from "./readings";

/** What is read of the desk. */
export interface DeskSources {
  foundLogs(): Promise<ReadonlyMap<string, { readonly state: string }>>;
  hub(): { links(): ReadonlyArray<{ readonly linked: boolean }> } | null;
  oddNow(): {
    readonly odd: number;
    readonly alike: number;
    readonly unknown: number;
    readonly longest_s: number;
  } | null;
  /** By region; the first server has no name. */
  natsDesks(): ReadonlyMap<
    string,
    {
      state(): Connection | null;
      readonly presence?: { counts(): { readonly up: number; readonly gone: number } } | undefined;
    }
  >;
  existingPlans(): Promise<{
    readonly ledger: {
      plans(which: { readonly open: true }): ReadonlyArray<{ readonly seq: number; readonly state: string }>;
      counts(seq: number): Readonly<Partial<Record<string, number>>>;
    };
  } | null>;
  driftFound(): ReadonlyMap<string, { readonly hosts: ReadonlyArray<{ readonly state: string }> }>;
  standbyNow(): Promise<{
    readonly taken_over: object | null;
    readonly standbys: ReadonlyArray<{ readonly name: string; readonly silent_s: number }>;
    readonly following: {
      readonly desk: string;
      readonly silent_s: number | null;
      readonly taken_over: string | null;
    } | null;
  } | null>;
}

/** To a NATS server. */
export interface Connection {
  readonly state: string;
  readonly attempts: number;
}

/** The label that names the region of a server; the first server of a desk has none. */
export const regionLabel = (region: string): Readonly<Record<string, string>> =>
  region === "" ? {} : { region };

/** What a desk finds about an audit log: also those of no log, so that an alert ends. */
const LOG_STATES = ["unknown", "ok", "late", "silent", "shrank", "forked", "key_changed", "restored"];

/** The readings of a desk. */
export const DESK: readonly Reading[] = [
  {
    name: "service_witness_logs",
    help: "Audit logs of hosts that have joined this desk, by what it finds about them; absent elsewhere",
    labels: ["state"],
    async read(service) {
      const found = [...(await service.foundLogs()).values()];
      const states = found.length > 0 ? LOG_STATES : [];
      return states.map((state) => ({
        labels: { state },
        value: found.filter((one) => one.state === state).length,
      }));
    },
  },
  {
    name: "service_standby_silent_seconds",
    help: "Seconds since a standby has asked this desk (role standby), or since the desk that this host follows has answered (role desk); where it has not, since the server here started",
    labels: ["role", "name"],
    async read(service) {
      const { standbys = [], following } = (await service.standbyNow()) ?? {};
      const desk = following?.taken_over === null ? [following] : [];
      return [
        ...standbys.map(({ name, silent_s: value }) => ({ labels: { role: "standby", name }, value })),
        ...desk.map(({ desk: name, silent_s: value }) => ({ labels: { role: "desk", name }, value })),
      ].flatMap(({ labels, value }) => (value === null ? [] : { labels, value }));
    },
  },
  {
    name: "service_desk_taken_over",
    help: "1 where a standby has taken this desk over, so that it sends nothing to hosts, else 0; NaN on a host that has nothing to do with standbys",
    async read(service) {
      const now = await service.standbyNow();
      if (!now) return Number.NaN;
      return now.taken_over ? 1 : 0;
    },
  },
  {
    name: "service_hub_links",
    help: "Hosts that are linked to this desk, and that were since its server started; absent without --hub",
    labels: ["state"],
    read(service) {
      const links = service.hub()?.links();
      if (!links) return [];
      const linked = links.filter((one) => one.linked).length;
      return [
        { labels: { state: "linked" }, value: linked },
        { labels: { state: "gone" }, value: links.length - linked },
      ];
    },
  },
  {
    name: "service_odd_hosts",
    help: "Hosts of --odd-on whose screens stand out for --odd-after (odd), are as the others, or could not be compared (unknown); absent without",
    labels: ["state"],
    read(service) {
      const { odd, alike, unknown } = service.oddNow() ?? {};
      return Object.entries({ odd, alike, unknown }).flatMap(([state, value]) =>
        value === undefined ? [] : { labels: { state }, value },
      );
    },
  },
  {
    name: "service_odd_longest_seconds",
    help: "For how long the screen of a host has stood out by now, the longest of those of service_odd_hosts; NaN without --odd-on",
    read: (service) => service.oddNow()?.longest_s ?? Number.NaN,
  },
  {
    name: "service_nats_hosts",
    help: "Hosts that this desk hears over NATS, of each region, and those that it heard before; absent where it has no NATS server",
    labels: ["state", "region"],
    read: (service) =>
      Array.from(service.natsDesks()).flatMap(([region, { presence }]) =>
        Object.entries(presence?.counts() ?? {}).map(([state, value]) => ({
          labels: { state, ...regionLabel(region) },
          value,
        })),
      ),
  },
  {
    name: "service_plans",
    help: "Plans that were applied and are not over, by state; absent where no plan was made",
    labels: ["state"],
    async read(service) {
      const open = (await service.existingPlans())?.ledger.plans({ open: true });
      const states = open ? ["running", "paused"] : [];
      return states.map((state) => ({
        labels: { state },
        value: open?.filter((plan) => plan.state === state).length ?? 0,
      }));
    },
  },
  {
    name: "service_plan_targets",
    help: "Hosts of the plans that are not over, by state; absent without such a plan",
    labels: ["state"],
    async read(service) {
      const ledger = (await service.existingPlans())?.ledger;
      const sums = new Map<string, number>();
      for (const { seq } of ledger?.plans({ open: true }) ?? []) {
        for (const [state, hosts = 0] of Object.entries(ledger?.counts(seq) ?? {})) {
          sums.set(state, (sums.get(state) ?? 0) + hosts);
        }
      }
      return Array.from(sums, ([state, value]) => ({ labels: { state }, value }));
    },
  },
  {
    name: "service_fleet_drift",
    help: "Hosts that differ from the state of that name which was applied to them last (svc fleet); absent before the first look, which a server has each hour",
    labels: ["state"],
    read: (service) =>
      Array.from(service.driftFound(), ([state, { hosts }]) => ({
        labels: { state },
        value: hosts.filter((one) => one.state === "drift").length,
      })),
  },
];
