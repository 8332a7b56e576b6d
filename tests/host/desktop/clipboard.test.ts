/** The clipboard of a real X server, shared with a program that is not ours; and dragging. */

import { describe, expect, setDefaultTimeout } from "bun:test";
import type { Desktop } from "../../../src/host/desktop/desktop";
import { drag } from "../../../src/host/desktop/drag";
import { focusByTitle, waitForTitle } from "../../../src/host/desktop/windows";
import { Requester } from "../../../src/lib/slots";
import { testWith, until } from "../../support";
import { childOf, desktopOn, forAllTests, forever, openListener, PROGRAMS, startDisplay } from "./support";

setDefaultTimeout(180_000);
const PROGRAMS_HERE = [...PROGRAMS, "xclip"];
const test = testWith(...PROGRAMS_HERE);
/** More than fits into one request of an X server, and not a multiple of anything. */
const LONG = "Grüße, 世界 🌍\n".repeat(40_001);

let display: Awaited<ReturnType<typeof startDisplay>>;
let desktop: Desktop;
forAllTests(PROGRAMS_HERE, (started) => {
  ({ display, desktop } = started);
});

/** What another program finds on the clipboard. */
async function pasted(target = "UTF8_STRING") {
  const xclip = Bun.spawn(["xclip", "-selection", "clipboard", "-out", "-target", target], {
    env: display.env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return xclip.stdout.text();
}

/** Another program that has `text` on the clipboard until the scope ends. */
function copied(text: string, target = "UTF8_STRING") {
  const flags = ["-selection", "clipboard", "-in", "-quiet", "-target", target];
  const child = Bun.spawn(["xclip", ...flags], {
    env: display.env,
    stdio: [Buffer.from(text), "ignore", "ignore"],
  });
  return {
    child,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

describe("the clipboard:", () => {
  test("it is empty before anybody puts something on it", async () => {
    await using bare = await startDisplay({ managed: false });
    await using own = desktopOn(bare.env);
    expect(await own.desktop.clipboard(forever)).toBe("");
  });

  test("another program pastes what was set, as often as it likes, a long text too", async () => {
    for (const text of ["", "one line", "Grüße, 世界 🌍\n\ttab", LONG]) {
      await desktop.setClipboard(text, forever);
      expect(await pasted()).toBe(text);
      expect(await pasted("text/plain;charset=utf-8")).toBe(text);
      expect(await desktop.clipboard(forever)).toBe(text);
    }
  });

  test("programs that paste at once each get the whole text", async () => {
    await desktop.setClipboard(LONG, forever);
    const all = await Promise.all(Array.from({ length: 5 }, () => pasted()));
    expect(all.every((text) => text === LONG)).toBe(true);
  });

  test("it says which forms it has, and has no others", async () => {
    await desktop.setClipboard("Grüße 🌍", forever);
    const forms = (await pasted("TARGETS")).trim().split("\n");
    expect(forms).toEqual(
      expect.arrayContaining(["TARGETS", "MULTIPLE", "TIMESTAMP", "UTF8_STRING", "STRING"]),
    );
    expect(await pasted("image/png")).toBe("");
  });

  test("what another program copies is read, a long text too", async () => {
    for (const text of ["copied", "Grüße, 世界 🌍", LONG]) {
      await using _owner = copied(text);
      await until("the text of the other program", async () => (await desktop.clipboard(forever)) === text);
    }
  });

  test("something that is no text is said to be none", async () => {
    await using _owner = copied("\x89PNG", "image/png");
    await until("the refusal", () =>
      desktop.clipboard(forever).then(
        () => false,
        (error) => error.message === "the clipboard holds no text",
      ),
    );
  });

  test("a program that hangs with the clipboard fails the call, and no other", async () => {
    await using owner = copied("hangs");
    await until("the other program", async () => (await desktop.clipboard(forever)) === "hangs");
    owner.child.kill("SIGSTOP");
    await expect(desktop.clipboard(forever)).rejects.toThrow("did not answer within 4 s");
    expect(await desktop.pointer(forever)).toBeDefined();
    await desktop.setClipboard("taken over", forever);
    expect(await pasted()).toBe("taken over");
  });

  test("a program that goes away in the middle of a long text harms nothing", async () => {
    await desktop.setClipboard(LONG, forever);
    const reader = Bun.spawn(["xclip", "-selection", "clipboard", "-out"], {
      env: display.env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    await reader.stdout.getReader().read();
    reader.kill("SIGKILL");
    await reader.exited;
    await desktop.move({ x: 9, y: 9 }, forever);
    expect(await pasted()).toBe(LONG);
  });

  test("the helper stays as long as it has the clipboard, and leaves once another program has it", async () => {
    await using own = desktopOn(display.env, { idleMs: 50 });
    await own.desktop.setClipboard("kept", forever);
    const pid = childOf(own.desktop);
    // Many times as long as it is kept without calls.
    await Bun.sleep(500);
    expect(own.desktop.childPid).toBe(pid);
    expect(await pasted()).toBe("kept");
    await using _owner = copied("other");
    await until("the helper to leave", () => own.desktop.childPid === null);
  });
});

describe("dragging:", () => {
  test("the button goes down at the first place and up at the second", async () => {
    await using listener = openListener(display.env, "drag target");
    const query = { title_substring: "drag target", case_sensitive: false, timeout: 10, poll: 0.02 };
    await waitForTitle(desktop, query, forever);
    await focusByTitle(desktop, query, forever);
    const way = {
      from: { x: 650, y: 380 },
      to: { x: 720, y: 440 },
      duration_s: 0.05,
      button: "left",
    } as const;
    expect(await drag(desktop, way, forever)).toEqual({ x: 720, y: 440 });
    expect(await listener.strokes(2)).toEqual(["+button 1", "-button 1"]);
  });

  test("a place outside the screen is refused before the button goes down, and a drag that is called off lets go", async () => {
    await using listener = openListener(display.env, "drag refused");
    const query = { title_substring: "drag refused", case_sensitive: false, timeout: 10, poll: 0.02 };
    await waitForTitle(desktop, query, forever);
    await focusByTitle(desktop, query, forever);
    const way = { from: { x: 650, y: 380 }, to: { x: 5_000, y: 0 }, duration_s: 0, button: "left" } as const;
    await expect(drag(desktop, way, forever)).rejects.toThrow("x: expected 0 to 1279");
    const stop = new AbortController();
    const called = drag(
      desktop,
      { ...way, to: { x: 720, y: 440 }, duration_s: 60 },
      new Requester(null, stop.signal),
    );
    await listener.strokes(1);
    stop.abort();
    await expect(called).rejects.toThrow();
    expect(await listener.strokes(2)).toEqual(["+button 1", "-button 1"]);
  });
});
