/**
 * The REST server of a service, at most one at a time: the app on a port, its token, its claim on `{config_dir}`, its end.
 */
import { resolve } from "node:path";
import { parseInput } from "../core/input";
import { NEEDS } from "../core/rights";
import { conflict, messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { isLoopback } from "../lib/loopback";
import { configFiles } from "../lib/paths";
import { createQueue } from "../lib/queue";
import { removeRunFile, writeRunFile } from "../lib/running-server";
import { spkiPin } from "../lib/spki";
import type { TokenSource } from "../trust/owner-token";
import { version } from "../version";
import { createClientResolver } from "./client-address";
import type { LinkEntry } from "./exchange";
import { type Listener, listen, urlHost } from "./listen";
import { type RestServerOptions, SERVER_OPTIONS } from "./options";
import { createRepeats, type Repeats } from "./repeats";
import { enterOver, openServerParts, type ServerParts } from "./server-parts";
import type { ServerUses } from "./server-uses";
import { keyFiles, type ServerTls } from "./tls";
import { limitTurn } from "./turn";

/** A server that accepts connections. */
export interface RestServer {
  /** Where it answers, without a trailing slash; an unspecified address is shown as loopback. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Whether it takes the word of a proxy for who asks (`trust_proxy`). */
  readonly trustsProxy: boolean;
  /** The pin of its key; undefined for plain http. */
  pin(): string | undefined;
  /** When its certificate ends, in milliseconds since 1970; undefined for plain http. */
  certificateEnds(): number | undefined;
  /**
   * Answers a request that came over the link to the desk, or over NATS, as one over HTTP with a token.
   *
   * @param tokenName of the token that the desk has.
   * @param desk its address.
   * @param via what it came over (default: the link).
   * @param asking which of the desks with that token asks, where there may be several and that is proven.
   */
  enter(
    request: Request,
    tokenName: string,
    desk: string,
    via?: LinkEntry["via"],
    asking?: string,
  ): Promise<Response>;
  /** Whether others can read what travels: it speaks plain http beyond loopback. */
  readonly insecure: boolean;
  /** Whether its requests leave rows in the audit log. */
  readonly audit: boolean;
  readonly token: TokenSource;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /** Seconds since then, even if the clock was set meanwhile. */
  uptimeSeconds(): number;
  /** Resolves when it stops, whoever stops it. */
  readonly stopped: Promise<void>;
  /** Reads the tokens and the certificate again now if their files have changed. */
  refresh(): Promise<void>;
  /** Refuses new connections, lets requests in flight finish for {@link GRACE_MS}, then cuts them off. */
  stop(): Promise<void>;
}

/** Starts and stops the server of a service. */
export interface RestControl {
  /** The server that runs, or null. */
  readonly server: RestServer | null;
  /**
   * Starts a server.
   *
   * @throws `conflict` when one runs already, here or on the same `{config_dir}`, or the port is taken; `bad_input` for an
   *   unusable option; `unavailable` for a file that cannot be read, or an audit log that cannot be written. Nothing is left running or claimed then.
   */
  start(options: RestServerOptions): Promise<RestServer>;
  /** Whether a server runs and its listener answers. */
  answers(): Promise<boolean>;
  /** Finishes the requests in flight, then stops; does nothing when no server runs. */
  stop(): Promise<void>;
}

export function createRestControl(service: ServerUses): RestControl {
  const repeats = createRepeats(() => configFiles(service.configDir).idempotency, service.log);
  let server: RestServer | null = null;
  let starting: Promise<RestServer> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    get server() {
      return server;
    },
    async start(options) {
      if (server) throw conflict(`the REST server already runs at ${server.url}`);
      if (starting) throw conflict("the REST server is already starting");
      starting = startRestServer(service, repeats, options);
      try {
        server = await starting;
      } finally {
        starting = undefined;
      }
      return server;
    },
    answers: async () => server !== null && (await (await import("./probe")).answers(server.url)),
    async stop() {
      if (starting) await starting.catch(() => {});
      // A second caller waits as well: the process ends when this resolves.
      if (server) stopped = server.stop();
      server = null;
      await stopped;
      repeats.close();
    },
  };
}

/** How long requests in flight may take when the server stops. */
const GRACE_MS = 10_000;

async function startRestServer(
  service: ServerUses,
  repeats: Repeats,
  given: RestServerOptions,
): Promise<RestServer> {
  const options = parseInput(SERVER_OPTIONS, given);
  const { configDir, log } = service;
  const { host } = options;
  const keys = keyFiles(options);
  const clients = createClientResolver(options.trust_proxy);
  const release = await service.claimFolder();
  if (!release) throw conflict(`a server already runs on ${configDir}`);
  // What is undone when the start fails from here on.
  using undo = new DisposableStack();
  undo.defer(release);
  const answering = await openServerParts(service, repeats, {
    options,
    keys,
    clients,
    files: configFiles(configDir),
  });
  const { app, tls, credentials, connections } = answering;
  const listener = listen({ host, port: options.port, tls: tls?.settings(), fetch: limitTurn(app.fetch) });
  undo.defer(() => void listener.stop(true));
  const endWatch = connections.watch(listener.port);
  undo.defer(endWatch);
  const url = `${tls ? "https" : "http"}://${urlHost(host)}:${listener.port}`;
  const publish = () => publishAddress(service, { url, host, tls, token: credentials.token });
  // Before the address is there to be found: who finds a server finds the way to it.
  const door = await service.answerAsOwner();
  // Its socket would keep a process that failed to start from ending.
  undo.defer(() => void door.stop());
  publish();
  undo.move();
  const insecure = !tls && !isLoopback(host);
  if (insecure) {
    log.warn(
      `${host} is reachable from other machines, and tokens travel unencrypted: start svc without --insecure-http`,
    );
  }
  const renewal = renewTls(answering, listener, publish, log);
  const started = performance.now();
  const stopped = Promise.withResolvers<void>();
  return {
    url,
    host,
    port: listener.port,
    tls: tls !== null,
    trustsProxy: options.trust_proxy.length > 0,
    pin: () => pinOf(tls),
    certificateEnds: () => endOf(tls),
    enter: (request, tokenName, desk, via = "link", asking = "") =>
      enterOver(answering, request, tokenName, desk, via, asking),
    insecure,
    audit: answering.isAudited,
    token: credentials.token,
    startedAt: Date.now(),
    uptimeSeconds: () => (performance.now() - started) / 1_000,
    stopped: stopped.promise,
    async refresh() {
      credentials.refresh();
      answering.openAnswers.look();
      await renewal.look();
    },
    async stop() {
      stopped.resolve();
      await finish(answering, listener, renewal, door);
      endWatch();
      await answering.audit.close();
      answering.uses.flush();
      removeRunFile(configDir, process.pid);
      release();
    },
  };
}

/** Refuses new connections, lets requests in flight finish for {@link GRACE_MS}, then cuts them off. */
async function finish(
  { openAnswers, sockets, stopping }: ServerParts,
  listener: Listener,
  renewal: Renewal,
  door: { stop(): Promise<void> },
): Promise<void> {
  openAnswers.stop();
  sockets.stopping();
  const renewed = renewal.stop();
  const cutOff = setTimeout(() => {
    stopping.abort();
    sockets.endAll();
    void listener.stop(true);
  }, GRACE_MS);
  // An exchange under way opens another listener.
  await renewed;
  await Promise.all([door.stop(), listener.stop()]);
  // Those of listeners that were exchanged.
  sockets.endAll();
  clearTimeout(cutOff);
}

/** The pin of the key in use; undefined for plain http. */
const pinOf = (tls: ServerTls | null) => (tls ? spkiPin(tls.settings().cert) : undefined);

function endOf(tls: ServerTls | null): number | undefined {
  if (!tls) return undefined;
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  return Date.parse(new X509Certificate(tls.settings().cert).validTo);
}

/** How a server is reached. */
interface Address extends Pick<RestServer, "url" | "host" | "token"> {
  readonly tls: ServerTls | null;
}

/** Writes how the server is reached, for the other processes of the folder. */
function publishAddress(
  service: Pick<ServerUses, "configDir" | "permits">,
  { url, host, tls, token }: Address,
): void {
  writeRunFile(service.configDir, {
    url,
    host,
    pid: process.pid,
    version,
    token_file: token.file && resolve(token.file),
    ...(tls && {
      pin: pinOf(tls),
      tls_cert: tls.file && resolve(tls.file),
      asks_certificate: tls.settings().ca !== undefined,
    }),
    permits: NEEDS.filter((need) => service.permits(need)),
  });
}

/** How often to look whether the certificate or its key has changed, in milliseconds. */
const LOOK_MS = 5_000;

/** Follows the certificate and key of a server as they change. */
interface Renewal {
  /** Uses them as they are in their files now. */
  look(): Promise<void>;
  /** Looks no more. Resolves when an exchange under way is over. */
  stop(): Promise<void>;
}

/** @param publish is called after each exchange. */
function renewTls(
  { tls, openAnswers, names }: ServerParts,
  listener: Listener,
  publish: () => void,
  log: Log,
): Renewal {
  const inTurn = createQueue();
  const lookNow = async () => {
    if (!tls || !(await tls.look())) return;
    try {
      await listener.exchange(tls.settings());
      openAnswers.exchanged();
      names.renew();
      publish();
      log.info(`a new certificate is in use, ${pinOf(tls)}`);
    } catch (error) {
      log.error(`the old certificate stays in use: ${messageOf(error)}`);
    }
  };
  const look = () => inTurn(lookNow);
  const timer = tls ? setInterval(look, LOOK_MS).unref() : undefined;
  return {
    look,
    stop() {
      clearInterval(timer);
      return inTurn(() => {});
    },
  };
}
