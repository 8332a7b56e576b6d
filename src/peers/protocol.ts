/**
 * What a session's process (`child.ts`) can be asked, and what it tells.
 */
import type { IceConfig } from "./ice";

/** Where files of the peer go. */
export interface InboxPlace {
  readonly folder: string;
  readonly books: string;
  readonly sender: string;
  readonly quota: number;
  readonly minFree: number;
}

export type SessionRequest =
  /** Loads the library; answered by its version. */
  | { readonly do: "probe" }
  /** Makes an offer; answered by its SDP. */
  | { readonly do: "offer"; readonly ice: IceConfig }
  /** Takes the answer to it. */
  | { readonly do: "accept"; readonly sdp: string; readonly acks: boolean }
  /** Takes an offer; answered by the SDP of the answer. */
  | {
      readonly do: "answer";
      readonly ice: IceConfig;
      readonly sdp: string;
      readonly inbox: InboxPlace;
      readonly acks: boolean;
    }
  /** Sends a file; answered when the peer has it. */
  | { readonly do: "send"; readonly transfer: number; readonly path: string; readonly name: string };

/** Readings of the link; counters go up while the connection lives. */
export interface LinkCounters {
  readonly rttMs: number | null;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

export type SessionEvent =
  | { readonly kind: "open" }
  | { readonly kind: "closed"; readonly reason: string }
  | { readonly kind: "stats"; readonly counters: LinkCounters; readonly route: string | null }
  | { readonly kind: "progress"; readonly transfer: number; readonly bytes: number }
  /** A file of the peer is in the inbox. */
  | { readonly kind: "received" }
  | { readonly kind: "trouble"; readonly text: string };
