/**
 * A connection to an X server: requests as promises, and every error as a failure of the call that it hit.
 */
import {
  createClient,
  parseDisplay,
  type Reply,
  type XClient,
  type XConnectionExtensions,
  type XDisplay,
  type XError,
  type XRequests,
  type XScreen,
  type XTest,
} from "x11";
import { invoke, type Remote, remote } from "../../../lib/child";
import { deadline } from "../../../lib/deadline";
import { messageOf, noScreen, systemCode, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";

/** Requests to which an error is an answer, too. */
type FallibleRequests = {
  readonly [N in keyof XRequests]: (
    ...args: Parameters<XRequests[N]>
  ) => ReturnType<XRequests[N]> | undefined;
};

/** A connection to an X server. */
export interface XConnection {
  readonly client: XClient;
  readonly display: XDisplay;
  readonly screen: XScreen;
  readonly test: XTest;
  /** Each resolves to the reply; to `undefined` when the server answers with an error (the window has gone). */
  readonly ask: Remote<FallibleRequests>;
  /** Each resolves to the reply. @throws an `unavailable` failure when the server answers with an error. */
  readonly need: Remote<XRequests>;
  /** The reply to a request of an extension; `undefined` when the server answers with an error. */
  reply<T>(send: (reply: Reply<T>) => void): Promise<T | undefined>;
  /** Resolves when the server has processed all requests so far. @throws `unavailable` when it refused one. */
  settled(): Promise<void>;
  close(): void;
}

/**
 * @param lost called when the server goes away.
 * @param shm whether memory will be shared with the server (MIT-SHM).
 * @throws an `unavailable` failure that says what is missing.
 */
export async function connect(env: NodeJS.ProcessEnv, lost: () => void, shm = false): Promise<XConnection> {
  const name = env.DISPLAY;
  if (!name) throw noScreen("no display: DISPLAY is not set");
  const display = await open(name, shm);
  const { client } = display;
  const waiting = new Set<(error: Error) => void>();
  let refused: XError | undefined;
  const end = () => {
    const error = unavailable(`the X server at DISPLAY ${JSON.stringify(name)} went away`);
    for (const reject of waiting) reject(error);
    lost();
  };
  client.on("end", end);
  client.on("error", (error) => {
    if (error.error === undefined) end();
    else refused = error;
  });

  /** The reply or the error of the protocol, whichever comes; rejects when the server goes first. */
  const request = async <T>(send: (reply: Reply<T>) => void) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ value: T } | { error: XError }>();
    waiting.add(reject);
    try {
      send((error, value) => {
        resolve(error ? { error } : { value });
        return true;
      });
      return await promise;
    } finally {
      waiting.delete(reject);
    }
  };
  const reply = async <T>(send: (reply: Reply<T>) => void) => {
    const answer = await request(send);
    return "error" in answer ? undefined : answer.value;
  };
  const need = remote<Remote<XRequests>>(async (name, args) => {
    const answer = await request((reply) => invoke(client, name, [...args, reply]));
    if ("error" in answer) throw refusal(answer.error);
    return answer.value;
  });
  const screen = display.screen[Number(parseDisplay(name).screenNum)];
  if (!screen) {
    client.terminate();
    throw noScreen(`no display: DISPLAY ${JSON.stringify(name)} names a screen that is not there`);
  }
  return {
    client,
    display,
    screen,
    test: await xtest(client),
    ask: remote<Remote<FallibleRequests>>((name, args) =>
      reply((taken) => invoke(client, name, [...args, taken])),
    ),
    need,
    reply,
    async settled() {
      await need.GetInputFocus();
      const error = refused;
      refused = undefined;
      if (error) throw refusal(error);
    },
    close: () => client.terminate(),
  };
}

/**
 * What `use` makes of a connection of its own.
 *
 * @throws `timeout` where there is none within `ms` milliseconds; as {@link connect}; what `use` throws.
 */
export async function whileConnected<T>(
  env: NodeJS.ProcessEnv,
  ms: number,
  use: (connection: XConnection) => Promise<T>,
): Promise<T> {
  const opened = await deadline(
    connect(env, () => {}),
    { ms },
  );
  try {
    return await use(opened);
  } finally {
    opened.close();
  }
}

/** An extension of the server; undefined where it has none of that name. */
export function extension<N extends keyof XConnectionExtensions>(
  { client }: Pick<XConnection, "client">,
  name: N,
): Promise<XConnectionExtensions[N] | undefined> {
  const { promise, resolve } = Promise.withResolvers<XConnectionExtensions[N] | undefined>();
  client.require(name, (error, found) => resolve(error ? undefined : found));
  return promise;
}

function xtest(client: XClient): Promise<XTest> {
  const { promise, resolve, reject } = Promise.withResolvers<XTest>();
  client.require("xtest", (error, extension) => {
    if (!error) return resolve(extension);
    client.terminate();
    reject(unavailable("the X server has no XTEST extension: it takes no synthetic input"));
  });
  return promise;
}

function open(name: string, shm: boolean): Promise<XDisplay> {
  const { promise, resolve, reject } = Promise.withResolvers<XDisplay>();
  const fail = (why: string) =>
    reject(
      noScreen(`no display: cannot connect to DISPLAY ${JSON.stringify(printable(name, 200))} (${why})`),
    );
  try {
    createClient({ display: name, shm }, (error, display) => {
      if (error) fail(reasonOf(error));
      else resolve(display);
    });
  } catch {
    fail("expected [host]:number[.screen]");
  }
  return promise;
}

function reasonOf(error: unknown): string {
  const code = systemCode(error);
  if (code === "ECONNREFUSED" || code === "ENOENT") return "no X server answers there";
  // A server that does not know the cookie says so, or closes the connection at once.
  if (/before setup completed|connection failed/.test(messageOf(error))) {
    return "it refused svc: XAUTHORITY must name the file that holds its cookie";
  }
  return printable(code ?? messageOf(error).trim(), 200);
}

const refusal = (error: XError) => unavailable(`the X server refused the request (${error.message})`);
