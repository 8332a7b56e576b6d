/**
 * What the process of a session (`worker.ts`) does, and the events it reports.
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

/** What the process of a session does. */
export interface SessionCalls {
  /** Loads the library. Returns its version. */
  probe(): Promise<string>;
  /** Makes an offer. Returns its SDP. */
  offer(ice: IceConfig): Promise<string>;
  /** Takes the answer to the offer. */
  accept(sdp: string, acks: boolean): Promise<void>;
  /** Takes an offer. Returns the SDP of the answer. */
  answer(ice: IceConfig, sdp: string, inbox: InboxPlace, acks: boolean): Promise<string>;
  /** Sends a file; resolves when the peer has it. */
  send(transfer: number, path: string, name: string): Promise<void>;
}

/** Readings of the link; counters go up while the connection lives. */
export interface LinkCounters {
  readonly rttMs: number | null;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

/** What it reports. */
export interface SessionEvents {
  open(): void;
  closed(reason: string): void;
  stats(counters: LinkCounters, route: string | null): void;
  /** How many bytes of a file that is being sent have left. */
  progress(transfer: number, bytes: number): void;
  /** A file of the peer is in the inbox. */
  received(): void;
  trouble(text: string): void;
}
