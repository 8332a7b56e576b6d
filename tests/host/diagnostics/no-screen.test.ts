/** Whether a host without a screen is as it should be: a setting says so. */
import { expect, test } from "bun:test";
import { fine } from "../../../src/host/diagnostics/check";
import { unlessNone } from "../../../src/host/diagnostics/no-screen";
import { noScreen, unavailable } from "../../../src/lib/errors";

const saying = (...answers: string[]) => ({ settings: async () => ({ get: () => answers }) });
const none = () => Promise.reject(noScreen("no display: DISPLAY is not set"));

test("without a screen, a host is fine that is meant to have none, and has failed where one is expected", async () => {
  expect(await unlessNone(saying("none"), [], none)).toMatchObject({ ok: true, severity: "info" });
  const missing = { ok: false, severity: "error", extra: { screen: "expected" }, advice: ["plug it in"] };
  expect(await unlessNone(saying("expected"), ["plug it in"], none)).toMatchObject(missing);
});

test("where nobody has said, and where the screen is there but broken, the fault stays one", async () => {
  const undecided = { ok: false, detail: "no display: DISPLAY is not set", extra: { screen: "undecided" } };
  expect(await unlessNone(saying(), [], none)).toMatchObject(undecided);
  const broken = () => Promise.reject(unavailable("the X server went away"));
  await expect(unlessNone(saying("none"), [], broken)).rejects.toThrow("went away");
  expect(await unlessNone(saying("none"), [], async () => fine("here"))).toMatchObject({ detail: "here" });
});
