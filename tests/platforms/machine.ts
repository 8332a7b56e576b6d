/** A machine that has some platform's binary: how svc is run there, and what both platforms have to agree on. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { BINARY, caller, follow, temporaryFolder } from "../support";

export interface Machine {
  /** The command line that runs svc, without arguments of its own. */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Where it keeps what is its own. */
  readonly home: string;
  /** How programs there name the file at `path`. */
  readonly named: (path: string) => string;
}

/** This machine, with the binary that `bun run build` has made. */
export function thisMachine(env: NodeJS.ProcessEnv = process.env): Machine & Disposable {
  const { path: home, [Symbol.dispose]: dispose } = temporaryFolder();
  return { command: [BINARY], env, home, named: (path) => path, [Symbol.dispose]: dispose };
}

/** A folder of `machine`, made. */
export function folderOn({ home }: Machine, ...names: readonly string[]): string {
  const path = join(home, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

/** Runs `svc args` to its end, on the configuration in `configDir` (a path of this machine). */
export async function run(
  { command, env, home, named }: Machine,
  args: readonly string[],
  { stdin = "", configDir = join(home, "config") } = {},
) {
  const child = Bun.spawn([...command, ...args], {
    cwd: home,
    env: { ...env, SVC_CONFIG_DIR: named(configDir) },
    stdio: [Buffer.from(stdin), "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { exitCode: await child.exited, stdout, stderr };
}

/** `svc serve` on a free port, killed when the scope ends. */
export async function serve(machine: Machine, flags: readonly string[] = [], folder = "server") {
  const { command, env, home, named } = machine;
  const configDir = join(home, folder);
  const port = flags.includes("--port") ? [] : ["--port", "0"];
  const line = [...command, "serve", "--json", "--rate-limit", "0", ...port];
  const child = Bun.spawn([...line, "--config-dir", named(configDir), ...flags], {
    cwd: home,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const said = follow(child.stdout);
  await said.says("\n");
  const { url, pin }: { url?: string; pin: string | null } = JSON.parse(said.text());
  if (url === undefined) throw new Error(`svc serve: ${said.text()}`);
  const token = readFileSync(configFiles(configDir).token, "utf8").trim();
  return {
    url,
    pin,
    configDir,
    token,
    call: caller(url, token),
    /** Ends its standard input. */
    endInput: () => child.stdin.end(),
    exited: child.exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** A server that runs. */
export type Server = Awaited<ReturnType<typeof serve>>;

interface Document {
  readonly paths: Record<
    string,
    {
      get?: {
        parameters?: ReadonlyArray<{ name: string; in: string; required?: boolean; example?: unknown }>;
      };
    }
  >;
}

/** A server that is asked for the status of each GET. */
interface AskedServer {
  readonly server: Server;
  /** Values of parameters in paths; those that are not here, and not in the API document, are something that is not there. */
  readonly values: Readonly<Record<string, string>>;
}

/** How long a helper process may take to start on an emulated machine that is busy, in milliseconds. */
const HELPER_MS = 120_000;

/**
 * The status of the answer of two servers to each GET of the API document, by its path. Where they differ and one answers 503, both
 * are asked again for a while: a process that helps one of them may be starting.
 *
 * @param own answers that the first is to give, whatever the other answers.
 */
export async function statusesOf(
  one: AskedServer,
  other: AskedServer,
  own: Readonly<Record<string, number>> = {},
): Promise<Array<Record<string, number>>> {
  const [first, second] = [await statuses(one), await statuses(other)];
  for (const end = performance.now() + HELPER_MS; performance.now() < end; ) {
    const apart = Object.keys(first).filter((path) => first[path] !== (own[path] ?? second[path]));
    if (!apart.some((path) => first[path] === 503 || second[path] === 503)) break;
    await Bun.sleep(2_000);
    Object.assign(first, await statuses(one, apart));
    Object.assign(second, await statuses(other, apart));
  }
  return [first, second];
}

async function statuses(
  { server: { call }, values }: AskedServer,
  only?: readonly string[],
): Promise<Record<string, number>> {
  const { paths } = (await (await call("/openapi.json")).json()) as Document;
  const found: Record<string, number> = {};
  for (const [path, { get }] of Object.entries(paths)) {
    if (!get || only?.includes(path) === false) continue;
    const { parameters = [] } = get;
    const filled = (name: string) =>
      encodeURIComponent(values[name] ?? `${parameters.find((one) => one.name === name)?.example ?? "none"}`);
    const needed = parameters.filter((one) => one.in === "query" && one.required);
    const query = needed.map(({ name }) => `${name}=${filled(name)}`).join("&");
    const response = await call(`${path.replace(/\{(\w+)\}/g, (_, name) => filled(name))}?${query}`);
    // Some of them are streams without an end.
    await response.body?.cancel();
    // What takes long is answered with where to ask for it later.
    found[path] = response.status === 202 ? 200 : response.status;
  }
  return found;
}
