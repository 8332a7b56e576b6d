/** What a child that crashes, hangs or never starts costs: the call it happened to, and no other. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Requester } from "../../../src/lib/slots";
import { nextTurn, temporaryFolder, testWith, until } from "../../support";
import { childOf, desktopOn, forever, PROGRAMS, SIZE, startDisplay } from "./support";

setDefaultTimeout(180_000);
const testOnDisplay = testWith(...PROGRAMS);
const { DISPLAY: _none, WAYLAND_DISPLAY: _neither, ...bare } = process.env;

test("without a display a call says what is missing, and so does the next", async () => {
  await using made = desktopOn(bare);
  for (let nth = 0; nth < 2; nth++) {
    await expect(made.desktop.screenSize(forever)).rejects.toThrow("no display: DISPLAY is not set");
  }
  await expect(made.desktop.windows(forever)).rejects.toThrow("no display: DISPLAY is not set");
});

test("a display that is not there, or is no display, is named", async () => {
  await using absent = desktopOn({ ...bare, DISPLAY: ":4242" });
  await expect(absent.desktop.pointer(forever)).rejects.toThrow(
    'no display: cannot connect to DISPLAY ":4242" (no X server answers there)',
  );
  await using odd = desktopOn({ ...bare, DISPLAY: "nonsense" });
  await expect(odd.desktop.pointer(forever)).rejects.toThrow(
    'no display: cannot connect to DISPLAY "nonsense" (expected [host]:number[.screen])',
  );
});

test("where no Wayland compositor answers, the variable that names it is quoted", async () => {
  await using made = desktopOn({ ...bare, WAYLAND_DISPLAY: "/nonexistent/wayland-0" });
  await expect(made.desktop.windows(forever)).rejects.toThrow(
    'no display: no Wayland compositor answers at WAYLAND_DISPLAY "/nonexistent/wayland-0"',
  );
});

testOnDisplay("a Wayland session that has ended does not keep svc from the X server", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn({ ...display.env, WAYLAND_DISPLAY: "/nonexistent/wayland-0" });
  expect(await made.desktop.screenSize(forever)).toEqual(SIZE);
});

test("a child that ends at once, or never starts, fails the call", async () => {
  await using ending = desktopOn(bare, { command: ["false"] });
  await expect(ending.desktop.pointer(forever)).rejects.toThrow("the desktop helper ended with code 1");
  await using silent = desktopOn(bare, { command: ["sleep", "60"], deadlineMs: 100 });
  await expect(silent.desktop.pointer(forever)).rejects.toThrow(
    "the desktop helper did not answer within 0.1 s, and was killed",
  );
  expect(silent.desktop.childPid).toBeNull();
});

testOnDisplay("a display that goes away and comes back costs the calls in between", async () => {
  const first = await startDisplay({ managed: false });
  await using made = desktopOn(first.env);
  expect(await made.desktop.screenSize(forever)).toEqual(SIZE);
  await first[Symbol.asyncDispose]();
  await expect(made.desktop.screenSize(forever)).rejects.toMatchObject({ code: "no_screen" });
  await using _second = await startDisplay({ name: first.env.DISPLAY, managed: false });
  expect(await made.desktop.screenSize(forever)).toEqual(SIZE);
});

/** By the system, or since memory that it read was taken away. */
testOnDisplay.each(["SIGKILL", "SIGBUS"] as const)(
  "a child killed by %s in the middle of a call fails that call; the next one succeeds",
  async (signal) => {
    await using display = await startDisplay({ managed: false });
    await using made = desktopOn(display.env);
    await made.desktop.screenSize(forever);
    display.server.kill("SIGSTOP");
    const interrupted = made.desktop.screenshot({}, null, forever);
    const next = made.desktop.screenSize(forever);
    const killed = childOf(made.desktop);
    process.kill(killed, signal);
    await expect(interrupted).rejects.toThrow(`the desktop helper was killed by ${signal} during the call`);
    display.server.kill("SIGCONT");
    expect(await next).toEqual(SIZE);
    expect(made.desktop.childPid).not.toBe(killed);
  },
);

testOnDisplay(
  "a call that hangs is ended at the deadline and its child killed; the next one succeeds",
  async () => {
    await using display = await startDisplay({ managed: false });
    await using made = desktopOn(display.env, { deadlineMs: 5_000 });
    await made.desktop.screenSize(forever);
    const hung = childOf(made.desktop);
    display.server.kill("SIGSTOP");
    await expect(made.desktop.screenshot({}, null, forever)).rejects.toThrow(
      "the desktop helper did not answer within 5 s, and was killed",
    );
    expect(() => process.kill(hung, 0)).toThrow("ESRCH");
    display.server.kill("SIGCONT");
    expect(await made.desktop.screenSize(forever)).toEqual(SIZE);
  },
);

testOnDisplay("a call whose caller has gone while it waited is not made", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env);
  await made.desktop.move({ x: 1, y: 1 }, forever);
  const gone = new AbortController();
  const before = made.desktop.screenshot({}, null, forever);
  const waiting = made.desktop.move({ x: 9, y: 9 }, new Requester(null, gone.signal));
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  await before;
  expect(await made.desktop.pointer(forever)).toEqual({ x: 1, y: 1 });
});

testOnDisplay("a call that is called off while it waits ends at once, whatever is before it", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env);
  await made.desktop.screenSize(forever);
  display.server.kill("SIGSTOP");
  const hung = made.desktop.screenSize(forever);
  const gone = new AbortController();
  const waiting = made.desktop.move({ x: 9, y: 9 }, new Requester(null, gone.signal));
  gone.abort();
  const first = [hung.then(() => "hung"), waiting.catch(({ code }) => code)];
  expect(await Promise.race(first)).toBe("cancelled");
  display.server.kill("SIGCONT");
  await hung;
});

/** For a page that is read for the first time. */
const NOTHING_READ = { known: [], sheets: 1 };

testOnDisplay("pointer and keyboard do not wait for what a token has searched", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env);
  const page = made.desktop.page(undefined, NOTHING_READ, new Requester("anna"));
  expect(await page).toMatchObject({ x: 0, y: 0 });
  // That was another process than that of pointer and keyboard.
  expect(made.desktop.childPid).toBeNull();
  await made.desktop.page(undefined, NOTHING_READ, forever);
  expect(made.desktop.childPid).not.toBeNull();
});

testOnDisplay("a search of a token that has gone is cut off, and the next one is made", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env, { deadlineMs: 60_000 });
  await made.desktop.page(undefined, NOTHING_READ, new Requester("anna"));
  display.server.kill("SIGSTOP");
  const gone = new AbortController();
  const cutOff = made.desktop.page(undefined, NOTHING_READ, new Requester("anna", gone.signal));
  await nextTurn();
  gone.abort();
  await expect(cutOff).rejects.toThrow("cancelled while the desktop was asked");
  display.server.kill("SIGCONT");
  expect(await made.desktop.page(undefined, NOTHING_READ, new Requester("bert"))).toMatchObject({
    x: 0,
    y: 0,
  });
});

testOnDisplay("more calls than may wait are refused, and the others are served", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env);
  const calls = Array.from({ length: 300 }, () => made.desktop.pointer(forever));
  const answers = await Promise.allSettled(calls);
  expect(answers.filter(({ status }) => status === "fulfilled").length).toBe(257);
  await expect(calls[299]).rejects.toThrow(
    "there are 256 calls of the desktop that wait already, which is the limit",
  );
});

testOnDisplay("an idle child is stopped after a while, and started again on demand", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env, { idleMs: 50 });
  expect(made.desktop.childPid).toBeNull();
  await made.desktop.screenSize(forever);
  const first = childOf(made.desktop);
  await until("the child to be let go", () => made.desktop.childPid === null);
  await until("the child to end", () => {
    try {
      process.kill(first, 0);
      return false;
    } catch {
      return true;
    }
  });
  expect(await made.desktop.screenSize(forever)).toEqual(SIZE);
});

testOnDisplay("a child that holds keys is not stopped before they are released", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env, { idleMs: 20 });
  await made.desktop.strike(["ж"], "press", forever);
  const child = childOf(made.desktop);
  // Another child that is idle for as long is let go meanwhile.
  await using other = desktopOn(display.env, { idleMs: 20 });
  for (let times = 0; times < 3; times++) {
    await other.desktop.screenSize(forever);
    await until("the other child to be let go", () => other.desktop.childPid === null);
  }
  expect(made.desktop.childPid).toBe(child);
  await made.desktop.strike(["ж"], "release", forever);
  await until("the child to be let go", () => made.desktop.childPid === null);
});

testOnDisplay("a screen that is not there takes no connection away from others", async () => {
  await using display = await startDisplay({ managed: false });
  // An X server starts anew when its last client leaves.
  await using made = desktopOn(display.env);
  await made.desktop.screenSize(forever);
  await using wrong = desktopOn({ ...display.env, DISPLAY: `${display.env.DISPLAY}.7` });
  // An X server takes 256 clients.
  for (let nth = 0; nth < 300; nth++) {
    await expect(wrong.desktop.pointer(forever)).rejects.toThrow("names a screen that is not there");
  }
  await using other = desktopOn(display.env);
  expect(await other.desktop.screenSize(forever)).toEqual(SIZE);
});

testOnDisplay("a child killed between two calls costs at most the call that meets it", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env);
  await made.desktop.screenSize(forever);
  process.kill(childOf(made.desktop), "SIGKILL");
  // Nobody has noticed yet.
  await expect(made.desktop.screenSize(forever)).rejects.toMatchObject({ code: "unavailable" });
  expect(await made.desktop.screenSize(forever)).toEqual(SIZE);
});

testOnDisplay("a stop does not wait for a call that hangs", async () => {
  await using display = await startDisplay({ managed: false });
  await using made = desktopOn(display.env);
  await made.desktop.screenSize(forever);
  display.server.kill("SIGSTOP");
  const hung = made.desktop.screenSize(forever);
  const waiting = made.desktop.screenSize(forever);
  // The first is given to the child.
  await nextTurn();
  const answers = Promise.allSettled([hung, waiting]);
  await made.desktop.stop();
  expect(await answers).toMatchObject([
    { reason: { code: "unavailable" } },
    { reason: { code: "cancelled" } },
  ]);
});

testOnDisplay("the error for a wrong cookie says that the X server refuses it", async () => {
  using folder = temporaryFolder();
  const authority = join(folder.path, "authority");
  writeFileSync(authority, authorityEntry("0123456789abcdef"));
  await using display = await startDisplay({ managed: false, authority });
  await using made = desktopOn({ ...display.env, XAUTHORITY: authority });
  expect(await made.desktop.screenSize(forever)).toEqual(SIZE);
  const wrong = join(folder.path, "wrong");
  writeFileSync(wrong, authorityEntry("fedcba9876543210"));
  await using refused = desktopOn({ ...display.env, XAUTHORITY: wrong });
  await expect(refused.desktop.screenSize(forever)).rejects.toThrow("it refused svc: XAUTHORITY must name");
});

/** An entry for any display (Xauth(7)): family Wild, no address, no number, the name of the scheme, the cookie. */
function authorityEntry(cookie: string): Uint8Array {
  const fields = ["", "", "MIT-MAGIC-COOKIE-1", cookie].map((text) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(text.length);
    return Buffer.concat([length, Buffer.from(text, "latin1")]);
  });
  return Buffer.concat([Buffer.from([0xff, 0xff]), ...fields]);
}
