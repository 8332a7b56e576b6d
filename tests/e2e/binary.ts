/** The compiled binary as somebody has it who installed it: alone in a folder, with nothing of ours in the environment. */
import { join } from "node:path";
import { placeBinary, temporaryFolder } from "../support";

/** What a run printed, and its exit code. */
export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running server, as its first line describes it. */
export interface Running extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly firstLine: string;
  /** What it wrote to stderr, once it has ended. */
  readonly stderr: Promise<string>;
  readonly exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

export interface Installed extends Disposable {
  readonly folder: string;
  readonly binary: string;
  readonly configDir: string;
  run(args: readonly string[], env?: Record<string, string>): Promise<Ran>;
  /** `svc serve --json` on a free port unless `args` say otherwise; killed when the scope ends. */
  serve(args?: readonly string[], env?: Record<string, string>): Promise<Running>;
}

export function installedBinary(): Installed {
  const folder = temporaryFolder();
  const binary = join(folder.path, "svc");
  placeBinary(binary);
  const configDir = join(folder.path, "home", "config");
  const spawn = (args: readonly string[], env: Record<string, string>) =>
    Bun.spawn([binary, ...args], {
      cwd: folder.path,
      env: { HOME: join(folder.path, "home"), PATH: "/usr/bin:/bin", SVC_CONFIG_DIR: configDir, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  return {
    folder: folder.path,
    binary,
    configDir,
    async run(args, env = {}) {
      const child = spawn(args, env);
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      return { exitCode: await child.exited, stdout, stderr };
    },
    async serve(args = ["--port", "0"], env = {}) {
      const child = spawn(["serve", "--json", ...args], env);
      const stderr = new Response(child.stderr).text();
      const { value } = await child.stdout.getReader().read();
      if (!value) throw new Error(await stderr);
      const firstLine = new TextDecoder().decode(value);
      const { url, port, pid }: { url: string; port: number; pid: number } = JSON.parse(firstLine);
      return {
        url,
        port,
        pid,
        firstLine,
        stderr,
        exited: child.exited,
        kill: (signal) => child.kill(signal),
        async [Symbol.asyncDispose]() {
          child.kill("SIGKILL");
          await child.exited;
        },
      };
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** A port that nobody listens on just now, for a program that cannot pick one itself. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  probe.stop();
  return probe.port;
}
