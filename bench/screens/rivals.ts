/** The servers of the bench of the live screen: svc, and x11vnc with websockify before it. */
import { readdirSync, readFileSync } from "node:fs";
import { freePort, residentBytes, startSvc, TOKEN } from "../support";

/** How a viewer gets in. */
export interface Entrance {
  readonly url: string;
  readonly protocols: readonly string[];
}

/** A server of a screen, ended when the scope ends. */
export interface Rival extends AsyncDisposable {
  /** Called for each viewer. @param control whether its keys count (default: true). */
  enter(control?: boolean): Promise<Entrance>;
  /** Its first process. */
  readonly pid: number;
  /** The process of a program before it that browsers need. */
  readonly relayPid?: number;
  /** Where it answers; undefined for one without HTTP. */
  readonly http?: string;
}

/** svc on `display`. Its rate of requests is not limited. */
export async function startSvcScreen(display: string, configDir: string): Promise<Rival> {
  process.env.DISPLAY = display;
  const server = await startSvc(configDir);
  return {
    pid: server.pid,
    http: server.url,
    async enter(control = true) {
      const answer = await fetch(`${server.url}/screen/ticket`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ control }),
      });
      const { ticket } = (await answer.json()) as { readonly ticket: string };
      return {
        url: `${server.url.replace("http", "ws")}/screen/rfb`,
        protocols: ["svc.rfb", `ticket.${ticket}`],
      };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** x11vnc as Debian installs it, with its own settings. */
export async function startX11vnc(display: string): Promise<Rival> {
  const [port, webPort] = [freePort(), freePort()];
  const options = ["-rfbport", `${port}`, "-localhost", "-forever", "-shared", "-nopw", "-quiet"];
  const spawn = (command: string[]) => Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"] });
  const server = spawn(["x11vnc", "-display", display, ...options]);
  const relay = spawn(["websockify", `127.0.0.1:${webPort}`, `127.0.0.1:${port}`]);
  await Promise.all([answers(port), answers(webPort)]);
  return {
    pid: server.pid,
    relayPid: relay.pid,
    enter: async () => ({ url: `ws://127.0.0.1:${webPort}/`, protocols: ["binary"] }),
    async [Symbol.asyncDispose]() {
      relay.kill();
      // x11vnc may wait for ever for a viewer that has gone before it ends by SIGTERM.
      server.kill("SIGKILL");
      await Promise.all([relay.exited, server.exited]);
    },
  };
}

async function answers(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const isOpen = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).then(
      (socket) => {
        socket.end();
        return true;
      },
      () => false,
    );
    if (isOpen) return;
    await Bun.sleep(100);
  }
  throw new Error(`nothing answers on port ${port}`);
}

/** A process and those that it started. */
export function processesOf(pid: number): number[] {
  try {
    const started = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
    );
    return [pid, ...started.flatMap((child) => processesOf(Number(child)))];
  } catch {
    // It has ended.
    return [];
  }
}

/**
 * Processor time of a process and of those that it started, in milliseconds (proc_pid_stat(5), ticks of 10 ms). That of those which have ended
 * since stays in it: a difference would be less than nothing.
 */
export function processorMs(pid: number): number {
  const ticks = processesOf(pid).map((one) => {
    const stat = readFileSync(`/proc/${one}/stat`, "utf8");
    const times = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 15)
      .map(Number);
    return times.reduce((sum, time) => sum + time, 0);
  });
  return ticks.reduce((sum, one) => sum + one, 0) * 10;
}

/** Memory of a process and of those that it started, in bytes. */
export function memoryBytes(pid: number): number {
  return processesOf(pid).reduce((sum, one) => sum + residentBytes(one), 0);
}

/** A port that hands everything on to `target`, `ms` later in each direction. */
export function startDelay(target: string, ms: number): Disposable & { readonly url: string } {
  const { hostname, port } = new URL(target);
  interface End {
    other: Promise<Bun.Socket<End>>;
  }
  const later = (socket: Bun.Socket<End>, bytes: Uint8Array) => {
    const copy = new Uint8Array(bytes);
    setTimeout(async () => write(await socket.data.other, copy), ms);
  };
  const handlers: Bun.SocketHandler<End> = {
    data: later,
    async close(socket) {
      (await socket.data.other).end();
    },
  };
  const server = Bun.listen<End>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      ...handlers,
      open(socket) {
        const other = Bun.connect<End>({
          hostname,
          port: Number(port),
          data: { other: Promise.resolve(socket) },
          socket: handlers,
        });
        socket.data = { other };
      },
    },
  });
  return { url: `ws://127.0.0.1:${server.port}`, [Symbol.dispose]: () => server.stop(true) };
}

const unwritten = new WeakMap<object, Uint8Array[]>();

/** Writes all of it, in order, however often the socket takes a part only. */
function write(socket: Bun.Socket<unknown>, bytes: Uint8Array): void {
  const waiting = unwritten.get(socket);
  if (waiting) {
    waiting.push(bytes);
    return;
  }
  const queue = [bytes];
  unwritten.set(socket, queue);
  const next = () => {
    for (;;) {
      const [first] = queue;
      if (!first || socket.readyState <= 0) break;
      const written = socket.write(first);
      if (written < first.length) {
        queue[0] = first.subarray(Math.max(0, written));
        setTimeout(next, 1);
        return;
      }
      queue.shift();
    }
    unwritten.delete(socket);
  };
  next();
}
