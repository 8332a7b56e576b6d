/**
 * What many tests need: a temporary folder, a service or a server on it, waiting, and real programs where installed.
 */
import { spyOn, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Caller, localCaller } from "../src/core/caller";
import type { RunOptions, RunReport } from "../src/host/runs/types";
import type { RestServerOptions } from "../src/http/options";
import type { RestServer } from "../src/http/server";
import { usedMs as threadMs } from "../src/lib/clock";
import { silentLog } from "../src/lib/log";
import { createService, type Service, type ServiceOptions } from "../src/service/service";

// The runner's own: a process that a test starts would have it, and `svc diagnose` would name it.
delete process.env.BUN_TEST_WORKER_ID;

// As they are before a test replaces them.
const { sleep } = Bun;
const now = performance.now.bind(performance);

/** A new folder, removed when the scope ends: `using folder = temporaryFolder()`. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "svc-test-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A service on a temporary folder, stopped when the scope ends: `await using`. */
export function testService(
  options: Partial<ServiceOptions> = {},
): AsyncDisposable & { readonly service: Service; readonly configDir: string } {
  const folder = temporaryFolder();
  const service = createService({ configDir: folder.path, log: silentLog, ...options });
  return {
    service,
    configDir: folder.path,
    async [Symbol.asyncDispose]() {
      await service.stop();
      folder[Symbol.dispose]();
    },
  };
}

/** The token that {@link testServer} uses by default. */
export const TOKEN = "test-token-0123456789";

/** A server on a free port with the rate off, and a `fetch` that sends its token. */
export async function testServer(
  options: RestServerOptions & { service?: Partial<ServiceOptions> } = {},
): Promise<
  AsyncDisposable & {
    readonly server: RestServer;
    readonly service: Service;
    readonly configDir: string;
    readonly call: (path: string, init?: RequestInit) => Promise<Response>;
  }
> {
  const { service: serviceOptions, ...restOptions } = options;
  const made = testService(serviceOptions);
  const rest = await made.service.rest();
  const server = await rest.start({ port: 0, token: TOKEN, rate_limit: 0, ...restOptions });
  return {
    server,
    service: made.service,
    configDir: made.configDir,
    call: caller(server.url, TOKEN),
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}

/** A POST of JSON, for `call`. */
export const post = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** Runs a list on `service` as a caller in this process would. */
export async function runActions(
  service: Service,
  actions: readonly unknown[],
  options: RunOptions = {},
  caller: Caller = localCaller(service, "api"),
): Promise<RunReport> {
  const executor = await service.executor();
  return executor.run(await executor.prepare(actions), caller, options);
}

/** The command of svc from the source tree, which needs no build. */
export const SOURCE = [process.execPath, join(import.meta.dir, "..", "src", "main.ts")];

/** The compiled binary, as `bun run build` leaves it. */
export const BINARY = join(import.meta.dir, "..", "dist", "svc");

/** Whether tests repeat themselves as often as in CI. Elsewhere kills, and bad input to each operation of the table, are fewer. */
export const isThorough = process.env.SVC_TEST_REQUIRE === "all";

/**
 * The command of svc: the binary where the runner has just built it, as that starts faster; else the source tree, so that a file of
 * tests runs without a build.
 */
export const SVC: readonly string[] = process.env.SVC_TEST_BUILT === undefined ? SOURCE : [BINARY];

/**
 * Runs a program to its end.
 *
 * @param options.stdin what it reads; nothing by default.
 * @returns what it printed, and its exit code.
 */
export async function runToEnd(
  command: readonly string[],
  { stdin, ...options }: { cwd?: string; env?: NodeJS.ProcessEnv; stdin?: string } = {},
): Promise<{ stdout: string; stderr: string; exitCode: number }> {
  const input = stdin === undefined ? "ignore" : Buffer.from(stdin);
  const child = Bun.spawn([...command], { ...options, stdio: [input, "pipe", "pipe"] });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { stdout, stderr, exitCode: await child.exited };
}

/** Puts a binary at `path`: as another name of the same file, which costs nothing, or as a copy on another file system. Nobody may write to it. */
export function placeBinary(path: string, binary = BINARY): void {
  try {
    linkSync(binary, path);
  } catch {
    copyFileSync(binary, path);
  }
}

/** The compiled binary alone in an empty folder, with its configuration in `config` there; removed when the scope ends. */
export function installBinary(binary = BINARY) {
  const folder = temporaryFolder();
  placeBinary(join(folder.path, "svc"), binary);
  return {
    path: folder.path,
    configDir: join(folder.path, "config"),
    /** Runs `svc args` to its end, behind the command line `before` if there is one. */
    async run(
      args: readonly string[],
      { before = [], env = {} }: { before?: string[]; env?: NodeJS.ProcessEnv } = {},
    ) {
      return runToEnd([...before, "./svc", ...args], {
        cwd: folder.path,
        env: { ...process.env, SVC_CONFIG_DIR: "config", ...env },
      });
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** A server in a process of its own, in an empty folder of its own; killed when the scope ends. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
  readonly configDir: string;
  /** Its exit code, once it has ended. */
  readonly exited: Promise<number>;
  /** Sends the token, unless the request has one. */
  readonly call: (path: string, init?: RequestInit) => Promise<Response>;
}

interface ServeOptions {
  readonly token?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** `svc serve` from the source tree, on a free port unless `flags` has one. */
export const serveSource = (flags: readonly string[] = [], options: ServeOptions = {}) =>
  serve(SOURCE, flags, options);

/** `svc serve` of {@link SVC}, on a free port unless `flags` has one. */
export const serveSvc = (flags: readonly string[] = [], options: ServeOptions = {}) =>
  serve(SVC, flags, options);

/**
 * `svc serve` of the compiled binary, on a free port unless `flags` has one.
 *
 * @param options.binary a copy of it to run.
 */
export const serveBinary = (
  flags: readonly string[] = [],
  { binary = BINARY, ...options }: ServeOptions & { readonly binary?: string } = {},
) => serve([binary], flags, options);

async function serve(
  command: readonly string[],
  flags: readonly string[],
  { token = TOKEN, env = process.env }: ServeOptions,
): Promise<ServerProcess> {
  const folder = temporaryFolder();
  const configDir = join(folder.path, "config");
  const port = flags.includes("--port") ? [] : ["--port", "0"];
  const child = Bun.spawn([...command, "serve", ...port, "--json", "--config-dir", configDir, ...flags], {
    cwd: folder.path,
    env: { ...env, SVC_TOKEN: token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { value } = await child.stdout.getReader().read();
  const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value));
  return {
    url,
    pid: child.pid,
    token,
    configDir,
    exited: child.exited,
    call: caller(url, token),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

/** A `fetch` on `url` that sends `token`, unless the request has one, and takes any certificate. */
export function caller(url: string, token: string): (path: string, init?: RequestInit) => Promise<Response> {
  return (path, init = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
    return fetch(url + path, { ...init, headers, tls: { rejectUnauthorized: false } });
  };
}

/** How long {@link until} pauses: this part of the time that it has waited so far, and at most so many milliseconds. */
const POLL_PART = 1 / 40;
const POLL_MOST_MS = 40;

/**
 * Polls until `condition` holds, less and less often: many conditions are requests, and what is waited for runs on the same processors.
 *
 * @param what stands after "waited for" in the error.
 * @returns its first truthy value.
 * @throws after `options.seconds`.
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  { seconds = 30, everyMs = 5 } = {},
): Promise<Exclude<T, false | null | undefined | 0 | "">> {
  const began = now();
  for (;;) {
    const value = await condition();
    if (value) return value as Exclude<T, false | null | undefined | 0 | "">;
    const waited = now() - began;
    if (waited > seconds * 1_000) throw new Error(`waited for ${what} for ${seconds} s`);
    await sleep(Math.max(everyMs, Math.min(POLL_MOST_MS, waited * POLL_PART)));
  }
}

/**
 * Processor time that this process has used so far, in milliseconds: what work costs, whatever else the machine does. Take the
 * difference of two.
 */
export function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Does `work`. @returns how long that took, and the longest time in which the event loop did nothing else, in milliseconds of processor time
 * of this thread: on a busy machine, much of the time belongs to others.
 */
export async function gaps(work: () => Promise<unknown>): Promise<{ longest: number; took: number }> {
  const began = threadMs();
  let [last, longest, isOver] = [began, 0, false];
  const look = () => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return { longest, took: threadMs() - began };
}

/** Lets everything happen that is due in this turn of the event loop. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The monotonic clock (`performance.now`), which a test puts forward; right again when the scope ends. */
export function movableClock(): Disposable & { advance(ms: number): void } {
  let ahead = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now() + ahead);
  return {
    advance(ms) {
      ahead += ms;
    },
    [Symbol.dispose]: () => clock.mockRestore(),
  };
}

/** Both clocks, which a test puts forward together, and the time (`Date.now`), which it sets alone; right again when the scope ends. */
export function movableClocks(): Disposable & { advance(ms: number): void; set(ms: number): void } {
  const clock = movableClock();
  const { now } = Date;
  let ahead = 0;
  const wall = spyOn(Date, "now").mockImplementation(() => now() + ahead);
  return {
    advance(ms) {
      ahead += ms;
      clock.advance(ms);
    },
    set(ms) {
      ahead += ms;
    },
    [Symbol.dispose]() {
      wall.mockRestore();
      clock[Symbol.dispose]();
    },
  };
}

/** The file at `path` cannot be read until the scope ends, also by root, while one may be put in its place; then it is there again, unless one was. */
export function unreadable(path: string): Disposable {
  const aside = `${path}.aside`;
  renameSync(path, aside);
  symlinkSync(path, path);
  return {
    [Symbol.dispose]() {
      if (lstatSync(path).isSymbolicLink()) renameSync(aside, path);
    },
  };
}

/** Calls `act` in place of the next pause (`Bun.sleep`) of the code under test; the pauses after it are real. */
export function onNextPause(act: () => void): Disposable {
  const pauses = spyOn(Bun, "sleep")
    .mockImplementationOnce(async () => act())
    .mockImplementation(sleep);
  return { [Symbol.dispose]: () => pauses.mockRestore() };
}

/** Collects what is written to `stream`, and waits for words in it. */
export function follow(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let text = "";
  let ended = false;
  let changed = () => {};
  const whole = (async () => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      changed();
    }
    ended = true;
    changed();
    return text;
  })();
  return {
    whole,
    text: () => text,
    /** Resolves when `words` are in it. @throws when it ends without. */
    async says(words: string) {
      while (!text.includes(words)) {
        if (ended) throw new Error(`it ended without saying "${words}": ${text}`);
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
  };
}

/** Those of `programs` (names on PATH, or absolute paths) that are not installed. */
export function missingOf(programs: readonly string[]): string[] {
  return programs.filter((name) => (name.startsWith("/") ? !existsSync(name) : Bun.which(name) === null));
}

/**
 * `test` if all of `programs` (names on PATH, or absolute paths) are installed; otherwise a skipped test and a printed
 * reason, or with `SVC_TEST_REQUIRE=all` a failing test.
 */
export function testWith(...programs: string[]): typeof test {
  const missing = missingOf(programs);
  if (missing.length === 0) return test;
  const reason = `${missing.join(", ")} not found`;
  if (isThorough) {
    const failing = (name: string) =>
      test(name, () => {
        throw new Error(`SVC_TEST_REQUIRE=all, and ${reason}`);
      });
    return Object.assign(failing, test) as typeof test;
  }
  console.warn(`skipping tests: ${reason}`);
  return test.skip as typeof test;
}
