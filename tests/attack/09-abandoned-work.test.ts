/** The attack: with a token, ask for much work again and again and never wait for the answer. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { AuditFile } from "../../src/host/audit/file";
import { appendRows, headOf, readHighWater } from "../../src/host/audit/high-water";
import { configFiles } from "../../src/lib/paths";
import { type ServerProcess, serveBinary, until } from "../support";
import { addToken } from "./raw";

const HOSTS = 300;
const CALLERS = 30;
const GROUPS = 10;
/** Far below the minute that each host has, and seldom: to list thousands of descriptors takes long. */
const PAUSED = { seconds: 20, everyMs: 50 };
const onLinux = process.platform === "linux" ? test : test.skip;

/** A server that any number of requests may come to, and what its process holds. */
async function server() {
  const svc = await serveBinary(["--rate-limit", "0"]);
  const descriptors = () => readdirSync(`/proc/${svc.pid}/fd`).length;
  const children = () => readFileSync(`/proc/${svc.pid}/task/${svc.pid}/children`, "utf8").trim();
  return { svc, descriptors, children };
}

/** Writes the address book of `svc`: hosts that never answer, and itself. */
function writeBook({ url, token, configDir }: ServerProcess, port: number, count = HOSTS): void {
  const holes = Array.from({ length: count }, (_, nth) => ({
    label: `hole-${nth}`,
    // An address each: how often a token asks one host is limited.
    base_url: `http://127.0.${1 + (nth >> 7)}.${1 + (nth & 127)}:${port}`,
    token,
    tags: ["hole", `hole-${nth % GROUPS}`],
  }));
  const hosts = [...holes, { label: "self", base_url: url, token, tags: [] }];
  writeFileSync(configFiles(configDir).formerAdminHosts, JSON.stringify({ hosts }), { mode: 0o600 });
}

/** Sends a request for each of `paths`, and goes once `begun` holds. */
async function abandon(svc: ServerProcess, paths: readonly string[], begun: () => boolean): Promise<void> {
  const client = new AbortController();
  const asked = paths.map((path) => svc.call(path, { signal: client.signal }).catch(() => null));
  await until("the work to begin", begun, PAUSED);
  client.abort();
  await Promise.all(asked);
}

onLinux(
  "abandoned polls of hosts that never answer leave no connection behind, and stay below the cap",
  async () => {
    const hole = Bun.listen({ hostname: "0.0.0.0", port: 0, socket: { data() {} } });
    const { svc, descriptors } = await server();
    await using _ = svc;
    writeBook(svc, hole.port);
    await svc.call("/admin/hosts");
    const before = descriptors();
    const same = Array.from({ length: CALLERS }, () => "/admin/poll?on=tag:hole&timeout_s=60");
    await abandon(svc, same, () => descriptors() > before + HOSTS);
    // Of all thirty, one poll: the others share it.
    let most = descriptors();
    expect(most).toBeLessThan(before + HOSTS + CALLERS + 50);
    await until("no descriptor more than before", () => descriptors() <= before + 10, PAUSED);
    const different = same.map((path, nth) => `${path}&concurrency=${100 + nth}`);
    await abandon(svc, different, () => {
      most = Math.max(most, descriptors());
      return descriptors() > before + 3_000;
    });
    expect(most).toBeLessThan(before + 4_096 + CALLERS + 50);
    await until("no descriptor more than before", () => descriptors() <= before + 10, PAUSED);
  },
  180_000,
);

onLinux(
  "polls that differ leave connections for others, however many one token asks for",
  async () => {
    const hole = Bun.listen({ hostname: "0.0.0.0", port: 0, socket: { data() {} } });
    const { svc, descriptors } = await server();
    await using _ = svc;
    const token = await addToken(svc, "greedy", { scope: "operate" });
    writeBook(svc, hole.port, HOSTS * GROUPS);
    const before = descriptors();
    const client = new AbortController();
    const init = { headers: { authorization: `Bearer ${token}` }, signal: client.signal };
    for (let nth = 0; nth < CALLERS; nth++)
      void svc
        .call(`/admin/poll?on=tag:hole-${nth % GROUPS}&timeout_s=300&concurrency=${500 + nth}`, init)
        .catch(() => null);
    await until("its share to be taken", () => descriptors() > before + 3_000, PAUSED);
    const asked = await svc.call("/admin/poll?on=self&timeout_s=30", { signal: AbortSignal.timeout(30_000) });
    expect(await asked.json()).toMatchObject([{ label: "self", healthy: true }]);
    client.abort();
    await until("no descriptor more than before", () => descriptors() <= before + 10, PAUSED);
  },
  120_000,
);

onLinux(
  "abandoned verifications end: no process goes on with them, and the next one begins at once",
  async () => {
    const { svc, children, descriptors } = await server();
    await using _ = svc;
    await fill(svc.configDir);
    const before = descriptors();
    await abandon(svc, ["/audit/verify"], () => children() !== "");
    const heads = Array.from(
      { length: CALLERS },
      (_, nth) => `/audit/verify?noted=${nth + 1}:${"0".repeat(64)}`,
    );
    await abandon(svc, heads, () => children() !== "" && descriptors() >= before + CALLERS);
    const scans = new Set<string>();
    const watching = setInterval(() => {
      for (const child of children().split(" ").filter(Boolean)) scans.add(child);
    }, 5);
    const verdict = (await (await svc.call("/audit/verify")).json()) as { ok: boolean };
    clearInterval(watching);
    expect(verdict.ok).toBe(true);
    // Its own, and at most one before it, each in two processes.
    expect(scans.size).toBeLessThanOrEqual(4);
    await until("no child process", () => children() === "");
  },
  180_000,
);

/** Appends so many rows to the log that a verification takes longer than the child needs to start. */
async function fill(configDir: string): Promise<void> {
  const ts = "2026-04-27T10:30:00.123000+00:00";
  const event = { event_type: "rest_api", host_id: null, viewer_id: null, detail: "GET / -> ok:200" };
  const file = new AuditFile(configFiles(configDir).auditLog);
  const batch = Array.from({ length: 10_000 }, () => ({ ts, event }));
  for (let nth = 0; nth < 10; nth++)
    await file.write((db) => appendRows(db, headOf(readHighWater(db)), batch));
  file.close();
}
