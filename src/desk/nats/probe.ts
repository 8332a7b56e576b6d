/**
 * The test of a live NATS server: it must serve desks and hosts, and keep each host to its own subjects.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import type { Trust } from "../../client/carrier";
import { deadline } from "../../lib/deadline";
import { messageOf } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { connectNats, type Login } from "../../wire/nats/connect";
import { mintHost, type NatsServer, newUser, type ServerPart } from "../../wire/nats/desk-part";
import { greetingOf } from "../../wire/nats/greeting";
import { newNKey } from "../../wire/nats/nkeys";
import { type Attempt, allowed, forbiddenToDesks, forbiddenToHosts } from "../../wire/nats/rights";
import { formatServerUrl, type ServerUrl } from "../../wire/nats/server-url";
import { hasSafeWebSockets, SAFE_WEBSOCKETS } from "../../wire/nats/server-version";
import { userToken } from "../../wire/nats/tokens";
import type { ProbeReport } from "./operations/server";

/** Where a server tells anybody who is connected, unless it is configured otherwise. */
const MONITORING_PORT = 8222;

/** How much is read of what the monitoring shows, in characters: its name is in the first lines. */
const MAX_SHOWN = 65_536;

/** How many of the rights that a user should not have are named. */
const SHOWN = 3;

/** How long the credentials of the hosts of this test work, in seconds. */
const CREDENTIALS_S = 300;

/** Something that should not be so. */
class Finding extends Error {}

interface ProbeOptions {
  readonly url: ServerUrl;
  readonly trust: Trust;
  /** What this desk is on the server; undefined where it is no user of it. */
  readonly part: ServerPart | undefined;
  /** For each step. */
  readonly timeoutMs: number;
  /** Where it may show who is connected (default: where servers do that). */
  readonly monitoringPort?: number;
}

/** Takes every step. Never throws for what the server does: the report says that. */
export async function probeServer(options: ProbeOptions): Promise<ProbeReport> {
  const { url, trust, part, timeoutMs, monitoringPort = MONITORING_PORT } = options;
  const checks: ProbeReport["checks"] = [];
  const open: NatsConnection[] = [];
  const late = () => new Finding(`no answer within ${timeoutMs / 1_000} s`);
  const { promise: ended, reject: end } = Promise.withResolvers<never>();
  ended.catch(() => {});
  /** The result of `work`, which becomes a check; undefined when it failed or took too long. */
  const step = async <T>(
    name: string,
    work: () => Promise<T>,
    detail: (result: T) => string,
  ): Promise<T | undefined> => {
    try {
      const result = await deadline(Promise.race([work(), ended]), { ms: timeoutMs, late });
      checks.push({ name, ok: true, detail: detail(result) });
      return result;
    } catch (error) {
      checks.push({ name, ok: false, detail: printable(messageOf(error), 500) });
      return undefined;
    }
  };
  const server = serverOf(url, trust);
  const connect = async (login: Omit<Login, "server" | "timeoutMs"> = {}) => {
    const connection = await connectNats({ server, timeoutMs, name: "svc nats test", ...login });
    open.push(connection);
    // What waits for an answer on a connection that has ended, the library never settles.
    connection.closed().then(() => end(new Finding("the server has ended a connection of this test")));
    return connection;
  };
  const refused = async (login?: { readonly seed: string; readonly jwt: string }) => {
    const connection = await connect(login).catch((error) => {
      if (error.fault === "unauthorized") return null;
      throw error;
    });
    if (connection) throw new Finding("open to anybody: the server asks for no credentials of its own");
  };

  const greeting = await step(
    "connect",
    () => greetingOf(url, trust, timeoutMs),
    ({ version, max_payload }) => `nats-server ${version}, messages of up to ${max_payload} bytes`,
  );
  let roundTripMs: number | undefined;
  if (greeting) {
    await step(
      "encrypted",
      async () => isEncrypted(url, greeting.tls_required),
      (how) => how,
    );
    await step(
      "monitoring",
      () => withoutMonitoring(url, monitoringPort, Math.min(timeoutMs, 2_000)),
      () => `port ${monitoringPort} shows nothing`,
    );
  }
  if (greeting && url.scheme === "wss") {
    await step(
      "version",
      async () => {
        if (!hasSafeWebSockets(greeting.version)) throw new Finding(`WebSockets need ${SAFE_WEBSOCKETS}`);
      },
      () => greeting.version,
    );
  }
  if (greeting) {
    await step("without credentials", refused, () => "refused");
    // Somebody else's key has signed the token.
    const [signer, user] = [newNKey("A"), newNKey("U")];
    const forged = { seed: user.seed, jwt: userToken("forged", user.id, signer, part?.account ?? signer.id) };
    await step(
      "with forged credentials",
      () => refused(forged),
      () => "refused",
    );
    if (!part) {
      const none =
        "this desk is no user of it (nats.json): rights are tested where `svc nats` or `svc nats use` ran";
      checks.push({ name: "rights", ok: false, detail: none });
    } else roundTripMs = await probeRights({ part, step, connect });
  }
  await Promise.all(open.map((connection) => connection.close().catch(() => {})));
  return {
    ok: checks.every(({ ok }) => ok),
    version: greeting?.version ?? null,
    round_trip_ms: roundTripMs ?? null,
    checks,
  };
}

type Step = <T>(
  name: string,
  work: () => Promise<T>,
  detail: (result: T) => string,
) => Promise<T | undefined>;

/** @returns how long a host takes to answer through the server, in milliseconds. */
async function probeRights(uses: {
  readonly part: ServerPart;
  readonly step: Step;
  readonly connect: (login: Omit<Login, "server">) => Promise<NatsConnection>;
}): Promise<number | undefined> {
  const { part, step, connect } = uses;
  const desk = await step(
    "log in as this desk",
    () => connect(part.desk),
    () => part.desk.name,
  );
  if (!desk) return undefined;
  const other = newUser().id;
  await step(
    "rights of a desk",
    () => nothingOf(desk, forbiddenToDesks(other)),
    (tried) => tried,
  );
  if (part.host_signer === undefined) return undefined;
  const user = newUser();
  const expires = Math.floor(Date.now() / 1_000) + CREDENTIALS_S;
  const jwt = mintHost(part, user.id, "svc nats test", expires);
  const host = await step(
    "log in as a host",
    () => connect({ seed: user.seed, jwt }),
    () => "of this test",
  );
  if (!host) return undefined;
  await step(
    "rights of a host",
    () => nothingOf(host, forbiddenToHosts(other, part.desk.id)),
    (tried) => tried,
  );
  const took = await step(
    "ask a host",
    () => roundTrip(desk, host, part.desk.id, user.id),
    (ms) => `answered after ${ms} ms`,
  );
  await step(
    "ask a host that is off",
    () => noResponders(desk, part.desk.id, other),
    () => "the server says so at once",
  );
  return took;
}

async function nothingOf(connection: NatsConnection, attempts: readonly Attempt[]): Promise<string> {
  const done = await allowed(connection, attempts);
  if (done.length > 0) {
    const first = done.slice(0, SHOWN).map(({ kind, subject }) => `${kind} ${subject}`);
    const others = done.length - first.length;
    throw new Finding(`it may ${first.join(", ")}${others > 0 ? ` and ${others} more` : ""}`);
  }
  return `${attempts.length} subjects of others are refused`;
}

async function roundTrip(desk: NatsConnection, host: NatsConnection, deskId: string, hostId: string) {
  const subject = `svc.v1.host.${hostId}.ask`;
  host.subscribe(subject, { callback: (_error, message) => void message.respond("here") });
  await host.flush();
  const started = performance.now();
  await answerTo(desk, deskId, subject);
  return Math.round((performance.now() - started) * 10) / 10;
}

async function noResponders(desk: NatsConnection, deskId: string, hostId: string) {
  const { headers } = await answerTo(desk, deskId, `svc.v1.host.${hostId}.ask`);
  if (headers?.code !== 503) throw new Finding("somebody answered for a host that does not exist");
}

function answerTo(desk: NatsConnection, deskId: string, subject: string) {
  const { promise, resolve } = Promise.withResolvers<import("@nats-io/nats-core").Msg>();
  const reply = `_INBOX.${deskId}.test.${newUser().id}`;
  desk.subscribe(reply, { max: 1, callback: (_error, message) => resolve(message) });
  desk.publish(subject, "", { reply });
  return promise;
}

function isEncrypted({ scheme }: ServerUrl, isRequired: boolean): string {
  if (scheme === "wss") return "TLS";
  if (isRequired) return "TLS is required";
  if (scheme === "nats") return "no, on this machine";
  throw new Finding("the server takes connections without TLS");
}

async function withoutMonitoring({ host }: ServerUrl, port: number, ms: number): Promise<void> {
  const address = formatServerUrl({ scheme: "nats", host, port }).replace(/^nats/, "http");
  const shown = await fetch(`${address}/varz`, { signal: AbortSignal.timeout(ms), redirect: "manual" })
    .then((answer) => startOf(answer))
    .catch(() => "");
  if (shown.includes('"server_id"')) {
    throw new Finding(`anybody sees who is connected at ${address}: let it listen on 127.0.0.1`);
  }
}

/** The beginning of a body: whatever answers may send without end. */
async function startOf({ body }: Response): Promise<string> {
  let text = "";
  for await (const piece of body ?? []) {
    text += Buffer.from(piece).toString("latin1");
    if (text.length > MAX_SHOWN) break;
  }
  return text;
}

function serverOf(url: ServerUrl, trust: Trust): NatsServer {
  return {
    urls: [formatServerUrl(url)],
    ...(trust.kind === "pin" && { pin: trust.pins[0] }),
    ...(trust.kind === "ca" && { ca: trust.pem }),
  };
}
