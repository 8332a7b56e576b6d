/** Time-limited credentials. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { parseInput } from "../../../src/core/input";
import { renderBundle } from "../../../src/host/turn/bundle";
import { secretOfBundle, timeLimitedCredentials } from "../../../src/host/turn/credentials";
import { makeTurnCredentials } from "../../../src/host/turn/operations";
import { checkSettings } from "../../../src/host/turn/settings";
import { writeBundle } from "../../../src/lib/server-bundle";
import { temporaryFolder } from "../../support";
import { given } from "./support";

test("the pair is the expiry with the user, and its HMAC-SHA1", () => {
  // printf 1800000000:lab | openssl dgst -sha1 -hmac north -binary | base64
  expect(timeLimitedCredentials("north", "lab", 3_600, new Date(1_799_996_400_000))).toEqual({
    username: "1800000000:lab",
    password: "3XsUPhw6y2WtnC1+NMhnChAFoYY=",
    expires_at: "2027-01-15T08:00:00.000Z",
  });
});

test("a user name that coturn would part elsewhere is refused", () => {
  expect(() => timeLimitedCredentials("s", "a:b", 60, new Date())).toThrow("user:");
});

test("an empty secret is refused: no relay takes what it signs", () => {
  expect(() => parseInput(makeTurnCredentials.input, { secret: "" })).toThrow("secret: must not be empty");
});

test("the secret comes from the bundle, however it had to be quoted", () => {
  for (const secret of ["north", "=north", '"north"', "north;", 'a"b']) {
    using folder = temporaryFolder();
    const path = join(folder.path, "bundle");
    writeBundle(renderBundle(checkSettings(given({ secret, auth_secret: true }))), path, false);
    expect(secretOfBundle(path)).toBe(secret);
  }
});

test("a folder without a bundle, or with one of the other form, says what was expected", () => {
  using folder = temporaryFolder();
  expect(() => secretOfBundle(folder.path)).toThrow("expected --secret or --output-dir");
  writeBundle(renderBundle(checkSettings(given())), folder.path, false);
  expect(() => secretOfBundle(folder.path)).toThrow("make the bundle with --auth-secret");
});
