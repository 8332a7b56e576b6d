/**
 * Links: the state of a host's own, and the list of those of a hub.
 */
import * as v from "valibot";
import { NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import { SocketAnswer } from "../../core/socket";
import { forbidden, notFound } from "../../lib/errors";
import { findRunningServer } from "../../lib/running-server";
import { PROTOCOL } from "../../wire/link/frames";
import { HOST_LINK, type HostLink, type Hub, LINK_STATE } from "../../wire/link/links";
import type { AddressBook } from "../fleet/address-book";
import type { LinkHub } from "./hub";

interface Uses {
  readonly configDir: string;
  hub(): Hub | null;
  openHub(): Promise<LinkHub | null>;
  hostLink(): Promise<HostLink | null>;
}

interface ListUses extends Uses {
  addressBook(): Promise<Pick<AddressBook, "hosts">>;
}

const NOT_HERE = "a link is of the server; its hosts are asked with `on`";

const openLink = operation({
  name: "link.open",
  summary: "Open a link: a host that has joined dials, and answers requests over the connection",
  scope: "any",
  http: { method: "GET", path: "/link", public: "signed", socket: PROTOCOL },
  leftOut: { cli: "`svc serve` on the host dials", script: NOT_HERE },
  input: NO_INPUT,
  output: v.instance(SocketAnswer),
  async run(service: Uses, _input, { client, request }) {
    const hub = await service.openHub();
    if (!hub) throw notFound("this server takes no links: it was started without --hub");
    // Browsers name the page that asks (RFC 6455 section 4.1): none may hold connections that hosts need to prove who they are.
    if (request?.headers?.has("origin")) throw forbidden("a page in a browser is no host");
    return new SocketAnswer(hub.accept(client ?? "unknown", request?.clientKey));
  },
});

export const showLink = operation({
  name: "link.show",
  subcommand: "link",
  summary: "Show the link of this host to its desk, and how many links this desk has",
  scope: "read",
  http: { method: "GET", path: "/link/state" },
  answeredBy: "server or here",
  leftOut: { script: NOT_HERE },
  input: NO_INPUT,
  output: v.object({
    /** Whether a server runs here: links are its. */
    served: v.boolean(),
    /** Null where this host has joined no desk. */
    host: v.nullable(HOST_LINK),
    /** Null where the server takes no links. */
    hub: v.nullable(
      v.object({ links: v.number(), /** Those that had one since the server started. */ gone: v.number() }),
    ),
  }),
  async run(service: Uses) {
    const served = findRunningServer(service.configDir) !== null;
    return { served, host: await service.hostLink(), hub: service.hub()?.counts() ?? null };
  },
});

export const listLinks = operation({
  name: "link.list",
  summary: "List the hosts that are linked to this desk, or that it would reach over a link",
  scope: "read",
  http: { method: "GET", path: "/links" },
  answeredBy: "server",
  leftOut: { script: NOT_HERE },
  input: NO_INPUT,
  output: v.object({
    links: v.array(LINK_STATE),
    /** Hosts of the address book that are reached over a link, and have had none since the server started. */
    unseen: v.array(v.object({ host_id: v.string(), label: v.string() })),
  }),
  async run(service: ListUses, _input, { grant }) {
    const hub = service.hub();
    if (!hub) throw notFound("this server takes no links: start it with --hub");
    const hosts = await knownHosts(service);
    const own = new Set(hosts.flatMap(({ member }) => member?.host_id ?? []));
    // Who is for some hosts alone is shown the links of those.
    const links = [...hub.links()].filter(({ host_id }) => grant.on === undefined || own.has(host_id));
    const seen = new Set(links.map(({ host_id }) => host_id));
    const unseen = hosts.flatMap(({ label, base_url, member }) => {
      const isUnseen = member && base_url.startsWith("link:") && !seen.has(member.host_id);
      return isUnseen ? [{ host_id: member.host_id, label }] : [];
    });
    return { links, unseen };
  },
});

/** The hosts of the address book; none while it cannot be read, as for the hub. */
async function knownHosts(service: ListUses) {
  try {
    return (await service.addressBook()).hosts();
  } catch {
    return [];
  }
}

export const operations = [openLink, showLink, listLinks];
