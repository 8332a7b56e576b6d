/**
 * Desktops on demand: forty at once, how long each takes to be ready, the memory of each without programs, clicks spread over all of them,
 * and what is left after svc, or the run, is killed.
 *
 * svc's own hands on a display are those of the compiled binary. Times, bytes and counts are divided by what they may be.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDesktop } from "../src/host/desktop/desktop";
import { createDesktops, type DesktopLease, type Desktops } from "../src/host/desktops/desktops";
import { createDisks, DEFAULT_DISK } from "../src/host/desktops/disk";
import { MARK } from "../src/host/desktops/keeper";
import { requireTools } from "../src/host/desktops/tools";
import { silentLog } from "../src/lib/log";
import { BINARY, type Figure, median } from "./support";

const PROGRAMS = ["Xvfb", "openbox", "dbus-daemon"];
const COUNT = 40;
const CLICKS = 10_000;
/** How many of the desktops are clicked on at once: each has a helper of its own. */
const HANDS = 8;
const KILLS = Number(process.env.SVC_BENCH_KILLS ?? 100);
const ALLOWED = { readyMs: 500, bytes: 40 * 1_048_576 };

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0)
    return [{ name: "desktops", ratio: Number.NaN, goal: "<= 1", detail: `needs ${missing.join(", ")}` }];
  return [...(await many()), await clicked(), await killed()];
}

const OWNER = { token: null, share: null, signal: new AbortController().signal };

function open(): Desktops {
  return createDesktops({
    ...{ log: silentLog, publish: () => {}, env: process.env, most: COUNT },
    disks: createDisks({ limitBytes: DEFAULT_DISK }),
    tools: () => requireTools(process.env),
    account: async () => undefined,
    createDesktop: async ({ env, as }, lockFile) =>
      createDesktop({
        ...{ env, as, lockFile, imagesFolder: "/nowhere", ocrFolder: "/nowhere", log: silentLog },
        command: [BINARY, "desktop-child"],
      }),
  });
}

/** Forty, one after the other: each is asked for while the others run. */
async function many(): Promise<Figure[]> {
  const all = open();
  try {
    const times: number[] = [];
    for (let at = 0; at < COUNT; at++) {
      const began = performance.now();
      await all.lease({ name: "new" }, `${at}`.padStart(8, "0"), OWNER);
      times.push(performance.now() - began);
    }
    const bytes = proportionalBytes() / COUNT;
    return [
      {
        ...{
          name: `a desktop is ready, ${COUNT} of them`,
          ratio: median(times) / ALLOWED.readyMs,
          goal: "<= 1",
        },
        detail: `${Math.round(median(times))} ms, ${Math.round(Math.max(...times))} ms at most; allowed ${ALLOWED.readyMs}`,
      },
      {
        ...{ name: "the memory of a desktop without programs", ratio: bytes / ALLOWED.bytes, goal: "<= 1" },
        detail: `${(bytes / 1_048_576).toFixed(1)} MiB (proportional); allowed 40`,
      },
    ];
  } finally {
    await all.stop();
  }
}

/** Clicks at a place of its own on each: none is on another's. */
async function clicked(): Promise<Figure> {
  const all = open();
  try {
    const leases: DesktopLease[] = [];
    for (let at = 0; at < HANDS; at++)
      leases.push(await all.lease({ name: "new" }, `${at}`.padStart(8, "0"), OWNER));
    const began = performance.now();
    let astray = 0;
    await Promise.all(
      leases.map(async ({ desktop }, nth) => {
        for (let click = 0; click < CLICKS / HANDS; click++) {
          const x = 100 * nth + (click % 97);
          const y = 50 + (click % 89);
          await desktop.click({ x, y }, "left", "tap");
          const pointer = await desktop.pointer();
          if (pointer.x !== x || pointer.y !== y) astray++;
        }
      }),
    );
    const seconds = (performance.now() - began) / 1_000;
    return {
      ...{ name: `clicks on another desktop than their own, of ${CLICKS}`, ratio: astray, goal: "<= 0" },
      detail: `${astray} on ${HANDS} desktops at once, in ${seconds.toFixed(1)} s`,
    };
  } finally {
    await all.stop();
  }
}

/**
 * A process that starts and ends desktops is killed at a random moment, again and again; half of the times, a random process of a
 * desktop (its X server, window manager or bus) a moment before. Its folder for temporary files is its own: what carries that name is left by
 * it, whatever else begins and ends on this host.
 */
async function killed(): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-kills-"));
  const env = { ...process.env, TMPDIR: folder };
  const script = `
    const { createDesktops } = await import(${JSON.stringify(join(import.meta.dir, "../src/host/desktops/desktops"))});
    const { requireTools } = await import(${JSON.stringify(join(import.meta.dir, "../src/host/desktops/tools"))});
    const { createDisks, DEFAULT_DISK } = await import(${JSON.stringify(join(import.meta.dir, "../src/host/desktops/disk"))});
    const log = { info() {}, warn() {}, error() {} };
    const all = createDesktops({
      disks: createDisks({ limitBytes: DEFAULT_DISK, log }),
      log, publish() {}, env: process.env, tools: () => requireTools(process.env), account: async () => undefined,
      createDesktop: async () => ({ stop: async () => {}, inputLock: { user: () => null } }),
    });
    const asker = { token: null, share: null, signal: new AbortController().signal };
    console.log("begins");
    for (let at = 1; ; at++) {
      const lease = await all.lease({ name: "new" }, String(at), asker);
      await Bun.sleep(50);
      if (at % 2 === 0) await lease.end();
    }
  `;
  const others = orphanedLocks();
  for (let kill = 0; kill < KILLS; kill++) {
    const child = Bun.spawn([process.execPath, "-e", script], { env, stdio: ["ignore", "pipe", "ignore"] });
    await child.stdout.getReader().read();
    await Bun.sleep(Math.random() * 1_000);
    const [victim] = Math.random() < 0.5 ? processes(folder).toSorted(() => Math.random() - 0.5) : [];
    if (victim !== undefined) {
      killQuietly(Number(victim));
      await Bun.sleep(Math.random() * 200);
    }
    child.kill("SIGKILL");
    await child.exited;
  }
  const left = () => leftovers(folder, others);
  const end = performance.now() + 10_000;
  while (sum(left()) > 0 && performance.now() < end) await Bun.sleep(100);
  // As the next start does: one that dies while it makes its folder leaves that.
  const keeper = JSON.stringify(join(import.meta.dir, "../src/host/desktops/keeper"));
  await Bun.spawn([process.execPath, "-e", `await (await import(${keeper})).sweep()`], { env }).exited;
  const found = left();
  if (sum(found) === 0) rmSync(folder, { recursive: true });
  const named = Object.entries(found).map(([what, count]) => `${count} ${what}`);
  return {
    ...{ name: `what ${KILLS} kills left of desktops`, ratio: sum(found), goal: "<= 0" },
    detail: `${named.join(", ")}, after at most 10 s`,
  };
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((all, one) => all + one, 0);

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** What is left of desktops below a folder for temporary files. @param others the locks that were there before. */
const leftovers = (folder: string, others: readonly string[]) => ({
  processes: processes(folder).length,
  folders: readdirSync(folder).length,
  mounts: readFileSync("/proc/self/mountinfo", "utf8").split(`${folder}/`).length - 1,
  displays: orphanedLocks().filter((lock) => !others.includes(lock)).length,
});

/** Locks of displays whose server has gone, each with the id that its server had. */
const orphanedLocks = () =>
  readdirSync("/tmp").flatMap((name) => {
    if (!/^\.X\d+-lock$/.test(name)) return [];
    try {
      const pid = readFileSync(join("/tmp", name), "utf8").trim();
      return existsSync(`/proc/${pid}`) ? [] : [`${name} ${pid}`];
    } catch {
      // Its server has just ended.
      return [];
    }
  });

/** The processes of desktops below a folder for temporary files. */
function processes(folder = tmpdir()): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(
        `${MARK}=${join(folder, "svc-desktops-")}`,
      );
    } catch {
      return false;
    }
  });
}

/** What the processes of desktops take in memory, each page that several share divided among them (proc(5), `Pss`). */
function proportionalBytes(): number {
  return processes().reduce((sum, pid) => {
    const [, kib = "0"] = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
    return sum + Number(kib) * 1_024;
  }, 0);
}
