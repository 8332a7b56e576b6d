/** A viewer of another maker at `svc screen proxy`. */
import { expect, setDefaultTimeout } from "bun:test";
import { connect } from "node:net";
import type { Door } from "../../../../src/host/desktop/screen/calls";
import { startProxy } from "../../../../src/host/desktop/screen/carry/proxy";
import { silentLog } from "../../../../src/lib/log";
import { testWith } from "../../../support";
import { desktopOn, openTerminal, PROGRAMS, startDisplay } from "../support";
import { startTiger, TEXT, TIGER } from "./tiger";

setDefaultTimeout(180_000);

testWith(...PROGRAMS, ...TIGER)(
  "TigerVNC's viewer is let in with the password of the proxy, and neither with another nor without one",
  async () => {
    await using display = await startDisplay();
    await using screen = desktopOn(display.env);
    const { desktop } = screen;
    let opened = 0;
    const open = async () => {
      opened++;
      const door: Door = await desktop.openViewer({ id: "v1", control: false, name: "owner" });
      const socket = connect(door.path);
      socket.write(door.key);
      return socket;
    };
    const where = { address: "127.0.0.1", port: 0 };
    const proxy = await startProxy(where, "this host", open, silentLog, "s3cret!x");
    await using _stop = { [Symbol.asyncDispose]: proxy.stop };
    await desktop.nameScreen("the screen of lab-01");
    {
      await using wrong = await startTiger(proxy.port, "s3cret!y");
      await wrong.shows("Authentication|VNC|TigerVNC");
    }
    {
      await using without = await startTiger(proxy.port);
      await without.shows("TigerVNC|Error|VNC");
    }
    expect(opened).toBe(0);
    await using tiger = await startTiger(proxy.port, "s3cret!x");
    await tiger.shows("the screen of lab-01");
    expect(opened).toBe(1);
  },
);

testWith(...PROGRAMS, ...TIGER)(
  "TigerVNC's viewer shows the screen, and what is typed into it arrives exactly",
  async () => {
    await using display = await startDisplay();
    await using screen = desktopOn(display.env);
    const { desktop } = screen;
    await using terminal = openTerminal(display.env, "editor", "80x20+0+0");
    const open = async () => {
      const door: Door = await desktop.openViewer({ id: "v1", control: false, name: "owner" });
      await desktop.controlViewer("v1", true);
      const socket = connect(door.path);
      socket.write(door.key);
      return socket;
    };
    const proxy = await startProxy({ address: "127.0.0.1", port: 0 }, "this host", open, silentLog);
    await using _stop = { [Symbol.asyncDispose]: proxy.stop };
    await desktop.nameScreen("the screen of lab-01");
    await using tiger = await startTiger(proxy.port);
    const window = await tiger.shows("the screen of lab-01");
    await tiger.click(window, 100, 100);
    await tiger.type(TEXT);
    await tiger.enter();
    expect(await terminal.typed(1)).toBe(`${TEXT}\n`);
  },
);
