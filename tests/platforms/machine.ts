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

/** How long a helper process may take to start on an emulated machine that is busy, with the minute for which one that was too slow is not tried again. */
const HELPER_MS = 120_000;

/**
 * The status of the answer to each GET of the API document, by its path.
 *
 * @param values of parameters in paths; those that are not named here, and not in the document, are something that is not there.
 */
export async function statuses(
  { call }: Server,
  values: Readonly<Record<string, string>> = {},
): Promise<Record<string, number>> {
  const { paths } = (await (await call("/openapi.json")).json()) as Document;
  const found: Record<string, number> = {};
  for (const [path, { get }] of Object.entries(paths)) {
    if (!get) continue;
    const { parameters = [] } = get;
    const filled = (name: string) =>
      encodeURIComponent(values[name] ?? `${parameters.find((one) => one.name === name)?.example ?? "none"}`);
    const needed = parameters.filter((one) => one.in === "query" && one.required);
    const query = needed.map(({ name }) => `${name}=${filled(name)}`).join("&");
    const ask = async () => {
      const response = await call(`${path.replace(/\{(\w+)\}/g, (_, name) => filled(name))}?${query}`);
      // Some of them are streams without an end.
      await response.body?.cancel();
      return response;
    };
    let response = await ask();
    for (const end = performance.now() + HELPER_MS; response.status === 503 && performance.now() < end; ) {
      await Bun.sleep(5_000);
      response = await ask();
    }
    // What takes long is answered with where to ask for it later.
    found[path] = response.status === 202 ? 200 : response.status;
  }
  return found;
}
