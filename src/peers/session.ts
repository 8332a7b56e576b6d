/**
 * One peer session, as its owner sees it: a process (`worker.ts`) and the state that it reports.
 */
import { startChild } from "../lib/child";
import { unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import { selfCommand } from "../lib/self-command";
import type { IceConfig } from "./ice";
import type { InboxPlace, LinkCounters, SessionCalls, SessionEvents } from "./protocol";

/** The name of the process in messages. */
const WHAT = "the process of the session";

/** How long loading the library may take, milliseconds. */
const PROBE_MS = 5_000;

/** How long describing a connection may take, milliseconds: it asks STUN and TURN servers, which may be unreachable. */
const DESCRIBE_MS = 30_000;

/** How long two peers may take to connect after the exchange of offer and answer, milliseconds. */
const CONNECT_MS = 30_000;

/** How long its process may take to end, milliseconds: some peers get time to receive what was sent. */
const LEAVE_MS = 5_000;

/** A file to send. */
export interface SessionSend {
  readonly path: string;
  readonly name: string;
  /** Receives the number of bytes sent. */
  readonly progress?: (bytes: number) => void;
}

export interface PeerSession {
  readonly id: string;
  /** The id of its process. */
  readonly pid: number;
  /** `host`: this side answered; `viewer`: this side called. */
  readonly role: "host" | "viewer";
  /** The id of the other side. */
  peer: string;
  readonly since: Date;
  state: "connecting" | "open" | "closed";
  /** The candidate types of this side and the other (`host/relay`); null until they are connected. */
  route: string | null;
  counters: LinkCounters;
  filesReceived: number;
  /** Makes an offer. @returns its SDP. @throws an `unavailable` failure when there is no WebRTC here. */
  offer(ice: IceConfig): Promise<string>;
  /** Accepts the answer to the offer. @throws a `rejected` failure when it is not one. */
  accept(sdp: string, acks: boolean): Promise<void>;
  /** Answers an offer. @returns the SDP of the answer. @throws as the two above. */
  answer(ice: IceConfig, sdp: string, inbox: InboxPlace, acks: boolean): Promise<string>;
  /** Resolves when the two sides are connected. @throws an `unavailable` failure when they cannot connect. */
  readonly opened: Promise<void>;
  /** Resolves with the reason when the session has ended. */
  readonly closed: Promise<string>;
  /** Resolves when the peer has the file. @throws why it does not; the session may continue. */
  send(file: SessionSend): Promise<void>;
  close(reason: string): Promise<void>;
}

export interface SessionOptions {
  readonly id: string;
  readonly role: PeerSession["role"];
  readonly peer: string;
  readonly log: Log;
  /** Receives the counters of the link, once a second. */
  readonly counted: (counters: LinkCounters) => void;
}

/** The version of the WebRTC library. @throws an `unavailable` failure when there is none on this machine. */
export async function probeWebRtc(log: Log): Promise<string> {
  await using child = startChild<SessionCalls>({ command: selfCommand(["session-child"]), what: WHAT, log });
  return await child.calls(PROBE_MS).probe();
}

export function startSession({ id, role, peer, log, counted }: SessionOptions): PeerSession {
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<string>();
  opened.promise.catch(() => {});
  const sends = new Map<number, SessionSend>();
  let nextTransfer = 1;

  /** Why this side ended the session. */
  let parting: string | undefined;

  const close = async (reason: string) => {
    if (session.state === "closed") return;
    session.state = "closed";
    if (!child.ended()) parting = reason;
    clearTimeout(late);
    opened.reject(unavailable(reason));
    await child.leave(LEAVE_MS);
    closed.resolve(reason);
  };
  let late: ReturnType<typeof setTimeout> | undefined;
  const expectPeer = () => {
    if (session.state !== "connecting") return;
    late = setTimeout(() => close("the two hosts could not connect within half a minute"), CONNECT_MS);
  };

  const child = startChild<SessionCalls, SessionEvents>({
    command: selfCommand(["session-child"]),
    what: WHAT,
    log,
    events: {
      open() {
        if (session.state !== "connecting") return;
        clearTimeout(late);
        session.state = "open";
        opened.resolve();
      },
      closed: (reason) => void close(reason),
      stats(counters, route) {
        session.route = route;
        session.counters = counters;
        if (session.state === "open") counted(counters);
      },
      progress: (transfer, bytes) => sends.get(transfer)?.progress?.(bytes),
      received() {
        session.filesReceived += 1;
      },
      trouble: (text) => log.warn(`session ${id}: ${text}`),
    },
    exit: () => close("its process ended"),
  });
  const calls = child.calls(DESCRIBE_MS);

  const session: PeerSession = {
    id,
    pid: child.pid,
    role,
    peer,
    since: new Date(),
    state: "connecting",
    route: null,
    counters: { rttMs: null, bytesSent: 0, bytesReceived: 0 },
    filesReceived: 0,
    offer: calls.offer,
    async answer(ice, sdp, inbox, acks) {
      const answer = await calls.answer(ice, sdp, inbox, acks);
      expectPeer();
      return answer;
    },
    async accept(sdp, acks) {
      expectPeer();
      await calls.accept(sdp, acks);
    },
    opened: opened.promise,
    closed: closed.promise,
    async send(file) {
      const transfer = nextTransfer++;
      sends.set(transfer, file);
      try {
        await child.calls().send(transfer, file.path, file.name);
      } catch (error) {
        throw parting === undefined ? error : unavailable(parting);
      } finally {
        sends.delete(transfer);
      }
    },
    close,
  };
  return session;
}
