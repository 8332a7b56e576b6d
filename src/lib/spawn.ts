/**
 * Starting child processes, svc's own and programs of the host: the one place that makes their environment.
 *
 * Promise: no child sees a secret that svc was given in its environment, nor a variable by which a runtime runs other code,
 * opens a debugger or changes what it is.
 */

/** Where svc takes secrets from; the last names the folder of systemd's credentials. */
const SECRETS = [
  "SVC_TOKEN",
  "SVC_DESK_TOKEN",
  "SVC_HOST_TOKEN",
  "SVC_ROBOT_TOKEN",
  "SVC_PASSPHRASE",
  "SVC_TURN_SECRET",
  "CREDENTIALS_DIRECTORY",
  "OTEL_EXPORTER_OTLP_HEADERS",
];

/** Where `svc serve`, which starts over without {@link runtimeVariables}, keeps the names of those that were there. */
const DROPPED = "SVC_DROPPED_VARIABLES";

/** What Bun reads, and what Node reads as options. `BUN_TMPDIR` and `BUN_INSTALL…` name folders. */
const RUNTIME = /^(?:BUN_(?!TMPDIR$|INSTALL)|NODE_OPTIONS$)/i;

const without = (env: NodeJS.ProcessEnv, isOut: (name: string) => boolean): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isOut(name)));

/**
 * The names of the variables that this process was started with and by which a runtime does something other than its program
 * says.
 */
export function runtimeVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const dropped = env[DROPPED]?.split(",") ?? [];
  return [...new Set([...dropped, ...Object.keys(env)].filter((name) => RUNTIME.test(name)))].toSorted();
}

/** The environment of this process, for itself once it starts over: without {@link runtimeVariables}, but with their names. */
export const ownEnvironment = (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv => ({
  ...without(env, (name) => RUNTIME.test(name)),
  [DROPPED]: runtimeVariables(env).join(),
});

/** What a child may see of `env`. The names of variables have no case on Windows. */
const childEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  without(env, (name) => RUNTIME.test(name) || [...SECRETS, DROPPED].includes(name.toUpperCase()));

/**
 * Starts a program as `Bun.spawn` does. No window shows on Windows.
 *
 * @param options.env what the child may see of it (default: of this process's).
 * @throws the system error when it cannot be started.
 */
export function spawn<
  const In extends Bun.Spawn.Writable = "ignore",
  const Out extends Bun.Spawn.Readable = "pipe",
  const Err extends Bun.Spawn.Readable = "inherit",
>(command: readonly string[], options: Bun.Spawn.SpawnOptions<In, Out, Err>): Bun.Subprocess<In, Out, Err> {
  const env = childEnvironment(options.env ?? process.env);
  return Bun.spawn([...command], { windowsHide: true, ...options, env });
}

/**
 * What a program prints, for a process that does nothing else meanwhile.
 *
 * @param timeoutMs it is ended then; what it has printed counts.
 * @throws the system error when it cannot be started.
 */
export function printedBy(command: readonly string[], timeoutMs: number): string {
  const env = childEnvironment(process.env);
  const { stdout } = Bun.spawnSync([...command], { env, stderr: "ignore", timeout: timeoutMs });
  return stdout.toString();
}
