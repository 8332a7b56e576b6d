/**
 * What it costs to follow a host: 1,000 streams of events, how soon an event reaches them, and what each keeps in memory.
 */
import { join } from "node:path";
import { BINARY, type Figure, p99, residentBytes, startSvc, TOKEN, temporaryFolder } from "./support";

const STREAMS = 1_000;
/** A token has 64 streams. */
const TOKENS = 16;
const EVENTS = 30;
const REACHES_MS = 100;
const ALLOWED_BYTES = 32 * 1_024;

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  await using svc = await startSvc(folder.path);
  const tokens = tokensOf(folder.path);
  await follow(svc.url, tokens, 16, async () => {});
  // What the first streams need is not what each keeps.
  await Bun.sleep(1_000);
  const before = residentBytes(svc.pid);
  let open = Number.NaN;
  const delays = await follow(svc.url, tokens, STREAMS, async (next) => {
    await Bun.sleep(2_000);
    open = residentBytes(svc.pid);
    await next();
  });
  const each = (open - before) / STREAMS;
  return [
    {
      name: `p99 until an event has reached ${STREAMS} streams`,
      ratio: p99(delays) / REACHES_MS,
      goal: "<= 1",
      detail: `${p99(delays).toFixed(1)} / ${REACHES_MS} ms, over ${EVENTS} events`,
    },
    {
      name: `memory of each of ${STREAMS} streams`,
      ratio: each / ALLOWED_BYTES,
      goal: "<= 1",
      detail: `${(each / 1_024).toFixed(1)} / ${ALLOWED_BYTES / 1_024} KiB`,
    },
  ];
}

/** Tokens for {@link STREAMS} streams, the first of them the host's own. */
export function tokensOf(configDir: string): string[] {
  return [TOKEN, ...Array.from({ length: TOKENS - 1 }, (_, nth) => addToken(configDir, nth))];
}

function addToken(configDir: string, nth: number): string {
  const { stdout } = Bun.spawnSync([
    ...[BINARY, "token", "add", `follower-${nth}`, "--scope", "read"],
    ...["--config-dir", configDir, "--json"],
  ]);
  return (JSON.parse(stdout.toString()) as { token: string }).token;
}

/** Opens the streams, has `ready` called, and measures {@link EVENTS} events. @returns the delays of all of them. */
export async function follow(
  url: string,
  tokens: readonly string[],
  count: number,
  ready: (next: () => Promise<void>) => Promise<void>,
): Promise<number[]> {
  const program = join(import.meta.dir, "programs", "streams.ts");
  const child = Bun.spawn([process.execPath, program, url, tokens.join(), String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = linesOf(child.stdout);
  await lines.next();
  const delays: number[] = [];
  await ready(async () => {
    for (let nth = 0; nth < EVENTS; nth++) {
      child.stdin.write("\n");
      child.stdin.flush();
      const { value = "[]" } = await lines.next();
      delays.push(...(JSON.parse(value) as number[]));
    }
  });
  child.kill();
  await child.exited;
  return delays;
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  return undefined;
}
