/** Sessions with a portal: a person is asked by one command alone, and once. */
import { expect } from "bun:test";
import { closeSync, readFileSync } from "node:fs";
import { findPortal, shownBy } from "../../../../src/host/desktop/portal/backend";
import { createAnswers, openPortal } from "../../../../src/host/desktop/portal/portal";
import {
  createPortalSession,
  type PortalPermission,
  type PortalTimes,
} from "../../../../src/host/desktop/portal/session";
import type { Output } from "../../../../src/host/desktop/wayland/outputs";
import { temporaryFolder, testWith, until } from "../../../support";
import { busCommand, PORTAL_PROGRAMS, type PortalOptions, portalCommand, portalFiles } from "./support";

const test = testWith(...PORTAL_PROGRAMS);
const OUTPUT = { name: "one", region: { x1: 0, y1: 0, x2: 1_280, y2: 800 }, scale: 1 } as Output;
const OTHER = { name: "two", region: { x1: 1_280, y1: 0, x2: 2_080, y2: 600 }, scale: 1 } as Output;
/** Long enough for a program to answer, in milliseconds. */
const SOON = 20_000;
/** As in svc, but a late answer is waited for, and the next try comes, within a test. */
const TIMES: PortalTimes = { answerMs: 3_000, restoreMs: 60_000, againMs: 60_000 };

/** A session bus with a portal on it; undefined for none. */
async function startPortal(options: PortalOptions | undefined) {
  const stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(temporaryFolder());
  const files = portalFiles(folder);
  const spawn = (command: string[], env: NodeJS.ProcessEnv) => {
    const child = Bun.spawn(command, { env, stdio: ["ignore", "pipe", "ignore"] });
    stack.defer(async () => {
      child.kill();
      await child.exited;
    });
    return child;
  };
  const daemon = spawn(busCommand(folder), process.env);
  const { value } = await daemon.stdout.getReader().read();
  const env = { ...process.env, DBUS_SESSION_BUS_ADDRESS: new TextDecoder().decode(value).trim() };
  const connect = async () => {
    const one = await openPortal(env, () => {});
    if (!one) throw new Error("there is no session bus");
    stack.defer(() => one.bus.close());
    return one;
  };
  const onBus = await connect();
  const owner = async () => (await onBus.bus.ownerOf("org.freedesktop.portal.Desktop"))?.name;
  const start = async () => {
    const child = spawn(portalCommand(folder, options), env);
    await until("the portal on the bus", owner);
    return child;
  };
  const portal = options && (await start());
  let token: string | null = null;
  const known: Array<readonly [string | null, boolean]> = [];
  const permission: PortalPermission = {
    token: () => token,
    changed(now, isHeld) {
      token = now;
      known.push([now, isHeld]);
    },
    restoring: (isOn) => void restoring.push(isOn),
    unasked: (isSpent) => void unasked.push(isSpent),
  };
  const restoring: boolean[] = [];
  const unasked: boolean[] = [];
  let monitors: readonly Output[] = [OUTPUT];
  const openOn = (connected: typeof onBus, compositor: string, times: Partial<PortalTimes> = {}) =>
    createPortalSession({
      ...{ onBus: connected, permission, monitors: () => monitors, compositor },
      times: { ...TIMES, ...times },
    });
  return {
    ...{ env, files, onBus, owner, known, restoring, unasked },
    open: (compositor = "other", times?: Partial<PortalTimes>) => openOn(onBus, compositor, times),
    /** As another process of svc has it; `end` is what happens when that is killed. */
    async openElsewhere(times?: Partial<PortalTimes>) {
      const other = await connect();
      return { session: openOn(other, "other", times), end: () => other.bus.close() };
    },
    /** Of the person's yes: as another process of svc has it. */
    setToken: (now: string | null) => {
      token = now;
    },
    setMonitors: (now: readonly Output[]) => {
      monitors = now;
    },
    /** Starts the portal anew. */
    async restart() {
      portal?.kill();
      await portal?.exited;
      await until("no portal on the bus", async () => (await owner()) === undefined);
      await start();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Portal = Awaited<ReturnType<typeof startPortal>>;

/** A session that a person has just allowed. */
async function allowed(portal: Portal, compositor?: string) {
  portal.files.person("yes");
  const session = portal.open(compositor);
  await session.allow(SOON);
  return session;
}

/** A person allows a session, which ends then; nobody is at the screen from now on. */
async function allowBefore(portal: Portal): Promise<void> {
  await (await allowed(portal)).close();
  portal.files.person("nobody");
}

const names = (log: ReadonlyArray<readonly unknown[]>) => log.map(([name]) => name);

test("without the yes of a person it fails at once, says what to run, and nobody is asked", async () => {
  await using portal = await startPortal({});
  const session = portal.open();
  const begun = performance.now();
  await expect(session.use()).rejects.toThrow(
    "nobody has allowed svc this desktop: run `svc desktop allow` and say yes at its screen",
  );
  expect(performance.now() - begun).toBeLessThan(500);
  expect(portal.files.log()).toEqual([]);
});

test("a person says yes once: the token restores the session from then on, and nobody is asked again", async () => {
  await using portal = await startPortal({});
  portal.files.person("yes");
  const first = portal.open();
  expect(await first.allow(SOON)).toBe(true);
  const [token] = portal.files.tokens();
  expect(portal.known).toEqual([[token ?? "", false]]);
  expect(portal.files.log()).toEqual([
    ["devices", 3],
    ["sources", 1, false, 4],
    ["asked", 2],
  ]);
  expect([...(await first.use()).streams.keys()]).toEqual(["one"]);
  expect(await first.allow(SOON)).toBe(true);
  await first.close();
  portal.files.person("nobody");
  const second = portal.open();
  await second.use();
  expect(portal.files.log().filter(([name]) => name === "asked")).toHaveLength(1);
  expect(portal.files.log().at(-1)).toEqual(["restored", 2]);
  expect(portal.files.tokens()).toEqual([token ?? ""]);
});

test("a token that the portal does not have any more: nobody is asked, and the call says what to run", async () => {
  await using portal = await startPortal({});
  portal.setToken("0123");
  const session = portal.open("other", { againMs: 0 });
  for (let nth = 0; nth < 2; nth++)
    await expect(session.use()).rejects.toThrow("what was allowed before does not hold any more");
  expect(portal.files.log()).toEqual([]);
  portal.files.person("yes");
  expect(await session.allow(SOON)).toBe(true);
  await session.use();
});

test("where no store says what the portal has: one dialog, which is withdrawn, and that nobody wanted it is told", async () => {
  await using portal = await startPortal({ store: false });
  portal.setToken("0123");
  const session = portal.open("other", { answerMs: 200, restoreMs: 1_000 });
  await expect(session.use()).rejects.toThrow("the portal has not let svc in again within 0.2 s");
  await until("the dialog to be withdrawn", () => names(portal.files.log()).includes("withdrawn"));
  await until("that to be told", () => portal.unasked.length > 0);
  expect(portal.unasked).toEqual([true]);
  await until("the call to fail at once", () =>
    session.use().then(
      () => false,
      (error) => String(error).includes("what was allowed before does not hold any more"),
    ),
  );
  portal.setToken(null);
  await expect(session.use()).rejects.toThrow("did not hold any more, and is forgotten");
  expect(names(portal.files.log()).filter((name) => name === "asked")).toHaveLength(1);
  portal.files.person("yes");
  expect(await session.allow(SOON)).toBe(true);
});

test("a session that is restored late: the call fails in time, the token is not lost, and the next call has the session", async () => {
  await using portal = await startPortal({});
  await allowBefore(portal);
  const tokens = portal.files.tokens();
  portal.files.delay(1_000);
  const second = portal.open("other", { answerMs: 200 });
  await expect(second.use()).rejects.toThrow("it goes on, so try again in a moment");
  expect(portal.files.tokens()).toEqual([]);
  await until("the session", () => names(portal.files.log()).includes("started"));
  await second.use();
  expect(portal.files.tokens()).toEqual(tokens);
  expect(names(portal.files.log()).filter((name) => name === "restored")).toHaveLength(1);
  expect(names(portal.files.log())).not.toContain("withdrawn");
  expect(portal.restoring).toEqual([true, false]);
});

test("a process that ends while it is let in loses the token: the next asks nobody, and says what to run", async () => {
  await using portal = await startPortal({});
  await allowBefore(portal);
  portal.files.delay(60_000);
  const { session, end } = await portal.openElsewhere();
  session.use().catch(() => {});
  await until("the session to be restored", () => names(portal.files.log()).includes("restored"));
  end();
  await until("the portal to take notice", () => names(portal.files.log()).includes("gone"));
  await expect(portal.open().use()).rejects.toThrow("run `svc desktop allow`");
  expect(names(portal.files.log()).filter((name) => name === "asked")).toHaveLength(1);
});

test("two processes that restore with one token at the same time: both are let in, and nobody is asked", async () => {
  await using portal = await startPortal({});
  await allowBefore(portal);
  portal.files.delay(300);
  const [one, other] = [portal.open(), (await portal.openElsewhere()).session];
  await Promise.all([one.use(), other.use()]);
  expect(names(portal.files.log()).filter((name) => name === "asked")).toHaveLength(1);
  expect(names(portal.files.log()).filter((name) => name === "restored")).toHaveLength(2);
  expect(portal.files.tokens()).toHaveLength(1);
});

test("who is asked by the command while a session is being restored sees no second dialog", async () => {
  await using portal = await startPortal({});
  await allowBefore(portal);
  portal.files.delay(300);
  const second = portal.open();
  const using = second.use();
  expect(await second.allow(SOON)).toBe(true);
  await using;
  expect(names(portal.files.log()).filter((name) => name === "restored")).toHaveLength(1);
});

test("answers that nobody takes any more leave room for those that come early", async () => {
  let now = 0;
  const answers = createAnswers(() => now);
  for (let nth = 0; nth < 100; nth++) {
    void answers.of(`/withdrawn/${nth}`);
    answers.forget(`/withdrawn/${nth}`);
    answers.take(`/withdrawn/${nth}`, []);
  }
  now = 6_000;
  answers.take("/early", [0]);
  expect(await answers.of("/early")).toEqual([0]);
});

test("a person who says no is asked no more, and one who says nothing is asked no longer than was given", async () => {
  await using portal = await startPortal({ store: false });
  const session = portal.open();
  await expect(session.allow(300)).rejects.toThrow("nobody has allowed it within 0.3 s");
  await until("the dialog to be withdrawn", () => names(portal.files.log()).includes("withdrawn"));
  portal.setToken("0123");
  portal.files.person("no");
  await expect(session.use()).rejects.toThrow("the person at the screen did not allow svc this desktop");
  expect(portal.known).toEqual([[null, false]]);
  await expect(session.use()).rejects.toThrow("nobody has allowed svc this desktop");
  expect(names(portal.files.log()).filter((name) => name === "asked")).toHaveLength(2);
});

test("a portal that remembers nothing: the yes holds for as long as the session, and that is said", async () => {
  await using portal = await startPortal({ version: 1 });
  portal.files.person("yes");
  const session = portal.open();
  expect(await session.allow(SOON)).toBe(false);
  expect(portal.known).toEqual([[null, true]]);
  expect(portal.files.log().at(-1)).toEqual(["asked", 0]);
  await session.use();
  portal.setMonitors([OUTPUT, OTHER]);
  expect([...(await session.use()).streams.keys()]).toEqual(["one"]);
  await session.close();
  expect(portal.known.at(-1)).toEqual([null, false]);
  await expect(session.use()).rejects.toThrow("nobody has allowed");
});

test("what is done goes to the stream of the monitor; KWin turns the wheel by distances", async () => {
  await using portal = await startPortal({});
  const session = await allowed(portal, "kwin_wayland");
  const { point, button, turn, keysym, pipewire } = await session.use();
  await point(OUTPUT, 10, 20.5);
  await button(0x110, true);
  await turn(1, -2);
  await keysym(0x61, false);
  expect(portal.files.log().slice(-4)).toEqual([
    ["NotifyPointerMotionAbsolute", 42, 10, 20.5],
    ["NotifyPointerButton", 272, 1],
    ["NotifyPointerAxisDiscrete", 1, -30],
    ["NotifyKeyboardKeysym", 97, 0],
  ]);
  const descriptor = await pipewire();
  expect(readFileSync(descriptor ?? -1, "utf8")).toStartWith("python3");
  closeSync(descriptor ?? -1);
});

test("who ends the session in the panel ends it for svc, and the next call restores it", async () => {
  await using portal = await startPortal({});
  const session = await allowed(portal);
  const first = await session.use();
  const ended = Promise.withResolvers<void>();
  session.endListeners.add(() => ended.resolve());
  const owner = (await portal.owner()) ?? "";
  await portal.onBus.bus.call(owner, { path: "/panel", face: "svc.Panel", member: "End" });
  await ended.promise;
  expect(await session.use()).not.toBe(first);
  expect(portal.files.log().at(-1)).toEqual(["restored", 2]);
});

test("a portal that is started anew knows no session: one call fails, and the next restores it", async () => {
  await using portal = await startPortal({});
  const session = await allowed(portal);
  const { keysym } = await session.use();
  await portal.restart();
  await expect(keysym(0x61, true)).rejects.toThrow();
  await (await session.use()).keysym(0x61, true);
  expect(portal.files.log().slice(-2)).toEqual([
    ["restored", 2],
    ["NotifyKeyboardKeysym", 97, 1],
  ]);
});

test("monitors that change have a session of their own", async () => {
  await using portal = await startPortal({});
  const session = await allowed(portal);
  let ends = 0;
  session.endListeners.add(() => ends++);
  await session.use();
  expect(ends).toBe(0);
  portal.setMonitors([OUTPUT, OTHER]);
  const { streams } = await session.use();
  expect([...streams.keys()]).toEqual(["one"]);
  expect(ends).toBe(1);
  expect(portal.files.log().filter(([name]) => name === "sources")).toEqual([
    ["sources", 1, false, 4],
    ["sources", 1, true, 4],
  ]);
});

test("several monitors of KDE are shown as one, and those of others each by itself", () => {
  expect(shownBy("kwin_wayland", [OUTPUT])).toEqual([OUTPUT]);
  expect(shownBy("other", [OUTPUT, OTHER])).toEqual([OUTPUT, OTHER]);
  expect(shownBy("kwin_wayland", [OUTPUT, OTHER])).toEqual([
    { name: "all monitors", region: { x1: 0, y1: 0, x2: 2_080, y2: 800 }, scale: 1, transform: 0 } as Output,
  ]);
});

test("without pictures in the portal there are keys, and why there is nothing to see", async () => {
  await using portal = await startPortal({ modes: 0 });
  const session = await allowed(portal);
  const { castProblem, keysym } = await session.use();
  expect(castProblem).toBe("whoever allowed it shares no monitor");
  await keysym(0x61, true);
  expect(names(portal.files.log())).not.toContain("sources");
});

test.each([
  ["no portal", undefined, "no portal answers on the session bus (Debian: xdg-desktop-portal)"],
  [
    "a portal without RemoteDesktop",
    { version: 0 },
    "the portal of this session has no org.freedesktop.portal.RemoteDesktop",
  ],
])("%s is named", async (_, options, message) => {
  await using portal = await startPortal(options);
  expect(await findPortal(portal.env, () => {})).toStartWith(message);
});
