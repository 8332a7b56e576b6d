import { afterEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import * as v from "valibot";
import { DESKTOP_REQUEST } from "../../../src/core/desktop-request";
import { createDesktop } from "../../../src/host/desktop/desktop";
import { accountOf } from "../../../src/host/desktops/account";
import {
  type Asker,
  createDesktops,
  type Desktops,
  type DesktopsParts,
} from "../../../src/host/desktops/desktops";
import { createDisks } from "../../../src/host/desktops/disk";
import { endAll, MARK, sweep } from "../../../src/host/desktops/keeper";
import { requireCompositor, requireTools } from "../../../src/host/desktops/tools";
import { messageOf } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";
import { spawn } from "../../../src/lib/spawn";
import { temporaryFolder, testWith, until } from "../../support";
import { forever } from "../desktop/support";

const NEEDED = ["Xvfb", "openbox", "dbus-daemon"] as const;
const OWNER: Asker = { token: null, share: null, signal: new AbortController().signal };
const RUN = "9f1c2e4a-0000-4000-8000-000000000000";

let made: Desktops | undefined;
afterEach(async () => {
  await made?.stop();
  made = undefined;
});

/** Desktops of this process, which end with the test. */
function desktops(parts: Partial<DesktopsParts> = {}) {
  const events: Array<readonly [string, Record<string, unknown>]> = [];
  made = createDesktops({
    log: silentLog,
    publish: (type, data) => void events.push([type.name, data as Record<string, unknown>]),
    env: process.env,
    tools: (session) => (session === "wayland" ? requireCompositor(process.env) : requireTools(process.env)),
    account: async () => undefined,
    createDesktop: async ({ env, as }, lockFile) =>
      createDesktop({ env, as, lockFile, imagesFolder: "/nowhere", ocrFolder: "/nowhere", log: silentLog }),
    ...parts,
  });
  return { all: made, events };
}

/** The processes of desktops of this process. */
function processesOf(folder: string): number[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`${MARK}=${folder}`)
        ? [Number(pid)]
        : [];
    } catch {
      return [];
    }
  });
}

const folderOf = (env: NodeJS.ProcessEnv) => env[MARK] ?? "";

describe("a desktop of a run", () => {
  testWith(...NEEDED)("is no place for another run that names it", async () => {
    const { all } = desktops();
    const { name } = await all.lease({ name: "new" }, RUN, OWNER);
    await expect(all.lease({ name }, "11112222", OWNER)).rejects.toMatchObject({
      code: "conflict",
      message: `the desktop ${name} belongs to a run, and ends with it: name another, or new`,
    });
  });

  testWith(...NEEDED)("has a screen of the size that was asked for, and no other's pointer", async () => {
    const { all } = desktops();
    const [one, other] = await Promise.all([
      all.lease({ name: "new", size: "900x600" }, RUN, OWNER),
      all.lease({ name: "new" }, "11112222", OWNER),
    ]);
    await one.desktop.move({ x: 10, y: 20 });
    await other.desktop.move({ x: 300, y: 400 });
    expect(await one.desktop.screenSize()).toEqual({ width: 900, height: 600 });
    expect(await other.desktop.screenSize()).toEqual({ width: 1280, height: 800 });
    expect(await one.desktop.pointer()).toEqual({ x: 10, y: 20 });
  });

  testWith(...NEEDED)("ends with all that was started on it, its files and its display", async () => {
    const { all, events } = desktops();
    const lease = await all.lease({ name: "new" }, RUN, OWNER);
    const { env } = lease.session;
    const folder = folderOf(env);
    // It leaves its parent, and its group, as programs do that go to the background.
    spawn(["sh", "-c", "setsid sleep 600 & setsid sleep 600 &"], {
      env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    await until("the background processes", () => processesOf(folder).length >= 5 || undefined);
    const socket = `/tmp/.X11-unix/X${env.DISPLAY?.slice(1)}`;
    expect(existsSync(socket)).toBe(true);

    await lease.end();

    expect(processesOf(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(socket)).toBe(false);
    expect(existsSync(`/tmp/.X${env.DISPLAY?.slice(1)}-lock`)).toBe(false);
    expect(events.map(([name]) => name)).toEqual(["desktop.started", "desktop.ended"]);
  });

  testWith(...NEEDED)("has a clipboard of its own", async () => {
    const { all } = desktops();
    const one = await all.lease({ name: "new" }, RUN, OWNER);
    const other = await all.lease({ name: "new" }, "11112222", OWNER);
    await one.desktop.setClipboard("of one");
    await other.desktop.setClipboard("of the other");
    expect(await one.desktop.clipboard()).toBe("of one");
  });

  testWith(...NEEDED)(
    "shows its screen to nobody without its cookie, and has folders for its user alone",
    async () => {
      const { all } = desktops();
      const { session } = await all.lease({ name: "new" }, RUN, OWNER);
      const stranger = createDesktop({
        env: { ...process.env, DISPLAY: session.env.DISPLAY, XAUTHORITY: "/nowhere" },
        lockFile: join(folderOf(session.env), "other.lock"),
        imagesFolder: "/nowhere",
        ocrFolder: "/nowhere",
        log: silentLog,
      });
      await expect(stranger.screenSize()).rejects.toThrow();
      await stranger.stop();
      for (const name of ["XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"])
        expect(statSync(session.env[name] ?? "").mode & 0o777).toBe(0o700);
      expect(statSync(session.env.XAUTHORITY ?? "").mode & 0o777).toBe(0o600);
    },
  );

  testWith(...NEEDED, "setpriv")(
    "of another user is in a folder in which that user changes nothing: no link leads what svc writes elsewhere",
    async () => {
      if (process.getuid?.() !== 0) return;
      const account = await accountOf("nobody", 0);
      const { all } = desktops({ account: async () => account });
      const { session, lockFile, desktop } = await all.lease({ name: "new" }, RUN, OWNER);
      const folder = folderOf(session.env);
      const plant = session.as(["ln", "-s", "/nowhere", join(folder, "planted")]);
      expect(await spawn(plant, { stdio: ["ignore", "ignore", "ignore"] }).exited).not.toBe(0);
      expect(statSync(folder).uid).toBe(0);
      expect(statSync(folder).mode & 0o777).toBe(0o711);
      expect(dirname(lockFile)).toBe(folder);
      expect(dirname(session.env.XAUTHORITY ?? "")).toBe(folder);
      for (const name of ["XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"])
        expect(statSync(session.env[name] ?? "").uid).toBe(account?.uid ?? -1);
      expect(await desktop.screenSize()).toEqual({ width: 1280, height: 800 });
    },
  );

  testWith(...NEEDED)("has a bus whose programs show their windows on it, not where svc is", async () => {
    const { all } = desktops({ env: { ...process.env, DISPLAY: ":12345" } });
    const { session } = await all.lease({ name: "new" }, RUN, OWNER);
    const bus = processesOf(folderOf(session.env)).find((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("dbus-daemon"),
    );
    expect(readFileSync(`/proc/${bus}/environ`, "latin1").split("\0")).toContain(
      `DISPLAY=${session.env.DISPLAY}`,
    );
  });

  testWith(...NEEDED)("that cannot be made leaves nothing", async () => {
    const gone = new AbortController();
    const before = readdirSync(tmpdir());
    const { all } = desktops();
    const lease = all.lease({ name: "new" }, RUN, { ...OWNER, signal: gone.signal });
    gone.abort();
    await expect(lease).rejects.toThrow("cancelled while the desktop started");
    expect(all.list()).toEqual([]);
    const isNew = (name: string) => name.startsWith("svc-desktops-") && !before.includes(name);
    const folders = readdirSync(tmpdir()).filter(isNew);
    for (const folder of folders) expect(processesOf(join(tmpdir(), folder, "1"))).toEqual([]);
  });

  test("is refused for a locale that the host does not have, by name", async () => {
    const { all } = desktops({
      tools: () => ({
        server: { program: "Xvfb", path: "/bin/false", command: () => ["/bin/false"] },
        manager: { program: "openbox", path: "/bin/false" },
        bus: null,
      }),
    });
    await expect(all.lease({ name: "new", locale: "xx_XX.UTF-8" }, RUN, OWNER)).rejects.toThrow(
      "locale: this host has no xx_XX.UTF-8",
    );
  });

  test("ends at once while it starts", async () => {
    const { all, events } = desktops({
      tools: () => ({
        server: { program: "Xvfb", path: "/bin/sleep", command: () => ["/bin/sleep", "600"] },
        manager: { program: "openbox", path: "/bin/false" },
        bus: null,
      }),
    });
    const lease = all.lease({ name: "orders" }, RUN, OWNER);
    lease.catch(() => {});
    const began = performance.now();
    await all.stop();
    expect(performance.now() - began).toBeLessThan(5_000);
    await expect(lease).rejects.toThrow("cancelled while the desktop started");
    expect([all.list(), events]).toEqual([[], []]);
  });

  testWith(...NEEDED)(
    "that is recorded completes the recording, and reports it, before it ends",
    async () => {
      using folder = temporaryFolder();
      const { all } = desktops();
      const lease = await all.lease({ name: "new" }, RUN, OWNER);
      const file = join(folder.path, "film.webm");
      const recorded = lease.desktop.record({ file, fps: 4, maxMs: 60_000, maxBytes: 10_000_000 });
      await until("a picture", () => existsSync(file) && statSync(file).size > 1_000);
      await lease.end();
      expect(await recorded).toMatchObject({ ended: "stopped", error: null });
    },
  );

  test("says which program ended before it was there", async () => {
    const { all } = desktops({
      tools: () => ({
        server: { program: "Xvfb", path: "/bin/false", command: () => ["/bin/false"] },
        manager: { program: "openbox", path: "/bin/false" },
        bus: null,
      }),
    });
    await expect(all.lease({ name: "new" }, RUN, OWNER)).rejects.toThrow("Xvfb ended before it was there");
  });

  test("says what that program complained of last", async () => {
    const complains = ["/bin/sh", "-c", "echo first >&2; echo no space left on device >&2; exit 1"];
    const { all } = desktops({
      tools: () => ({
        server: { program: "Xvfb", path: "/bin/sh", command: () => complains },
        manager: { program: "openbox", path: "/bin/false" },
        bus: null,
      }),
    });
    await expect(all.lease({ name: "new" }, RUN, OWNER)).rejects.toThrow(
      "Xvfb ended before it was there: no space left on device",
    );
  });
});

describe("a desktop that is kept", () => {
  testWith(...NEEDED)("is started by the first run that names it, and shared by the next", async () => {
    const { all } = desktops();
    const one = await all.lease({ name: "orders" }, RUN, OWNER);
    await one.end();
    const two = await all.lease({ name: "orders" }, "11112222", OWNER);
    expect(two.desktop).toBe(one.desktop);
    expect(all.list().map(({ name, kind }) => [name, kind])).toEqual([["orders", "kept"]]);
    await expect(all.lease({ name: "orders", size: "640x480" }, RUN, OWNER)).rejects.toThrow(
      "the desktop orders runs with another size (the default, not 640x480)",
    );
  });

  for (const program of NEEDED) {
    testWith(...NEEDED)(`is started again when its ${program} dies`, async () => {
      const { all, events } = desktops();
      await all.start("orders", {}, OWNER);
      const { session, desktop: before, lost } = all.open("orders");
      const victim = processesOf(folderOf(session.env)).find((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(program),
      );
      process.kill(victim ?? 0, "SIGKILL");
      await until(
        "another desktop",
        () => events.filter(([name]) => name === "desktop.started").length === 2 || undefined,
      );
      expect([lost.aborted, messageOf(lost.reason)]).toEqual([true, `${program} has ended`]);
      expect(all.show("orders").restarts).toBe(1);
      expect(all.open("orders").desktop).not.toBe(before);
      expect(await all.open("orders").desktop.screenSize()).toEqual({ width: 1280, height: 800 });
    });
  }

  testWith(...NEEDED)("is started again three times in ten minutes, and then it ends", async () => {
    const { all, events } = desktops();
    await all.start("orders", {}, OWNER);
    const named = (type: string) => events.filter(([name]) => name === type);
    for (let death = 1; death <= 4; death++) {
      const { session, lost } = all.open("orders");
      const victim = processesOf(folderOf(session.env)).find((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("Xvfb"),
      );
      process.kill(victim ?? 0, "SIGKILL");
      await until("its end", () => lost.aborted);
      if (death <= 3) await until("another", () => named("desktop.started").length === death + 1);
    }
    await until("the last end", () => named("desktop.ended").length === 1);
    expect(named("desktop.ended")[0]?.[1]).toMatchObject({ name: "orders", reason: "Xvfb has ended" });
    expect(all.list()).toEqual([]);
  });

  testWith(...NEEDED)("starts for others when who asked for it first has gone", async () => {
    const { all } = desktops();
    const gone = new AbortController();
    const first = all.lease({ name: "orders" }, RUN, { ...OWNER, signal: gone.signal });
    const second = all.lease({ name: "orders" }, "11112222", OWNER);
    gone.abort();
    await expect(first).rejects.toThrow("cancelled while the desktop started");
    expect((await second).name).toBe("orders");
  });

  testWith(...NEEDED)("that is about to end is no place for a run: it gets the next one", async () => {
    const { all } = desktops();
    const { desktop: before } = await all.lease({ name: "orders" }, RUN, OWNER);
    const ending = all.end("orders", () => true);
    const { desktop } = await all.lease({ name: "orders" }, "11112222", OWNER);
    await ending;
    expect(desktop).not.toBe(before);
    expect(await desktop.screenSize()).toEqual({ width: 1280, height: 800 });
  });

  testWith(...NEEDED)("is ended by who started it, or an administrator", async () => {
    const { all } = desktops();
    await all.start("orders", {}, { ...OWNER, token: "ann", share: "ann" });
    await expect(all.end("orders", () => false)).rejects.toThrow("was started by another");
    await all.end("orders", ({ token }) => token === "ann");
    expect(() => all.show("orders")).toThrow("no desktop orders runs here: none runs");
  });
});

test("nothing is left behind by one look that missed a child: two in a row have to find none", async () => {
  const child = spawn(["sleep", "60"], { stdio: ["ignore", "ignore", "ignore"] });
  const found = [[], [child.pid], [], []];
  let looks = 0;
  await endAll(() => (found[looks++] ?? []).filter((pid) => pid !== undefined));
  expect(looks).toBe(4);
  expect(await child.exited).not.toBe(0);
});

describe("what the folders of a desktop may hold", () => {
  const LIMIT = 16 * 1_048_576;
  const disks = createDisks({ limitBytes: LIMIT, lookEveryMs: 10 });

  testWith(...NEEDED)("is bounded for its temporary files too, and shown", async () => {
    const { all } = desktops({ disks });
    await all.start("orders", {}, OWNER);
    const { session } = all.open("orders");
    writeFileSync(join(session.env.TMPDIR ?? "", "file"), Buffer.alloc(1_048_576, 1));
    await until("a look", () => (all.show("orders").disk?.used_bytes ?? 0) > 1_048_576);
    expect(all.show("orders").disk).toMatchObject({ limit_bytes: LIMIT });
  });

  testWith(...NEEDED)("one that holds more ends with what runs on it, and says why", async () => {
    const { all, events } = desktops({ disks });
    const { session, lost, name } = await all.lease({ name: "new" }, RUN, OWNER);
    writeFileSync(join(session.env.XDG_CACHE_HOME ?? "", "file"), Buffer.alloc(LIMIT + 1, 1));
    await until("its end", () => lost.aborted);
    expect(lost.reason).toMatchObject({
      ...{ code: "too_large", more: { reason: "desktop_disk", limit_bytes: LIMIT } },
      message: expect.stringMatching(
        /^its folders hold 16(\.\d)? MiB, which is more than --desktop-disk 16 MiB/,
      ),
    });
    await until(
      "all of it to go",
      () => all.list().length === 0 && processesOf(folderOf(session.env)).length === 0,
    );
    expect(events.map(([type]) => type)).toEqual(["desktop.started", "desktop.full", "desktop.ended"]);
    expect(events[1]?.[1]).toMatchObject({ name, run_id: RUN, limit_bytes: LIMIT });
  });
});

test("each desktop of a run has a name of its own, also the third", async () => {
  const { all } = desktops({
    tools: () => ({
      server: { program: "Xvfb", path: "/bin/sleep", command: () => ["/bin/sleep", "600"] },
      manager: { program: "openbox", path: "/bin/false" },
      bus: null,
    }),
  });
  const leases = [1, 2, 3, 4].map(() => all.lease({ name: "new" }, RUN, OWNER));
  for (const lease of leases) lease.catch(() => {});
  const began = performance.now();
  // One that had lost its name would go on until its server gives up.
  await all.stop();
  for (const lease of leases) await expect(lease).rejects.toThrow("cancelled while the desktop started");
  expect(performance.now() - began).toBeLessThan(8_000);
});

test("a token gets half of the desktops that are free, and the host no more than its limit", async () => {
  const { all } = desktops({
    most: 2,
    tools: () => {
      throw new Error("no tools");
    },
  });
  const ann = { ...OWNER, token: "ann", share: "ann" };
  const first = all.lease({ name: "new" }, RUN, ann);
  await expect(all.lease({ name: "new" }, "11112222", ann)).rejects.toThrow(
    "the token ann has 1 desktops already",
  );
  await expect(first).rejects.toThrow("no tools");
});

test("a desktop is as small as 320x200, and has no more pixels than 8K UHD", () => {
  const takes = (size: string) => v.is(DESKTOP_REQUEST, { size });
  expect(["320x200", "1280x800", "7680x4320", "16384x2025"].filter((size) => !takes(size))).toEqual([]);
  expect(["319x200", "320x199", "7681x4320", "16384x16384", "16385x200"].filter(takes)).toEqual([]);
});

test("what another user makes in the folder of temporary files stays as it is when a dead svc is swept", async () => {
  using folder = temporaryFolder();
  const target = join(folder.path, "target");
  const link = join(tmpdir(), `svc-desktops-${basename(folder.path)}`);
  mkdirSync(target);
  symlinkSync(target, link);
  try {
    await sweep();
    expect(existsSync(link)).toBe(true);
    expect(existsSync(target)).toBe(true);
  } finally {
    rmSync(link);
  }
});

test("a folder of a process that died before it had locked it is swept, one of a process that lives is not", async () => {
  const [dead, alive] = [await deadProcess(), process.pid].map((pid) =>
    mkdtempSync(join(tmpdir(), `svc-desktops.${pid}.`)),
  ) as [string, string];
  await sweep();
  expect([existsSync(dead), existsSync(alive)]).toEqual([false, true]);
  rmSync(alive, { recursive: true });
});

/** The id of a process that has ended. */
async function deadProcess(): Promise<number> {
  const child = spawn(["true"], {});
  await child.exited;
  return child.pid;
}

testWith(...NEEDED, "flock")(
  "the folder of desktops is locked, as what cleans /tmp of old files respects (systemd-tmpfiles(8))",
  async () => {
    const { all } = desktops();
    await all.start("orders", {}, OWNER);
    const root = dirname(folderOf(all.open("orders").session.env));
    const isFree = () =>
      spawn(["flock", "-n", "-x", root, "true"], { stdio: ["ignore", "ignore", "ignore"] }).exited;
    await until("the lock of the shell beside it", async () => (await isFree()) !== 0 || undefined);
    await all.stop();
    await until("the folder to go", () => !existsSync(root) || undefined);
  },
);

/** sway does not run as root. */
const NOBODY = { name: "nobody", uid: 65_534, gid: 65_534, home: "/nonexistent" };
const account = async () => (process.getuid?.() === 0 ? NOBODY : undefined);

describe("a desktop on Wayland", () => {
  testWith("sway", "dbus-daemon")("has the size that was asked for, a pointer and a clipboard", async () => {
    const { all } = desktops({ account });
    const { desktop, session } = await all.lease(
      { name: "new", session: "wayland", size: "900x600" },
      RUN,
      OWNER,
    );
    expect(await desktop.session()).toMatchObject({ system: "wayland", name: "sway" });
    expect(await desktop.screenSize()).toEqual({ width: 900, height: 600 });
    expect(await desktop.move({ x: 300, y: 200 })).toEqual({ x: 300, y: 200 });
    await desktop.setClipboard("of this one");
    expect(await desktop.clipboard()).toBe("of this one");
    expect([session.env.DISPLAY, session.env.XDG_SESSION_TYPE]).toEqual([undefined, "wayland"]);
  });

  testWith("sway", "dbus-daemon")("at scale 2 has half as many places", async () => {
    const { all } = desktops({ account });
    const request = { name: "new", session: "wayland", size: "1280x800", scale: 2 } as const;
    const { desktop } = await all.lease(request, RUN, OWNER);
    expect(await desktop.screenSize()).toEqual({ width: 640, height: 400 });
  });

  testWith(
    "sway",
    "dbus-daemon",
    "foot",
    "tesseract",
  )("shows programs, whose text is read", async () => {
    const { all } = desktops({ account });
    const { desktop, session } = await all.lease({ name: "new", session: "wayland" }, RUN, OWNER);
    const shell = ["sh", "-c", "echo Customer number 4711; exec sleep 600"];
    spawn(session.as(["foot", "--font=monospace:size=14", ...shell]), {
      env: session.env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    await until("the text", async () => {
      const lines = await desktop.readLines(undefined, "eng", forever);
      return lines.flat().some(({ text }) => text === "4711") || undefined;
    });
    expect((await desktop.windows(forever))?.map(({ process }) => process)).toEqual(["foot"]);
  });

  testWith("sway", "dbus-daemon")("ends with all that was started on it, and its files", async () => {
    const { all } = desktops({ account });
    const lease = await all.lease({ name: "new", session: "wayland" }, RUN, OWNER);
    const folder = folderOf(lease.session.env);
    expect(processesOf(folder).length).toBeGreaterThan(1);
    await lease.end();
    expect([processesOf(folder), existsSync(folder)]).toEqual([[], false]);
  });

  test("needs sway, and says so", () => {
    expect(() => requireCompositor({ PATH: "/nowhere" })).toThrow("apt install sway");
  });
});

test("a host without an X server and a window manager says what to install", () => {
  expect(() => requireTools({ PATH: "/nowhere" })).toThrow("apt install xvfb openbox");
});

testWith(...NEEDED).each([
  ["a plain name", "plain"],
  // Of which D-Bus writes some as bytes, and of which some have a meaning in patterns.
  ["a space and signs in its name", "c++ (1)"],
])(
  "a svc that is killed leaves no process, no folder and no display, in a folder with %s",
  async (_what, called) => {
    using within = temporaryFolder();
    const TMPDIR = join(within.path, called);
    mkdirSync(TMPDIR);
    const script = `
    import { createDesktops } from "./src/host/desktops/desktops";
    import { createDisks } from "./src/host/desktops/disk";
    import { requireTools } from "./src/host/desktops/tools";
    import { silentLog } from "./src/lib/log";
    const all = createDesktops({
      disks: createDisks({ limitBytes: 64 * 1_048_576, log: silentLog }),
      log: silentLog, publish: () => {}, env: process.env, tools: () => requireTools(process.env), account: async () => undefined,
      createDesktop: async () => ({ stop: async () => {}, inputLock: { user: () => null } }),
    });
    const asker = { token: null, share: null, signal: new AbortController().signal };
    const { session } = await all.lease({ name: "new" }, "1", asker);
    await all.lease({ name: "new" }, "2", asker);
    console.log(JSON.stringify({ folder: session.env.${MARK}, display: session.env.DISPLAY }));
    setInterval(() => {}, 1000);
  `;
    const child = Bun.spawn([process.execPath, "-e", script], {
      cwd: join(import.meta.dir, "../../.."),
      env: { ...process.env, TMPDIR },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { value } = await child.stdout.getReader().read();
    const { folder, display } = JSON.parse(new TextDecoder().decode(value));
    const root = folder.replace(/\/\d+$/, "");
    expect(processesOf(root).length).toBeGreaterThan(4);

    child.kill("SIGKILL");
    await child.exited;

    await until("its processes to end", () => processesOf(root).length === 0 || undefined);
    await until("its folder to go", () => !existsSync(root) || undefined);
    expect(existsSync(`/tmp/.X${display.slice(1)}-lock`)).toBe(false);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(basename(root));
  },
);
