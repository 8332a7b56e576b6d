/**
 * NATS as hosts and desks use it: the state of their connections.
 */
import * as v from "valibot";
import { NO_INPUT } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { Failure } from "../../../lib/errors";
import { configFiles } from "../../../lib/paths";
import type { ServerParts } from "../../../wire/nats/desk-part";
import { shown } from "../../../wire/nats/kept-connection";
import { FIRST } from "../../../wire/nats/region";
import type { NatsDesk } from "../desk";

const CONNECTION = {
  /** The public half of the NKey of this machine; empty, as `urls` may be, where nats.json has none that can be read. */
  id: v.string(),
  urls: v.array(v.string()),
  /** `waiting`: for its next attempt; `off`: it does not connect. */
  state: v.picklist(["connecting", "connected", "waiting", "off"]),
  /** Since when, and when it is tried again, ISO 8601. */
  since: v.nullable(v.string()),
  next: v.nullable(v.string()),
  /** Why there is no connection, or why the last one ended. */
  problem: v.nullable(v.string()),
  /** How often it was tried since the server started. */
  attempts: v.number(),
  /** Since when there is no connection, ISO 8601; null while there is one, and where none is kept. */
  lost: v.nullable(v.string()),
};

const HOST = v.object(CONNECTION);

export type NatsHostState = v.InferOutput<typeof HOST>;

/** What a desk says of its connection to one server. */
const DESK = {
  ...CONNECTION,
  /** How many hosts of the address book are connected, and how many others were; null where this process does not follow it. */
  hosts: v.nullable(v.object({ up: v.number(), gone: v.number() })),
  /** Hosts of which two machines have the key: one is a copy of the other. */
  twins: v.array(v.string()),
};

interface Connection extends Pick<NatsDesk, "about" | "state" | "presence"> {
  /** Why none was tried yet. */
  readonly problem?: string;
}

interface Uses {
  readonly configDir: string;
  natsHost(): Promise<NatsHostState | null>;
  /** By region; empty where this desk uses no NATS, or has not connected yet. */
  natsDesks(): ReadonlyMap<string, Connection>;
  /** Of a caller for some hosts, with these alone. */
  addressBook(): Promise<{ hosts(): ReadonlyArray<{ readonly label: string }> }>;
}

export type NatsStates = v.InferOutput<typeof showNats.output>;

export const showNats = operation({
  name: "nats.show",
  summary: "Show the connections of this host and of this desk to their NATS server",
  scope: "read",
  http: { method: "GET", path: "/nats/state" },
  answeredBy: "server or here",
  leftOut: { script: "a connection is of the server; hosts are asked with `on`" },
  input: NO_INPUT,
  output: v.object({
    /** As a host; null where this host has joined no desk with a NATS server. */
    host: v.nullable(HOST),
    /** As a desk; null where there is no nats.json. */
    desk: v.nullable(
      v.object({
        ...DESK,
        /** The same of the server of each region, where this desk has several servers. */
        regions: v.array(v.object({ region: v.string(), ...DESK })),
        /** Why nats.json as it is now cannot be used: what it said before holds, for a server that has read that. Null where it can. */
        fault: v.nullable(v.string()),
      }),
    ),
  }),
  async run(service: Uses, _input, { grant }) {
    const used = service.natsDesks();
    const { parts, fault } = await written(service.configDir);
    const desks = used.size > 0 ? used : unused(parts, fault);
    const twins = [...desks.values()].some(({ presence }) => (presence?.twins().length ?? 0) > 0);
    const own =
      grant.on === undefined || !twins
        ? undefined
        : new Set((await service.addressBook()).hosts().map(({ label }) => label));
    const first = desks.get(FIRST);
    const regions = Array.from(desks).filter(([region]) => region !== FIRST);
    return {
      host: await service.natsHost(),
      desk: first
        ? {
            ...connectionOf(first, own),
            regions: regions.map(([region, desk]) => ({ region, ...connectionOf(desk, own) })),
            fault,
          }
        : null,
    };
  },
});

/** @param own the labels that the caller may see; undefined for all. */
function connectionOf(
  { about, state, presence, problem = NOT_YET }: Connection,
  own: ReadonlySet<string> | undefined,
) {
  const now = state();
  return {
    id: about.id,
    urls: [...about.urls],
    ...(now
      ? shown(now)
      : { state: "off" as const, since: null, next: null, problem, attempts: 0, lost: null }),
    hosts: presence?.counts() ?? null,
    twins: (presence?.twins() ?? []).filter((label) => own?.has(label) ?? true),
  };
}

const NOT_YET = "it has not connected yet: `svc serve` does";

/** What nats.json says now, or why it cannot be used. */
async function written(configDir: string): Promise<{ parts: ServerParts; fault: string | null }> {
  const { readServers } = await import("../../../wire/nats/desk-part");
  try {
    return { parts: readServers(configFiles(configDir).nats), fault: null };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { parts: new Map(), fault: error.message };
  }
}

/** A desk that nothing has needed yet in this process; empty where there is no nats.json. */
function unused(parts: ServerParts, fault: string | null): Map<string, Connection> {
  const none = { state: () => null, presence: undefined };
  if (fault !== null) return new Map([[FIRST, { ...none, about: { id: "", urls: [] }, problem: fault }]]);
  return new Map(
    Array.from(parts, ([region, part]): [string, Connection] => {
      if (part instanceof Failure) return [region, { ...none, about: part.about, problem: part.message }];
      return [region, { ...none, about: { id: part.desk.id, urls: part.server.urls } }];
    }),
  );
}

export const operations = [showNats];
