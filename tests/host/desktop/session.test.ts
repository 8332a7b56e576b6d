import { expect, test } from "bun:test";
import { desktopVariables } from "../../../src/host/desktop/session";

const SERVICE = { INVOCATION_ID: "5f0c" };
const printing = (text: string) => ["printf", "%s", text];

test("a service asks the user's service manager where the desktop is", async () => {
  const ask = printing("HOME=/home/lab\nDISPLAY=:7\nXAUTHORITY=/run/user/1000/gdm/Xauthority\nLANG=C\n");
  expect(await desktopVariables(SERVICE, ask)).toEqual({
    DISPLAY: ":7",
    XAUTHORITY: "/run/user/1000/gdm/Xauthority",
  });
});

test("a process with a display keeps it, and only a service looks for a session", async () => {
  const ask = printing("DISPLAY=:7\n");
  expect(await desktopVariables({ ...SERVICE, DISPLAY: ":1" }, ask)).toEqual({});
  expect(await desktopVariables({ ...SERVICE, WAYLAND_DISPLAY: "wayland-0" }, ask)).toEqual({});
  expect(await desktopVariables({}, ask)).toEqual({});
});

test("where nobody knows, nothing is known", async () => {
  expect(await desktopVariables(SERVICE, printing("HOME=/home/lab\n"))).toEqual({});
  expect(await desktopVariables(SERVICE, ["false"])).toEqual({});
  expect(await desktopVariables(SERVICE, ["no-such-program"])).toEqual({});
});
