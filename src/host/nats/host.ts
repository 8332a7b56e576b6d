/**
 * The host's side of NATS: keeps a connection up, says that this host is there, and answers requests of its desk.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { jitter } from "../../lib/backoff";
import { resolvesWithin } from "../../lib/deadline";
import type { Login } from "../../wire/nats/connect";
import { guarded } from "../../wire/nats/guarded-connection";
import { AMONG_MANY, type ConnectionState, keepConnection } from "../../wire/nats/kept-connection";
import { HELLO_MS } from "../../wire/nats/presence";
import { newSession, subjectsOf } from "../../wire/nats/wire";
import type { DialParts } from "../link/dial";
import { createNatsRequests, type NatsRequests, type ServeParts } from "./serve";

/** How long requests under way may take when svc stops, in milliseconds. */
const GRACE_MS = 8_000;

const NOTHING = new Uint8Array();

export interface HostParts
  extends Pick<ServeParts, "id" | "hostId" | "deskKey" | "enter">,
    Pick<DialParts, "records" | "version" | "log" | "random"> {
  login(): Login;
}

/** The connection of a host to its NATS server. */
export interface NatsHost {
  state(): ConnectionState;
  /** Answers what is under way, says that this host stops, and ends the connection. */
  stop(): Promise<void>;
}

export function keepNatsHost({ id, login, records, version, log, random, ...own }: HostParts): NatsHost {
  const subjects = subjectsOf(id);
  let served: NatsRequests | undefined;
  let sayBye = () => {};
  const connected = (connection: NatsConnection) => {
    const { publish, follow, drained } = guarded(connection, log);
    sayBye = () => publish(subjects.bye, NOTHING);
    // A new one for each connection, as what was seen on the last one is forgotten with it: nothing of that can be sent again.
    const session = newSession();
    const requests = createNatsRequests({ ...own, id, session, publish, drained, log });
    served = requests;
    follow(subjects.ask, ({ reply, data }) => requests.take(reply, data));
    const about = JSON.stringify({ v: 1, session, connection: session, version, records: records() });
    let timer: Timer;
    const hello = () => {
      publish(subjects.hello, Buffer.from(about));
      timer = setTimeout(hello, jitter(HELLO_MS, [0.8, 1.2], random));
    };
    hello();
    log.info(`connected to the NATS server at ${connection.getServer()}`);
    return () => {
      clearTimeout(timer);
      requests.endAll();
    };
  };
  const kept = keepConnection({ login, connected, log, random, firstAttempt: AMONG_MANY });
  return {
    state: kept.state,
    async stop() {
      await resolvesWithin(GRACE_MS, served?.finish() ?? Promise.resolve());
      sayBye();
      await kept.stop();
    },
  };
}
