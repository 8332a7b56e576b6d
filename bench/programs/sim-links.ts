/**
 * Simulated hosts that dial a hub, each over a WebSocket of its own. They trust whoever answers: what they prove is who they are.
 */

import { REDIAL } from "../../src/host/link/dial";
import { pauseBefore } from "../../src/lib/backoff";
import { type FromHub, linkMessage, PROTOCOL, parsePiece, pieceFrame } from "../../src/wire/link/frames";
import type { SimulatedHost } from "./sim-host";
import { identityOf, recordsOf } from "./sim-seed";

/** How many are dialling at once. */
const DIALLING = 64;

/** How often each says that it is there, in milliseconds. */
const PING_MS = 30_000;

/** The pieces of a request's body that are here. */
interface PendingRequest {
  readonly ask: Extract<FromHub, { t: "ask" }>;
  readonly pieces: Uint8Array[];
  missing: number;
}

export interface LinkOptions {
  /** As `ws://127.0.0.1:9939` or `wss://…`. */
  readonly url: string;
  readonly seed: string | number;
  /** The pin of the hub's TLS key; empty without TLS. */
  readonly pin: string;
  /** Is called with each request that reaches a host. */
  readonly seen?: (host: SimulatedHost, path: string) => void;
}

/** Links those of `hosts` that are not dead until the scope ends. */
export function linkHosts(hosts: readonly SimulatedHost[], { url, seed, pin, seen }: LinkOptions) {
  let ended = false;
  let dialling = 0;
  let linked = 0;
  const waiting: Array<() => void> = [];
  const open = new Set<WebSocket>();
  const cuts = new Map<number, () => void>();
  /** What hubs said as they ended a link. */
  const reasons = new Map<string, number>();

  const turn = () => {
    while (dialling < DIALLING && waiting.length > 0) {
      dialling++;
      waiting.shift()?.();
    }
  };

  const dial = (host: SimulatedHost, attempt: number) => {
    if (ended) return;
    const socket = new WebSocket(`${url}/link`, {
      protocols: [PROTOCOL],
      perMessageDeflate: false,
      tls: { rejectUnauthorized: false },
    } as unknown as string[]);
    socket.binaryType = "arraybuffer";
    open.add(socket);
    let state: "dialling" | "linked" | "over" = "dialling";
    let flap: Timer | undefined;
    const asked = new Map<number, PendingRequest>();
    const over = (reason: string) => {
      if (state === "over") return;
      if (state === "dialling") dialling--;
      else linked--;
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      const failures = state === "linked" ? 0 : attempt + 1;
      state = "over";
      clearTimeout(flap);
      open.delete(socket);
      cuts.delete(host.nth);
      turn();
      if (ended) return;
      setTimeout(() => queue(host, failures), pauseBefore(REDIAL, failures, host.random));
    };
    const cut = () => {
      socket.terminate();
      over("cut");
    };
    const answer = async ({ ask, pieces }: PendingRequest) => {
      seen?.(host, ask.path);
      const fate = host.fate();
      if (fate.lost === "request") return cut();
      if (fate.delayMs > 0) await Bun.sleep(fate.delayMs);
      const { pathname } = new URL(ask.path, "http://sim");
      const text = Buffer.concat(pieces).toString();
      const answers = Array.from({ length: fate.twice ? 2 : 1 }, () =>
        host.answer(ask.method, pathname, text),
      );
      const [first] = await Promise.all(answers);
      if (state !== "linked" || !first) return;
      if (fate.lost === "answer") return cut();
      const { id } = ask;
      socket.send(JSON.stringify({ t: "head", id, status: first.status, type: "application/json" }));
      socket.send(pieceFrame(id, Buffer.from(JSON.stringify(first.body))));
      socket.send(JSON.stringify({ t: "end", id }));
    };
    const heard = (frame: FromHub) => {
      if (frame.t === "hello") {
        const identity = identityOf(seed, host.nth);
        const signature = identity.sign(linkMessage(frame.nonce, pin, identity.hostId));
        const about = { host_id: identity.hostId, signature, process: `sim-${host.nth}`, version: "0.1.0" };
        socket.send(JSON.stringify({ t: "host", ...about, yields: false, records: recordsOf(host.nth) }));
      } else if (frame.t === "ready") {
        state = "linked";
        dialling--;
        linked++;
        cuts.set(host.nth, cut);
        const lasts = host.linkMs();
        if (lasts !== null) flap = setTimeout(cut, lasts);
        turn();
      } else if (frame.t === "ask") {
        const one = { ask: frame, pieces: [], missing: frame.bytes ?? 0 };
        if (one.missing === 0) void answer(one);
        else asked.set(frame.id, one);
      } else if (frame.t === "cancel") {
        asked.delete(frame.id);
      } else if (frame.t === "drain") {
        socket.close(1_000);
      }
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") return heard(JSON.parse(data) as FromHub);
      const piece = parsePiece(new Uint8Array(data as ArrayBuffer));
      const one = piece && asked.get(piece.id);
      if (!piece || !one) return;
      one.pieces.push(piece.bytes);
      one.missing -= piece.bytes.length;
      if (one.missing > 0) return;
      asked.delete(piece.id);
      void answer(one);
    };
    socket.onerror = () => over("error");
    socket.onclose = ({ code, reason }) => over(`${code} ${reason}`);
  };

  const queue = (host: SimulatedHost, attempt = 0) => {
    waiting.push(() => dial(host, attempt));
    turn();
  };
  for (const host of hosts) if (!host.isDead) queue(host);
  const pinging = setInterval(() => {
    for (const socket of open) if (socket.readyState === WebSocket.OPEN) socket.ping();
  }, PING_MS);

  return {
    linked: () => linked,
    reasons,
    /** Breaks the link of a host. */
    cut: (host: SimulatedHost) => cuts.get(host.nth)?.(),
    [Symbol.dispose]() {
      ended = true;
      clearInterval(pinging);
      for (const socket of open) socket.terminate();
    },
  };
}
