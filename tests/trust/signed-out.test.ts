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
