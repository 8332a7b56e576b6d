/**
 * What svc costs when it does nothing: the time to start, and the memory it idles with.
 */
import {
  BINARY,
  compileProgram,
  type Figure,
  mebibytes,
  paired,
  residentBytes,
  startServer,
  startSvc,
  temporaryFolder,
} from "./support";

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  return [await startTime(folder.path), await idleMemory(folder.path)];
}

async function startTime(folder: string): Promise<Figure> {
  const hello = await compileProgram("hello", folder);
  const { ratio, subject, baseline } = await paired(
    () => milliseconds([BINARY, "--version"]),
    () => milliseconds([hello]),
    21,
  );
  const detail = `${subject.toFixed(1)} / ${baseline.toFixed(1)} ms`;
  return { name: "svc --version against a compiled hello-world", ratio, goal: "<= 2", detail };
}

async function milliseconds(command: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = Bun.spawn([...command], { stdio: ["ignore", "ignore", "inherit"] });
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed`);
  return performance.now() - started;
}

/** After one request, so that what the first one loads is counted, and a pause, so that start-up garbage is not. */
async function idleMemory(folder: string): Promise<Figure> {
  const bare = await compileProgram("bare", folder);
  const { ratio, subject, baseline } = await paired(
    async () => {
      using configDir = temporaryFolder();
      await using server = await startSvc(configDir.path);
      return await settled(server.url, server.pid);
    },
    async () => {
      await using server = await startServer([bare]);
      return await settled(server.url, server.pid);
    },
    3,
  );
  const detail = `${mebibytes(subject)} / ${mebibytes(baseline)} resident`;
  return { name: "idle svc serve against a compiled bare server", ratio, goal: "<= 1.5", detail };
}

async function settled(url: string, pid: number): Promise<number> {
  await (await fetch(`${url}/health`)).arrayBuffer();
  await Bun.sleep(2_000);
  return residentBytes(pid);
}
