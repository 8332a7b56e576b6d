/** Whoever sits at the screen is told that it is kept: by a notification that a stand-in of a desktop gets. */
import { expect, setDefaultTimeout } from "bun:test";
import * as dbus from "@jellybrick/dbus-next";
import { openSession } from "../../../../../src/host/desktop/elements/open-bus";
import { createNotice } from "../../../../../src/host/desktop/screen/black-box/notice";
import { testWith } from "../../../../support";

setDefaultTimeout(60_000);
const test = testWith("dbus-daemon");
const NAME = "org.freedesktop.Notifications";

/** A session bus, which ends with the scope. */
async function startBus() {
  const daemon = Bun.spawn(["dbus-daemon", "--session", "--nofork", "--print-address"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { value } = await daemon.stdout.getReader().read();
  const env = { DBUS_SESSION_BUS_ADDRESS: new TextDecoder().decode(value).trim() };
  return {
    env,
    async [Symbol.asyncDispose]() {
      daemon.kill();
      await daemon.exited;
    },
  };
}

/** What a desktop was asked to show. */
interface Shown {
  readonly program: string;
  readonly replaces: number;
  readonly title: string;
  readonly text: string;
  readonly ms: number;
}

/** Takes the part of a desktop that shows notifications on the bus. @param asked called before it answers what it is. */
async function showNotifications(busAddress: string, asked = async () => {}) {
  const shown: Shown[] = [];
  const bus = dbus.sessionBus({ busAddress });
  bus.addMethodHandler((message) => {
    if (message.interface !== NAME) return false;
    if (message.member === "GetServerInformation") {
      const answer = dbus.Message.newMethodReturn(message, "ssss", ["stand-in", "svc", "1", "1.2"]);
      void asked().then(() => bus.send(answer));
      return true;
    }
    const [program, replaces, , title, text, , , ms] = message.body;
    shown.push({
      ...{ program: `${program}`, replaces: Number(replaces), title: `${title}` },
      ...{ text: `${text}`, ms: Number(ms) },
    });
    bus.send(dbus.Message.newMethodReturn(message, "u", [7]));
    return true;
  });
  await bus.requestName(NAME, 0);
  return { shown, [Symbol.dispose]: () => bus.disconnect() };
}

test("a notification says that the screen is recorded and for how long, and the same one that this has ended", async () => {
  await using session = await startBus();
  using desktop = await showNotifications(session.env.DBUS_SESSION_BUS_ADDRESS);
  const notice = createNotice({ spanMs: 3_600_000, open: () => openSession(session.env) });
  await notice.begin();
  expect(notice.problem).toBeNull();
  expect(desktop.shown).toMatchObject([
    { program: "svc", replaces: 0, title: "This screen is recorded", ms: -1 },
  ]);
  expect(desktop.shown[0]?.text).toContain("60 min");
  await notice.end();
  expect(desktop.shown.slice(1)).toMatchObject([{ replaces: 7, title: "This screen is no longer recorded" }]);
});

test("a recording that ends before the desktop can tell of it is not told of", async () => {
  await using session = await startBus();
  const asked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  using desktop = await showNotifications(session.env.DBUS_SESSION_BUS_ADDRESS, () => {
    asked.resolve();
    return held.promise;
  });
  const notice = createNotice({ spanMs: 60_000, open: () => openSession(session.env) });
  const begun = notice.begin();
  await asked.promise;
  const ended = notice.end();
  held.resolve();
  await Promise.all([begun, ended]);
  expect(desktop.shown).toEqual([]);
});

test("after a pause the same notification says that it is recorded again", async () => {
  await using session = await startBus();
  using desktop = await showNotifications(session.env.DBUS_SESSION_BUS_ADDRESS);
  const notice = createNotice({ spanMs: 60_000, open: () => openSession(session.env) });
  await notice.begin();
  await notice.end();
  // Of a recorder that fails at its beginning nobody was told.
  await notice.end();
  await notice.begin();
  expect(desktop.shown.map(({ replaces, title }) => `${replaces} ${title}`)).toEqual([
    "0 This screen is recorded",
    "7 This screen is no longer recorded",
    "7 This screen is recorded",
  ]);
});

test("where no desktop shows notifications, and where there is no session, it is said why nobody was told", async () => {
  await using session = await startBus();
  const notice = createNotice({ spanMs: 60_000, open: () => openSession(session.env) });
  await notice.begin();
  expect(notice.problem).toContain("no notification could be shown: ");
  await notice.end();
  const none = createNotice({
    spanMs: 60_000,
    open: () => openSession({ DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent/bus" }),
  });
  await none.begin();
  expect(none.problem).toContain("svc reaches no session bus");
});
