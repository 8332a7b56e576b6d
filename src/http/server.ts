/**
 * The REST server of a service, at most one at a time: the app on a port, its token, its claim on `{config_dir}`, its end.
 */
import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { parseInput } from "../core/input";
import type { Operation } from "../core/operation";
import { type Grant, NEEDS, type Permission } from "../core/rights";
import { withinDescriptors } from "../lib/descriptors";
import { conflict, messageOf, unavailable } from "../lib/errors";
import { clearLeftovers } from "../lib/files";
import type { Release } from "../lib/lock";
import type { Log } from "../lib/log";
import { isLoopback } from "../lib/loopback";
import { configFiles } from "../lib/paths";
import { removeRunFile, writeRunFile } from "../lib/running-server";
import { spkiPin } from "../lib/spki";
import { openSigningKey } from "../trust/identity";
import { watchTokens } from "../trust/named-tokens";
import { watchPreviousTokens } from "../trust/own-rotation";
import { openToken } from "../trust/owner-token";
import { digestToken, type GrantOf, ownerToken } from "../trust/scopes";
import { noteTokenUse } from "../trust/token-use";
import { version } from "../version";
import { createApp } from "./app";
import type { RunOne } from "./call";
import { createClientResolver } from "./client-address";
import { type ConnectionLimit, createConnections } from "./connections";
import type { LinkEntry } from "./exchange";
import { createGate } from "./gate";
import { createHostCheck } from "./host-header";
import { listen, urlHost } from "./listen";
import type { RequestMetrics } from "./measure";
import { createOpenAnswers } from "./open-answers";
import { type RestServerOptions, SERVER_OPTIONS } from "./options";
import { certificateNames, machineNames } from "./own-names";
import { createRepeats, type Repeats } from "./repeats";
import { type AuditLog, createRequestAudit } from "./request-audit";
import { createSockets } from "./sockets";
import { keyFiles, openTls } from "./tls";
import { limitTurn } from "./turn";
import { createUnread } from "./unread";

/** A server that accepts connections. */
export type RestServer = Awaited<ReturnType<typeof startRestServer>>;

/** What the server needs of the service that it belongs to. */
export interface ServerUses {
  readonly configDir: string;
  readonly log: Log;
  /** Gives the folder the format of this svc, and claims it; undefined where another server has it. */
  claimFolder(): Promise<Release | undefined>;
  permits(need: Permission): boolean;
  operations(): Promise<readonly Operation[]>;
  executor(): Promise<{ readonly runOne: RunOne }>;
  /** Aborted once the token of that name is revoked. */
  untilRevoked(token: string): AbortSignal;
  /** Whether a person allows each look of a grant at the screen first; undefined where that is never so. */
  asksPerson(): Promise<((grant: Grant) => boolean) | undefined>;
  /** Answers the other processes of the folder, once it is claimed. @throws an `unavailable` failure where that cannot be. */
  answerAsOwner(): Promise<{ stop(): Promise<void> }>;
  audit(): Promise<
    | (AuditLog & {
        limitRows(max: number): void;
        keepCheckpoints(): Promise<void>;
        problem(): Promise<string | null>;
      })
    | null
  >;
  metrics(): Promise<
    RequestMetrics & { recordAuditFailure(): void; recordRefusedConnection(limit: ConnectionLimit): void }
  >;
}

export type RestControl = ReturnType<typeof createRestControl>;

export function createRestControl(service: ServerUses) {
  const repeats = createRepeats(() => configFiles(service.configDir).idempotency, service.log);
  let server: RestServer | null = null;
  let starting: Promise<RestServer> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    /** The server that runs, or null. */
    get server() {
      return server;
    },
    /**
     * Starts a server.
     *
     * @throws `conflict` when one runs already, here or on the same `{config_dir}`, or the port is taken; `bad_input` for an
     *   unusable option; `unavailable` for a file that cannot be read, or an audit log that cannot be written. Nothing is left running or claimed then.
     */
    async start(options: RestServerOptions) {
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
    /** Whether a server runs and its listener answers. */
    answers: async () => server !== null && (await (await import("./probe")).answers(server.url)),
    /** Finishes the requests in flight, then stops; does nothing when no server runs. */
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

/** How often to look whether the certificate or its key has changed, in milliseconds. */
const LOOK_MS = 5_000;

/** How long requests in flight may take when the server stops. */
const GRACE_MS = 10_000;

/** In place of the listener, for a request that came over a link: it has no connection. */
const NO_LISTENER = { timeout() {}, requestIP: () => null, upgrade: () => false };

async function startRestServer(service: ServerUses, repeats: Repeats, given: RestServerOptions) {
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
  const files = configFiles(configDir);
  // Of processes that were killed.
  for (const folder of new Set([...Object.values(files).map((path) => dirname(path)), files.auditArchive]))
    clearLeftovers(folder);
  if (options.token_file !== undefined)
    clearLeftovers(dirname(options.token_file), basename(options.token_file));
  if (!existsSync(files.hostKey)) openSigningKey(files.hostKey);
  const tls = await openTls(keys, options, files, log);
  const token = openToken(options.token, options.token_file ?? files.token, log);
  const owner = ownerToken(token.digest);
  const named = watchTokens(files, log);
  const previous = watchPreviousTokens(files, token.digest, log);
  const guessable: GrantOf = (sent, fresh) =>
    owner(sent, fresh) ?? previous(sent, fresh) ?? named.given(sent, fresh);
  const uses = noteTokenUse(files.tokenUse, log);
  const metrics = await service.metrics();
  const auditLog = options.audit ? await service.audit() : null;
  const problem = await auditLog?.problem();
  if (problem) {
    throw unavailable(
      `the audit log cannot be written (${problem}): a server starts without one only with --no-audit`,
    );
  }
  auditLog?.limitRows(options.audit_max_rows);
  void auditLog?.keepCheckpoints();
  const audit = createRequestAudit(auditLog, () => metrics.recordAuditFailure());
  const connections = createConnections({
    limits: { total: withinDescriptors(options.max_connections), client: options.max_client_connections },
    clients,
    log,
    refused: metrics.recordRefusedConnection,
  });
  const stopping = new AbortController();
  const own = [host, ...machineNames(), ...options.allow_host];
  // svc's own certificate may still have names that the server is no longer started with.
  const hostCheck = () => createHostCheck(own, tls?.file ? certificateNames(tls.settings().cert) : undefined);
  let answersTo = hostCheck();
  const asksPerson = await service.asksPerson();
  const gate = createGate(
    { guessable, generated: named.generated },
    { ratePerMinute: options.rate_limit, burst: options.rate_burst },
    asksPerson && ((grant) => (asksPerson(grant) ? { ...grant, asks: true } : grant)),
  );
  const openAnswers = createOpenAnswers(gate);
  const sockets = createSockets();
  const app = createApp({
    service,
    operations: await service.operations(),
    gate,
    openAnswers,
    sockets,
    clients,
    connections,
    answersTo: (name) => answersTo(name),
    metrics,
    audit,
    uses,
    maxBodyBytes: options.max_body,
    log,
    stopping: stopping.signal,
    untilRevoked: service.untilRevoked,
    unread: createUnread(),
    repeats,
    runOne: async (...call) => (await service.executor()).runOne(...call),
  });
  const listener = listen({
    host,
    port: options.port,
    tls: tls?.settings(),
    fetch: limitTurn(app.fetch),
  });
  undo.defer(() => void listener.stop(true));
  const started = performance.now();
  const stopped = Promise.withResolvers<void>();
  const { port } = listener;
  const endWatch = connections.watch(port);
  undo.defer(endWatch);
  const url = `${tls ? "https" : "http"}://${urlHost(host)}:${port}`;
  const insecure = !tls && !isLoopback(host);
  const pinNow = () => (tls ? spkiPin(tls.settings().cert) : undefined);
  const publish = () =>
    writeRunFile(configDir, {
      url,
      host,
      pid: process.pid,
      version,
      token_file: token.file && resolve(token.file),
      ...(tls && {
        pin: pinNow(),
        tls_cert: tls.file && resolve(tls.file),
        asks_certificate: tls.settings().ca !== undefined,
      }),
      permits: NEEDS.filter((need) => service.permits(need)),
    });
  // Before the address is there to be found: who finds a server finds the way to it.
  const door = await service.answerAsOwner();
  // Its socket would keep a process that failed to start from ending.
  undo.defer(() => void door.stop());
  publish();
  undo.move();
  if (insecure) {
    log.warn(
      `${host} is reachable from other machines, and tokens travel unencrypted: start svc without --insecure-http`,
    );
  }
  let looked = Promise.resolve();
  /** Uses the certificate and key as they are in their files now. */
  const renewTls = () => {
    looked = looked.then(async () => {
      if (!tls || !(await tls.look())) return;
      try {
        await listener.exchange(tls.settings());
        openAnswers.exchanged();
        answersTo = hostCheck();
        publish();
        log.info(`a new certificate is in use, ${pinNow()}`);
      } catch (error) {
        log.error(`the old certificate stays in use: ${messageOf(error)}`);
      }
    });
    return looked;
  };
  const renewing = tls && setInterval(renewTls, LOOK_MS).unref();
  return {
    /** Where it answers, without a trailing slash; an unspecified address is shown as loopback. */
    url,
    host,
    port,
    tls: tls !== null,
    /** The pin of its key; undefined for plain http. */
    pin: pinNow,
    /**
     * Answers a request that came over the link to the desk, or over NATS, as one over HTTP with a token.
     *
     * @param tokenName of the token that the desk has.
     * @param desk its address.
     * @param asking which of the desks with that token asks, where there may be several and that is proven.
     */
    async enter(
      request: Request,
      tokenName: string,
      desk: string,
      via: LinkEntry["via"] = "link",
      asking = "",
    ): Promise<Response> {
      const grant = () => {
        const sha256 = named.digestOf(tokenName);
        return sha256 === undefined ? undefined : gate.now(sha256);
      };
      // Scrapes of the metrics use up nothing of what the desk asks itself.
      const what = new URL(request.url).pathname === "/metrics" ? "link metrics" : "link";
      const key = asking === "" ? what : `${what} ${asking}`;
      const link = { via, grant, client: { address: desk, key } };
      return app.fetch(request, { server: NO_LISTENER, link });
    },
    /** Whether others can read what travels: it speaks plain http beyond loopback. */
    insecure,
    /** Whether its requests leave rows in the audit log. */
    audit: auditLog !== null,
    token,
    startedAt: Date.now(),
    /** Seconds since then, even if the clock was set meanwhile. */
    uptimeSeconds: () => (performance.now() - started) / 1_000,
    /** Resolves when it stops, whoever stops it. */
    stopped: stopped.promise,
    /** Reads the tokens and the certificate again now if their files have changed. */
    async refresh() {
      const none = digestToken("");
      guessable(none, true);
      named.generated(none, true);
      openAnswers.look();
      await renewTls();
    },
    /** Refuses new connections, lets requests in flight finish for {@link GRACE_MS}, then cuts them off. */
    async stop() {
      stopped.resolve();
      openAnswers.stop();
      sockets.stopping();
      clearInterval(renewing ?? undefined);
      const cutOff = setTimeout(() => {
        stopping.abort();
        sockets.endAll();
        void listener.stop(true);
      }, GRACE_MS);
      // An exchange under way opens another listener.
      await looked;
      await Promise.all([door.stop(), listener.stop()]);
      // Those of listeners that were exchanged.
      sockets.endAll();
      clearTimeout(cutOff);
      endWatch();
      await audit.close();
      uses.flush();
      removeRunFile(configDir);
      release();
    },
  };
}
