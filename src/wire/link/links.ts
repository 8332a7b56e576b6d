/**
 * What a hub offers: requests to hosts that have dialled it, and which hosts those are.
 */
import * as v from "valibot";
import type { HostRequests } from "./host-requests";

/** A host that is linked, or was since the server started. */
export const LINK_STATE = v.object({
  host_id: v.string(),
  /** Its label in the address book. */
  label: v.string(),
  linked: v.boolean(),
  /** When the link came up, or went down, ISO 8601. */
  since: v.string(),
  /** The address of the other end, as the hub sees it. */
  address: v.string(),
  /** When the host was heard of last, ISO 8601. */
  last_seen: v.string(),
  /** How long the last answer to a ping took, in milliseconds; null before the first. */
  rtt_ms: v.nullable(v.number()),
  /** The version of svc on the host. */
  version: v.string(),
  /** When two hosts with this identity were linked at once last, ISO 8601, and the address of the one that lost its link. */
  twin: v.nullable(v.object({ at: v.string(), address: v.string() })),
});

export type LinkState = Readonly<v.InferOutput<typeof LINK_STATE>>;

/** The links of a server that was started with `--hub`. */
export interface Hub extends HostRequests {
  /** All that are or were linked. */
  links(): readonly LinkState[];
  /** How many are linked, and how many others were. */
  counts(): { readonly links: number; readonly gone: number };
  /** Whether a host has no link, and was linked or had the time to dial since this desk started. */
  isGone(hostId: string): boolean;
  /** Whether a host may yet dial for the first time since this desk started. */
  isExpected(hostId: string): boolean;
  /** The id of the records of jobs of a linked host, as it said when it dialled; undefined where it did not, or has no link. */
  records(hostId: string): string | undefined;
}

/** The link of this host to the desk that it has joined. */
export const HOST_LINK = v.object({
  /** `host:port`. */
  desk: v.string(),
  host_id: v.string(),
  label: v.string(),
  /** `waiting`: for its next attempt; `off`: it does not dial. */
  state: v.picklist(["dialling", "linked", "waiting", "off"]),
  /** Since when, and when it dials again, ISO 8601. */
  since: v.nullable(v.string()),
  next: v.nullable(v.string()),
  /** Why the last link ended or did not come up. */
  problem: v.nullable(v.string()),
  /** How long the answer to the last ping took. */
  rtt_ms: v.nullable(v.number()),
  /** How often it has dialled since the server started. */
  dials: v.number(),
  /** Since when there is no link, ISO 8601; null while there is one, and where it does not dial. */
  lost: v.nullable(v.string()),
  /** The address of another host with the identity of this one. */
  twin: v.nullable(v.string()),
});

export type HostLink = Readonly<v.InferOutput<typeof HOST_LINK>>;
