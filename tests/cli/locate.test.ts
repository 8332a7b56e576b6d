/** What `svc locate` takes its word for: a picture, or an element in one line. */
import { expect, test } from "bun:test";
import { runToEnd, SVC, temporaryFolder } from "../support";

test.each([
  ["row nth 3", "element"],
  ["textbox focused", "element"],
  ["push button", "element"],
  ['button "Save"', "element"],
  ["buttn", "neither"],
  ["save button", "picture"],
  ["save.png", "picture"],
])("svc locate %j looks for an %s", async (word, what) => {
  using folder = temporaryFolder();
  const { DISPLAY: _, WAYLAND_DISPLAY: __, ...others } = process.env;
  const env = {
    ...others,
    SVC_CONFIG_DIR: folder.path,
    XDG_RUNTIME_DIR: folder.path,
    DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
  };
  const { stderr } = await runToEnd([...SVC, "locate", word], { env, cwd: folder.path });
  const said = /no accessibility bus/.test(stderr)
    ? "element"
    : /expected a role of WAI-ARIA or AT-SPI \(did you mean button\?\) but found "buttn"/.test(stderr)
      ? "neither"
      : "picture";
  expect([said, stderr]).toEqual([what, stderr]);
});
