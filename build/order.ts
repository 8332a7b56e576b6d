/**
 * `npm run order`: writes `build/svc.order`, which says what a start of `svc serve` and a command that asks it read of the binary. A build lays
 * that together (`bytecodeOrder`), so that they read little besides: of a start's memory, it is some MiB.
 *
 * Functions are named by what they do, so it still holds for what has not changed since.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HANDED_OVER, RUNTIME_OPTIONS } from "../src/cli/reexec";
import { ROOT } from "./targets";

/** What Bun lays the binary out by. */
export const ORDER = join(ROOT, "build", "svc.order");

/** Where Bun writes what a process has read, when that ends. */
const WRITTEN_TO = "BUN_BYTECODE_ORDER_OUT";

const TOKEN = "order-token-0123456789";

/** How long the server is left alone, in milliseconds: its timers run once, and what the start needed is collected. */
const REST_MS = 3_000;

/** The lines that say which functions the binary has besides: most of them, and nothing follows from them that the others do not say. */
const BESIDES = "K";

/**
 * Starts a server on a folder of its own and asks it, once over HTTP and once as a command does.
 *
 * @returns the lines of what both have read, those of the server first.
 * @throws when the server does not start.
 */
export async function recordOrder(binary: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "svc-order-"));
  const configDir = join(folder, "config");
  const [ofServer, ofCommand] = [join(folder, "serve.order"), join(folder, "command.order")];
  try {
    const server = startOver(binary, configDir, ofServer);
    try {
      const url = await urlIn(server.stdout);
      await (await fetch(`${url}/health`)).text();
      const env = { ...process.env, SVC_TOKEN: TOKEN, [WRITTEN_TO]: ofCommand };
      const asks = [binary, "sessions", "list", "--config-dir", configDir];
      await Bun.spawn(asks, { env, stdio: ["ignore", "ignore", "inherit"] }).exited;
      await Bun.sleep(REST_MS);
    } finally {
      server.kill();
      await server.exited;
    }
    const texts = await Promise.all([ofServer, ofCommand].map((file) => readFile(file, "utf8")));
    const lines = texts.flatMap((text) => text.trimEnd().split("\n"));
    return [...new Set(lines)].filter((line) => !line.startsWith(BESIDES));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `svc serve` as it is once it has started over (`src/cli/reexec.ts`): what its process read before that is not what stays. */
function startOver(binary: string, configDir: string, order: string) {
  const handed = { noun: "serve", typed: { port: ["0"] }, globals: { configDir, json: true } };
  const text = JSON.stringify(handed).replace(/\}$/, ',"pid":');
  const script = `export ${HANDED_OVER}="$1$$}"; exec "$0" serve`;
  const env = { ...process.env, ...RUNTIME_OPTIONS, SVC_TOKEN: TOKEN, [WRITTEN_TO]: order };
  return Bun.spawn(["sh", "-c", script, binary, text], { env, stdio: ["ignore", "pipe", "inherit"] });
}

/** @throws when it ends before it says where it answers. */
async function urlIn(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  let text = "";
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes("\n")) return Object(JSON.parse(text)).url;
  }
  throw new Error(`svc serve: expected a line with its url but found ${JSON.stringify(text)}`);
}

if (import.meta.main) {
  const lines = await recordOrder(join(ROOT, "dist", "svc"));
  await Bun.write(ORDER, `${lines.join("\n")}\n`);
  console.log(`${ORDER}  ${lines.length} lines`);
}
