/** What the clients of a standby notice while it takes a large snapshot of its desk: both are servers, the desk with TLS. */
import { Database } from "bun:sqlite";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, type Figure, healthDuring, p99, startSvc, temporaryFolder } from "./support";

/** Of the databases of the desk, in MiB: half of it packs well. */
const LARGE = 48;
const [P99_MS, LONGEST_MS] = [20, 50];

export async function bench(): Promise<Figure[]> {
  using first = temporaryFolder();
  using second = temporaryFolder();
  await using _desk = await startSvc(first.path, "--tls");
  await run(first.path, "join-token");
  const key = await run(second.path, "standby", "key");
  const string = join(second.path, "string");
  writeFileSync(string, await run(first.path, "standby", "allow", "second", key), { mode: 0o600 });
  await run(second.path, "standby", "follow", "--file", string);
  await using standby = await startSvc(second.path);
  grow(join(first.path, "join.db"));
  const times = await healthDuring(standby, largeIn(join(second.path, "standby")));
  const about = `of a standby that takes a desk with databases of ${LARGE} MiB`;
  const longest = Math.max(...times);
  return [
    {
      ...{ name: `p99 of /health ${about}`, ratio: p99(times) / P99_MS, goal: "<= 1" },
      detail: `${p99(times).toFixed(1)} / ${P99_MS} ms over ${times.length} requests`,
    },
    {
      ...{ name: `longest /health ${about}`, ratio: longest / LONGEST_MS, goal: "<= 1" },
      detail: `${longest.toFixed(1)} / ${LONGEST_MS} ms`,
    },
  ];
}

/** What `svc` prints there. */
async function run(configDir: string, ...words: string[]): Promise<string> {
  const child = Bun.spawn([BINARY, ...words], {
    env: { ...process.env, SVC_CONFIG_DIR: configDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`svc ${words.join(" ")} failed`);
  return text.trim();
}

/** Waits for a large snapshot there: a part of it is under another name. */
async function largeIn(folder: string): Promise<void> {
  const until = performance.now() + 120_000;
  const isThere = () =>
    readdirSync(folder).some(
      (name) => name.endsWith(".age") && statSync(join(folder, name)).size > LARGE * 400_000,
    );
  while (!isThere()) {
    if (performance.now() > until) throw new Error("no large snapshot within 2 minutes");
    await Bun.sleep(50);
  }
}

function grow(file: string): void {
  using db = new Database(file);
  db.run("CREATE TABLE ballast (content BLOB)");
  const insert = db.query("INSERT INTO ballast VALUES (randomblob(524288)), (zeroblob(524288))");
  db.transaction(() => {
    for (let n = 0; n < LARGE; n++) insert.run();
  })();
}
