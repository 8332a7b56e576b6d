/**
 * `svc screen proxy`: a TCP listener for any VNC viewer (RFC 6143), each of whose connections is a viewer of the screen of a host.
 *
 * Promises. Each connection is admitted by the host by itself: its limits, approvals and rows in the audit log hold. What the host
 * refuses is said to the person in the viewer. Whoever reaches the port, and has the password where there is one, sees the screen: it is on
 * loopback unless asked for otherwise. The proxy carries bytes, and slows the one side down to the other.
 */
import { createServer, isIP, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf, systemCode, unavailable } from "../../../../lib/errors";
import type { Log } from "../../../../lib/log";
import { isLoopback } from "../../../../lib/loopback";
import { printable } from "../../../../lib/sanitize";
import { askPassword, createJudge, type JudgeAnswer } from "./password";

/** As many viewers as a host lets in. */
const MAX_CONNECTIONS = 16;

/** Opens the stream of a viewer. @throws why the host lets it not in. */
export type OpenStream = (signal: AbortSignal) => Promise<Duplex>;

interface Proxy {
  readonly address: string;
  readonly port: number;
  /** Ends it, and its connections. */
  stop(): Promise<void>;
}

/**
 * @param host what the viewers see, for messages.
 * @param password that viewers have to give; without it, none.
 * @throws an `unavailable` failure where the port cannot be listened on.
 */
export async function startProxy(
  { address, port }: { readonly address: string; readonly port: number },
  host: string,
  open: OpenStream,
  log: Log,
  password?: string,
): Promise<Proxy> {
  const connections = new Set<Socket>();
  const stopping = new AbortController();
  const judge = password === undefined ? undefined : createJudge(password);
  const server: Server = createServer((client) => {
    if (connections.size >= MAX_CONNECTIONS) {
      refuse(client, `svc: ${MAX_CONNECTIONS} viewers are connected already`);
      return;
    }
    connections.add(client);
    client.once("close", () => connections.delete(client));
    const say = (text: string) => log.info(`a viewer of ${host} ${text}`);
    void carry(client, { open, judge, stopping: stopping.signal, say });
  });
  await new Promise<void>((listening, failed) => {
    server.once("listening", listening).once("error", (error) => {
      const where = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
      const why = systemCode(error) === "EADDRINUSE" ? "it is in use" : messageOf(error);
      failed(unavailable(`${where} cannot be listened on: ${why}`));
    });
    server.listen(port, address);
  });
  const at = server.address();
  if (!isLoopback(address))
    log.warn(
      password === undefined
        ? `everybody who reaches ${address} sees the screen of ${host}: a VNC viewer shows no token, and what it sends is not encrypted`
        : `what goes through ${address} is not encrypted, and a VNC password is weak: eight characters of it count`,
    );
  return {
    address,
    port: typeof at === "object" && at !== null ? at.port : port,
    async stop() {
      stopping.abort();
      const closed = new Promise((done) => server.close(done));
      for (const client of connections) client.destroy();
      await closed;
    },
  };
}

interface ProxiedViewer {
  readonly open: OpenStream;
  /** Judges the password; absent where there is none. */
  readonly judge: JudgeAnswer | undefined;
  readonly stopping: AbortSignal;
  say(text: string): void;
}

/** Joins a connection to the stream of a viewer until one of them ends. */
async function carry(client: Socket, { open, judge, stopping, say }: ProxiedViewer): Promise<void> {
  const gone = new AbortController();
  client.on("error", () => {}).once("close", () => gone.abort());
  const viewer = judge && (await askPassword(client, judge).catch(() => undefined));
  if (judge && !viewer) return say("was not let in: it has not given the password");
  // Its end is noticed only while it is read. A viewer waits for the greeting: it sends nothing before.
  const isTooEarly = () => void client.destroy();
  client.on("data", isTooEarly);
  let stream: Duplex;
  try {
    stream = await open(AbortSignal.any([gone.signal, stopping]));
    client.off("data", isTooEarly).pause();
    await viewer?.letIn(stream);
  } catch (error) {
    client.off("data", isTooEarly);
    const why = printable(messageOf(error), 300);
    if (!client.destroyed) say(`was not let in: ${why}`);
    if (viewer) viewer.refuse(why);
    else refuse(client, why);
    return;
  }
  if (client.destroyed) return void stream.destroy();
  say("is connected");
  client.setNoDelay(true);
  const ended = Promise.withResolvers<string>();
  client.once("close", () => ended.resolve("has left"));
  stream.once("close", () => ended.resolve("was ended by the host"));
  stream.once("error", (error) => ended.resolve(`has lost the host: ${printable(messageOf(error), 300)}`));
  client.pipe(stream);
  stream.pipe(client);
  say(await ended.promise);
  stream.destroy();
  client.destroy();
}

/** Says in the protocol's own words why there is no session (RFC 6143 sections 7.1.1 and 7.1.2). */
function refuse(client: Socket, reason: string): void {
  if (client.destroyed) return;
  client.on("error", () => {});
  const text = Buffer.from(reason, "utf8");
  const refusal = Buffer.alloc(5 + text.length);
  refusal.writeUInt32BE(text.length, 1);
  text.copy(refusal, 5);
  client.write("RFB 003.008\n");
  // What follows means something else to a viewer that has chosen an older version.
  client.once("data", (version: Buffer) => {
    const isOld = version.toString("latin1").startsWith("RFB 003.003");
    client.end(isOld ? Buffer.concat([Buffer.alloc(3), refusal]) : refusal);
  });
  client.resume();
  setTimeout(() => client.destroy(), REFUSED_MS).unref();
}

/** How long a viewer may take to read why it was refused, in milliseconds. */
const REFUSED_MS = 5_000;
