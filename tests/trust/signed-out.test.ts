/** Who was signed out, under clocks that are wrong for a while. */
import { expect, spyOn, test } from "bun:test";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { createSignedOut, personDigest } from "../../src/trust/signed-out";
import { temporaryFolder } from "../support";

const DAY_MS = 86_400_000;
const ANN = { issuer: "https://id.example", subject: "ann" };
const BOB = { issuer: "https://id.example", subject: "bob" };

test("a sign-out that a clock far ahead made seem over still counts once the clock is right", async () => {
  using folder = temporaryFolder();
  const signedOut = createSignedOut(configFiles(folder.path), silentLog);
  const now = Date.now();
  await signedOut.note({ person: personDigest(ANN), at: now });
  {
    using _clock = spyOn(Date, "now").mockImplementation(() => now + 400 * DAY_MS);
    await signedOut.note({ person: personDigest(BOB), at: now + 400 * DAY_MS });
  }
  const said = (ms: number) =>
    signedOut.require({ ...ANN, sid: undefined }, { issued: now + ms, isAccessToken: true });
  expect(() => said(-1_000)).toThrow("signed this person out");
  expect(() => said(1_000)).not.toThrow();
});

test("a sign-out that was noted while the clock was ahead counts as noted once the provider has said what time it is", async () => {
  using folder = temporaryFolder();
  const signedOut = createSignedOut(configFiles(folder.path), silentLog);
  const now = Date.now();
  await signedOut.note({ person: personDigest(ANN), at: now + 400 * DAY_MS });
  const said = (ms: number) =>
    signedOut.require({ ...ANN, sid: undefined }, { issued: now + ms, isAccessToken: false });
  expect(() => said(1_000)).toThrow("signed this person out");
  await signedOut.bound(now, async () => now + 500);
  expect(() => said(500)).toThrow("signed this person out");
  expect(() => said(1_000)).not.toThrow();
});

test("a clock that is behind, or was set back, revives no word of before a sign-out", async () => {
  using folder = temporaryFolder();
  const signedOut = createSignedOut(configFiles(folder.path), silentLog);
  const now = Date.now();
  await signedOut.note({ person: personDigest(ANN), at: now });
  let asked = 0;
  await signedOut.bound(now - 400 * DAY_MS, async () => {
    asked++;
    return now;
  });
  expect(asked).toBe(1);
  expect(() =>
    signedOut.require({ ...ANN, sid: undefined }, { issued: now - 1_000, isAccessToken: false }),
  ).toThrow("signed this person out");
  await signedOut.bound(now, () => Promise.reject(new Error("asked without need")));
});

test("what is over takes no place", async () => {
  using folder = temporaryFolder();
  const signedOut = createSignedOut(configFiles(folder.path), silentLog, 3);
  const now = Date.now();
  for (const days of [30, 20, 10, 9])
    await signedOut.note({ person: `${days}`.padStart(32, "0"), at: now - days * DAY_MS });
  await signedOut.note({ person: personDigest(ANN), at: now });
  const { signed_out } = await Bun.file(configFiles(folder.path).signedOut).json();
  expect(signed_out.map(({ who }: { who: string }) => who).toSorted()).toEqual([
    "everybody",
    `person ${personDigest(ANN)}`,
  ]);
  expect(() =>
    signedOut.require({ ...BOB, sid: undefined }, { issued: now - 8 * DAY_MS, isAccessToken: true }),
  ).not.toThrow();
});
