/** A recorded script, run over the same form, elsewhere, and over another form. `SVC_REPLAYS=20` replays it so often. */
import { expect, setDefaultTimeout } from "bun:test";
import { SOURCE, temporaryFolder, testWith } from "../../support";
import { replays, WANTED } from "./replays";
import { startDisplay } from "./support";

setDefaultTimeout(600_000);

const COUNT = Number(process.env.SVC_REPLAYS ?? 2);

testWith(
  "Xvfb",
  "openbox",
  "xdotool",
  "xwininfo",
  "zenity",
)("a recording fills the form in again, wherever it is, and stops in another one", async () => {
  await using display = await startDisplay();
  using folder = temporaryFolder();
  const { record, replay } = replays({ env: display.env, folder: folder.path, svc: SOURCE });
  await record();
  const ran: unknown[] = [];
  for (let nth = 0; nth < COUNT; nth++) {
    const { held, code, said } = await (nth % 2 === 0
      ? replay(417 + 17 * nth, 60 + 11 * nth)
      : replay(200, 150));
    ran.push(held === WANTED && code === 0 ? "right" : { held, code, said });
  }
  // The goal is 19 of 20.
  expect(ran.filter((one) => one !== "right").slice(Math.floor(COUNT / 20))).toEqual([]);

  const other = await replay(200, 150, ["Street", "House"]);
  expect([other.held, other.code]).toEqual(["", 1]);
  expect(other.said).toMatch(/the image "made\.images\/\d+\.png" did not appear within 10 s/);
});
