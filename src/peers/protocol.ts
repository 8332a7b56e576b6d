/**
 * What the process of a session (`worker.ts`) does, and the events it reports.
 */
import type { IceConfig } from "./ice";

/** The inbox for the files of a peer. */
export interface InboxPlace {
  /** The folder of all inboxes. */
  readonly folder: string;
  /** The database that records which sender wrote which file. */
  readonly index: string;
  /** The folder of this sender; a safe file name. */
  readonly sender: string;
  /** The most that all inboxes may hold together, bytes; 0 for no limit. */
  readonly quota: number;
  /** What must stay free on the disk, bytes. */
  readonly minFree: number;
}

/** What the process of a session does. */
export interface SessionCalls {
  /** Loads the library. Returns its version. */
  probe(): Promise<string>;
  /** Makes an offer. Returns its SDP. */
  offer(ice: IceConfig): Promise<string>;
  /** Accepts the answer to the offer. */
  accept(sdp: string, acks: boolean): Promise<void>;
  /** Accepts an offer. Returns the SDP of the answer. */
  answer(ice: IceConfig, sdp: string, inbox: InboxPlace, acks: boolean): Promise<string>;
  /** Sends a file; resolves when the peer has it. */
  send(transfer: number, path: string, name: string): Promise<void>;
}

/** The counters of a link; they only grow during a connection. */
export interface LinkCounters {
  readonly rtt_ms: number | null;
  readonly bytes_sent: number;
  readonly bytes_received: number;
}

/** What it reports. */
export interface SessionEvents {
  open(): void;
  closed(reason: string): void;
  stats(counters: LinkCounters, route: string | null): void;
  /** How many bytes of a file were sent. */
  progress(transfer: number, bytes: number): void;
  /** A file of the peer is in the inbox. */
  received(): void;
  trouble(text: string): void;
}
