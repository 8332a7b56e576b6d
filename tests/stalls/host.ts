/**
 * A server whose event loop is watched: the longest that its thread worked between two turns, in milliseconds of processor time, so
 * that other work on the machine does not count.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { NEW_TOKEN } from "../../src/trust/token-fields";
import { temporaryFolder, testServer } from "../support";

/** What the test asks for: the longest stall since it last asked; or how long a piece of work takes that is always the same. */
export type StallQuestion = "longest" | "baseline";

/** The first message has the address of the server and two tokens of little scope, the others answer a {@link StallQuestion}. */
export interface StallMessage {
  readonly url?: string;
  readonly tokens?: readonly string[];
  readonly ms?: number;
}

/** How many hosts the address book has: the argument. */
const HOSTS = Number(process.argv[2] ?? 200);

/** How many tags they have together, but for one that all have. */
const TAGS = 10_000;

const threadMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Milliseconds of the fastest of several. */
function baseline(): number {
  const text = `[${Array.from({ length: 60_000 }, (_, nth) => `{"name":"n${nth}"}`)}]`;
  const times = Array.from({ length: 5 }, () => {
    const began = threadMs();
    JSON.parse(text);
    return threadMs() - began;
  });
  return Math.min(...times);
}

async function watch(): Promise<void> {
  const send = (message: StallMessage) => process.send?.(message);
  let longest = 0;
  let last = threadMs();
  const turn = () => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  using folder = temporaryFolder();
  const hosts = Array.from({ length: HOSTS }, (_, nth) => ({
    label: `host-${nth}`,
    base_url: "http://127.0.0.1:9",
    token: "not-a-token-of-it",
    tags: ["lab", ...Array.from({ length: TAGS / HOSTS }, (_, tag) => `asset-${nth}-${tag}-abacad`)],
  }));
  writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
  const { server } = await testServer({ service: { configDir: folder.path } });
  const store = tokenStore(configFiles(folder.path), silentLog);
  const tokens: string[] = [];
  for (const name of ["anna", "bert"])
    tokens.push(await addToken(store, v.parse(NEW_TOKEN, { name, scope: ["read", "metrics"] })));
  setInterval(turn, 1);
  process.on("message", (question: StallQuestion) => {
    turn();
    send({ ms: question === "baseline" ? baseline() : longest });
    last = threadMs();
    longest = 0;
  });
  await new Promise((resolve) => {
    process.on("disconnect", resolve);
    send({ url: server.url, tokens });
  });
}

if (import.meta.main) {
  await watch();
  process.exit();
}
