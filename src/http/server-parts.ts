/**
 * What a server answers requests with: its TLS, its tokens, its limits, its audit log, and the app over them. Nothing listens yet.
 */
import { basename, dirname } from "node:path";
import type { Hono } from "hono";
import type * as v from "valibot";
import type { Grant } from "../core/rights";
import { withinDescriptors } from "../lib/descriptors";
import { unavailable } from "../lib/errors";
import { clearLeftovers } from "../lib/files";
import type { Log } from "../lib/log";
import type { ConfigFiles } from "../lib/paths";
import { requireSigningKey } from "../lib/signing-key";
import type { SessionKeeper } from "../trust/oidc/sign-in";
import { watchPreviousTokens } from "../trust/own-rotation";
import { openToken, type TokenSource } from "../trust/owner-token";
import { digestToken, type GrantOf, ownerToken, type TokensInForce } from "../trust/scopes";
import { noteTokenUse } from "../trust/token-use";
import { watchTokens } from "../trust/tokens-in-force";
import { type Bindings, createApp } from "./app";
import type { ClientResolver } from "./client-address";
import { type Connections, createConnections } from "./connections";
import type { LinkEntry } from "./exchange";
import { createGate, type Gate } from "./gate";
import { createHostCheck } from "./host-header";
import { createOpenAnswers, type OpenAnswers } from "./open-answers";
import type { SERVER_OPTIONS } from "./options";
import { certificateNames, machineNames } from "./own-names";
import type { Repeats } from "./repeats";
import { type AuditLog, createRequestAudit, type RequestAudit } from "./request-audit";
import type { ServerUses } from "./server-uses";
import { createSockets, type OpenSockets } from "./sockets";
import { type KeyFiles, openTls, type ServerTls } from "./tls";
import type { TokenUses } from "./token-use";
import { createUnreadAnswers } from "./unread";
import { createWorkTurns } from "./work-turns";

type Options = v.InferOutput<typeof SERVER_OPTIONS>;

/** What a server answers requests with. */
export interface ServerParts {
  readonly app: Hono<{ Bindings: Bindings }>;
  /** Null for plain http. */
  readonly tls: ServerTls | null;
  readonly credentials: Credentials;
  readonly gate: Gate;
  readonly names: AnsweredNames;
  readonly connections: Connections;
  readonly openAnswers: OpenAnswers;
  readonly sockets: OpenSockets;
  readonly audit: RequestAudit;
  /** Whether requests leave rows in the audit log. */
  readonly isAudited: boolean;
  readonly uses: TokenUses & { flush(): void };
  /** Aborted to cut off the requests in flight. */
  readonly stopping: AbortController;
}

interface ServerPartsOptions {
  readonly options: Options;
  readonly keys: KeyFiles;
  readonly clients: ClientResolver;
  readonly files: ConfigFiles;
}

/**
 * Opens all of it, in a folder that is claimed.
 *
 * @throws `bad_input` for an unusable option; `unavailable` for a file that cannot be read, or an audit log that cannot be written.
 */
export async function openServerParts(
  service: ServerUses,
  repeats: Repeats,
  { options, keys, clients, files }: ServerPartsOptions,
): Promise<ServerParts> {
  const { log } = service;
  clearFolders(files, options.token_file);
  requireSigningKey(files.hostKey);
  const tls = await openTls(keys, options, files, log);
  const sessions = await service.signIn();
  const credentials = openCredentials(options, files, log, sessions);
  const uses = { ...noteTokenUse(files.tokenUse, log), session: (grant: Grant) => sessions?.used(grant) };
  const metrics = await service.metrics();
  const auditLog = options.audit ? await openAuditLog(service, options.audit_max_rows) : null;
  const audit = createRequestAudit(auditLog, () => metrics.countAuditFailure());
  const connections = createConnections({
    limits: { total: withinDescriptors(options.max_connections), client: options.max_client_connections },
    clients,
    log,
    refused: metrics.countRefusedConnection,
  });
  const names = createAnsweredNames([options.host, ...machineNames(), ...options.allow_host], tls);
  const asksPerson = await service.asksPerson();
  const gate = createGate(
    credentials,
    { ratePerMinute: options.rate_limit, burst: options.rate_burst },
    asksPerson && ((grant) => (asksPerson(grant) ? { ...grant, asks: true } : grant)),
  );
  const openAnswers = createOpenAnswers(gate);
  const sockets = createSockets();
  const stopping = new AbortController();
  const app = createApp({
    service,
    operations: await service.operations(),
    gate,
    openAnswers,
    sockets,
    clients,
    connections,
    answersTo: names.has,
    metrics,
    audit,
    uses,
    entryOf: service.entryOf,
    sessions,
    ended: credentials.ended,
    maxBodyBytes: options.max_body,
    log,
    stopping: stopping.signal,
    untilRevoked: service.untilRevoked,
    unread: createUnreadAnswers(),
    turns: createWorkTurns(),
    repeats,
    runOne: async (...call) => (await service.executor()).runOne(...call),
  });
  const isAudited = auditLog !== null;
  return {
    app,
    tls,
    credentials,
    gate,
    names,
    connections,
    openAnswers,
    sockets,
    audit,
    isAudited,
    uses,
    stopping,
  };
}

/** Removes what processes left that were killed. */
function clearFolders(files: ConfigFiles, tokenFile: string | undefined): void {
  for (const folder of new Set([...Object.values(files).map((path) => dirname(path)), files.auditArchive]))
    clearLeftovers(folder);
  if (tokenFile !== undefined) clearLeftovers(dirname(tokenFile), basename(tokenFile));
}

interface Credentials extends TokensInForce {
  readonly token: TokenSource;
  /** The digest of the named token, hexadecimal; undefined where none has the name. */
  digestOf(name: string): string | undefined;
  /** Reads their files now. */
  refresh(): void;
}

/** @param sessions those that count; null for none. @throws as `openToken`. */
function openCredentials(
  options: Options,
  files: ConfigFiles,
  log: Log,
  sessions: Pick<SessionKeeper, "issuer" | "isEnding"> | null,
): Credentials {
  const token = openToken(options.token, options.token_file ?? files.token, log);
  const owner = ownerToken(token.digest);
  const { given, ended, digestOf, ...made } = watchTokens(files, log, sessions?.issuer);
  const generated: GrantOf = (sent, fresh) => {
    const grant = made.generated(sent, fresh);
    return grant?.name && sessions?.isEnding(grant.name) ? undefined : grant;
  };
  const previous = watchPreviousTokens(files, token.digest, log);
  const guessable: GrantOf = (sent, fresh) =>
    owner(sent, fresh) ?? previous(sent, fresh) ?? given(sent, fresh);
  return {
    token,
    guessable,
    generated,
    ended,
    digestOf,
    refresh() {
      const none = digestToken("");
      guessable(none, true);
      generated(none, true);
    },
  };
}

/** The audit log for the rows of requests. @throws `unavailable` where it cannot be written. */
async function openAuditLog(service: ServerUses, maxRows: number): Promise<AuditLog | null> {
  const log = await service.audit();
  const problem = await log?.problem();
  if (problem) {
    throw unavailable(
      `the audit log cannot be written (${problem}): a server starts without one only with --no-audit`,
    );
  }
  log?.limitRows(maxRows);
  void log?.keepCheckpoints();
  return log;
}

interface AnsweredNames {
  has(host: string): boolean;
  /** Takes those of the certificate that is in use now. */
  renew(): void;
}

function createAnsweredNames(own: readonly string[], tls: ServerTls | null): AnsweredNames {
  // svc's own certificate may still have names that the server is no longer started with.
  const check = () => createHostCheck(own, tls?.file ? certificateNames(tls.settings().cert) : undefined);
  let answersTo = check();
  return {
    has: (host) => answersTo(host),
    renew() {
      answersTo = check();
    },
  };
}

/** In place of the listener, for a request that came over a link: it has no connection. */
const NO_LISTENER = { timeout() {}, requestIP: () => null, upgrade: () => false };

/** Answers a request that came over the link to the desk, or over NATS (`RestServer.enter`). */
export async function enterOver(
  { app, credentials, gate }: Pick<ServerParts, "app" | "credentials" | "gate">,
  request: Request,
  tokenName: string,
  desk: string,
  via: LinkEntry["via"],
  asking: string,
): Promise<Response> {
  const grant = () => {
    const sha256 = credentials.digestOf(tokenName);
    return sha256 === undefined ? undefined : gate.now(sha256);
  };
  // Scrapes of the metrics use up nothing of what the desk asks itself.
  const what = new URL(request.url).pathname === "/metrics" ? "link metrics" : "link";
  const key = asking === "" ? what : `${what} ${asking}`;
  const link = { via, grant, client: { address: desk, key } };
  return app.fetch(request, { server: NO_LISTENER, link });
}
