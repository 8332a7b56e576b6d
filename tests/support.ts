/**
 * What many tests need: a folder of their own, a service on it, a server, and real programs where there are any.
 */
import { test } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Caller, localCaller } from "../src/core/caller";
import type { RestServer, RestServerOptions } from "../src/http/server";
import { silentLog } from "../src/lib/log";
import type { RunOptions } from "../src/runs/executor";
import type { RunReport } from "../src/runs/types";
import { createService, type Service, type ServiceOptions } from "../src/service";

/** A new folder that goes when the scope ends: `using folder = temporaryFolder()`. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "svc-test-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A service on a folder of its own, stopped when the scope ends: `await using`. */
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

/** The token that {@link testServer} uses unless told otherwise. */
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
  const server = await rest.start({ port: 0, token: TOKEN, rateLimit: 0, ...restOptions });
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
  return executor.run(executor.prepare(actions), caller, options);
}

/** The compiled binary, as `bun run build` leaves it. */
export const BINARY = join(import.meta.dir, "..", "dist", "svc");

/** The compiled binary alone in an empty folder, its configuration in `config` beside it; gone when the scope ends. */
export function installBinary(binary = BINARY) {
  const folder = temporaryFolder();
  copyFileSync(binary, join(folder.path, "svc"));
  return {
    path: folder.path,
    configDir: join(folder.path, "config"),
    /** Runs `svc args` to its end, behind the command line `before` if there is one. */
    async run(
      args: readonly string[],
      { before = [], env = {} }: { before?: string[]; env?: NodeJS.ProcessEnv } = {},
    ) {
      const child = Bun.spawn([...before, "./svc", ...args], {
        cwd: folder.path,
        env: { ...process.env, SVC_CONFIG_DIR: "config", ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return { stdout, stderr, exitCode: await child.exited };
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/**
 * The compiled binary as a server, in an empty folder of its own; killed when the scope ends.
 *
 * @param flags of `svc serve`; unless they say otherwise it takes a free port.
 * @param options.binary a copy of it to run.
 */
export async function serveBinary(
  flags: readonly string[] = [],
  { token = TOKEN, env = process.env, binary = BINARY } = {},
): Promise<
  AsyncDisposable & {
    readonly url: string;
    readonly pid: number;
    readonly token: string;
    readonly configDir: string;
    readonly call: (path: string, init?: RequestInit) => Promise<Response>;
  }
> {
  const folder = temporaryFolder();
  const configDir = join(folder.path, "config");
  const port = flags.includes("--port") ? [] : ["--port", "0"];
  const child = Bun.spawn([binary, "serve", ...port, "--json", "--config-dir", configDir, ...flags], {
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
    call: caller(url, token),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

/** A `fetch` on `url` that sends `token`, unless told otherwise. */
function caller(url: string, token: string): (path: string, init?: RequestInit) => Promise<Response> {
  return (path, init = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
    return fetch(url + path, { ...init, headers });
  };
}

/** What is written to `stream`, read on and on, and a way to wait for words in it. */
export function follow(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let text = "";
  let ended = false;
  let told = () => {};
  const whole = (async () => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      told();
    }
    ended = true;
    told();
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
          told = resolve;
        });
      }
    },
  };
}

/**
 * `test` where all of `programs` (names on PATH, or absolute paths) are there; otherwise a skipped test whose reason is
 * printed, or with `SVC_TEST_REQUIRE=all` a failing one.
 */
export function testWith(...programs: string[]): typeof test {
  const missing = programs.filter((name) =>
    name.startsWith("/") ? !existsSync(name) : Bun.which(name) === null,
  );
  if (missing.length === 0) return test;
  const reason = `${missing.join(", ")} not found`;
  if (process.env.SVC_TEST_REQUIRE === "all") {
    const failing = (name: string) =>
      test(name, () => {
        throw new Error(`SVC_TEST_REQUIRE=all, and ${reason}`);
      });
    return Object.assign(failing, test) as typeof test;
  }
  console.warn(`skipping tests: ${reason}`);
  return test.skip as typeof test;
}
