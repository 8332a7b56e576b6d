/** The layout of a keyboard, which is read again only when it has changed. */
import { expect } from "bun:test";
import { connect } from "../../../src/host/desktop/x11/connection";
import { KeycodeRemap } from "../../../src/host/desktop/x11/keycode-remap";
import { strokeOf } from "../../../src/host/desktop/x11/layout";
import { testWith } from "../../support";
import { startDisplay } from "./support";

const test = testWith("Xvfb", "setxkbmap", "xmodmap");
/** Keysyms: a German keyboard has the first elsewhere than an American one, which has no other; and a keycode. */
const [Z, UMLAUT, CAPS_LOCK] = [0x7a, 0xe4, 66];

test("the layout is read once, again when a program has changed it, and what is locked each time", async () => {
  await using display = await startDisplay({ managed: false });
  const run = (...command: string[]) => Bun.spawn(command, { env: display.env }).exited;
  await run("setxkbmap", "us");
  const connection = await connect(display.env, () => {});
  let reads = 0;
  const need = {
    ...connection.need,
    GetKeyboardMapping(first: number, count: number) {
      reads += 1;
      return connection.need.GetKeyboardMapping(first, count);
    },
    GetModifierMapping: () => connection.need.GetModifierMapping(),
    QueryPointer: (window: number) => connection.need.QueryPointer(window),
  };
  const remap = new KeycodeRemap({ ...connection, need });
  const tapCapsLock = () => {
    for (const type of [connection.test.KeyPress, connection.test.KeyRelease]) {
      connection.test.FakeInput(type, CAPS_LOCK, 0, connection.screen.root, 0, 0);
    }
  };
  // The first stroke makes the keyboard of XTEST the one whose layout is in force.
  tapCapsLock();
  tapCapsLock();
  await connection.settled();
  const american = await remap.layout();
  await remap.layout();
  expect(reads).toBe(1);
  expect(strokeOf(american, UMLAUT)).toBeUndefined();

  tapCapsLock();
  expect((await remap.layout()).mask).toBe(american.mask | 2);
  expect(reads).toBe(1);

  await run("setxkbmap", "de");
  const german = await remap.layout();
  expect(strokeOf(german, UMLAUT)).toBeDefined();
  expect(strokeOf(german, Z)).not.toEqual(strokeOf(american, Z));
  const after = reads;
  await remap.layout();
  expect(reads).toBe(after);

  await run("xmodmap", "-e", "keycode 38 = adiaeresis");
  expect(strokeOf(await remap.layout(), UMLAUT)?.keycode).toBe(38);
  connection.close();
});
