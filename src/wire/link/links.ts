/**
 * What a hub offers: requests to hosts that have dialled it, and which hosts those are.
 */
import type { Asking } from "./asking";

/** A host that is linked, or was since the server started. */
export interface LinkState {
  readonly host_id: string;
  /** Its label in the address book. */
  readonly label: string;
  readonly linked: boolean;
  /** When the link came up, or went down, ISO 8601. */
  readonly since: string;
  /** The address of the other end, as the hub sees it. */
  readonly address: string;
  /** When the host was heard of last, ISO 8601. */
  readonly last_seen: string;
  /** How long the last answer to a ping took, in milliseconds; null before the first. */
  readonly rtt_ms: number | null;
  /** The version of svc on the host. */
  readonly version: string;
  /** When two hosts with this identity were linked at once last, ISO 8601, and the address of the one that lost its link. */
  readonly twin: { readonly at: string; readonly address: string } | null;
}

/** The links of a server that was started with `--hub`. */
export interface Hub extends Asking {
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
export interface HostLink {
  /** `host:port`. */
  readonly desk: string;
  readonly host_id: string;
  readonly label: string;
  /** `waiting`: for its next attempt; `off`: it does not dial. */
  readonly state: "dialling" | "linked" | "waiting" | "off";
  readonly since: string | null;
  readonly next: string | null;
  readonly problem: string | null;
  readonly rtt_ms: number | null;
  /** How often it has dialled since the server started. */
  readonly dials: number;
  /** Since when there is no link; null while there is one, and where it does not dial. */
  readonly lost: string | null;
  readonly twin: string | null;
}
