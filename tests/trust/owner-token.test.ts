import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { configFiles } from "../../src/lib/paths";
import { ownToken, ownTokenFile, readToken, writeToken } from "../../src/trust/owner-token";
import { temporaryFolder, testServer, testService, testWith } from "../support";

test("the token of a server is that of the file that it says it uses, else that of its folder", async () => {
  await using made = testService();
  expect(ownToken(made.configDir)).toBeUndefined();
  writeToken(configFiles(made.configDir).token);
  expect(ownToken(made.configDir)).toBe(readToken(configFiles(made.configDir).token));
  const tokenFile = `${made.configDir}/elsewhere`;
  await (await made.service.rest()).start({ port: 0, token_file: tokenFile });
  expect(ownToken(made.configDir)).toBe(readToken(tokenFile));
  expect(ownTokenFile(made.configDir)).toBe(tokenFile);
});

test("a server that was given its token has no file of it, whatever lies in its folder", async () => {
  await using host = await testServer();
  writeToken(configFiles(host.configDir).token);
  expect(ownTokenFile(host.configDir)).toBeNull();
  expect(ownTokenFile(host.configDir, "/a/token")).toBe("/a/token");
});

test("a rest_token that is cut short is no token, however long what is left of it is", () => {
  using folder = temporaryFolder();
  const file = configFiles(folder.path).token;
  const whole = `${writeToken(file)}\n`;
  for (let length = 1; length < whole.length - 1; length++) {
    writeFileSync(file, whole.slice(0, length));
    expect(() => readToken(file)).toThrow("is cut off");
  }
  // Nothing of the token is missing.
  writeFileSync(file, whole.trim());
  expect(readToken(file)).toBe(whole.trim());
});

test("a token that a person chose may be short", () => {
  using folder = temporaryFolder();
  const file = configFiles(folder.path).token;
  writeFileSync(file, "of-my-own\n");
  expect(readToken(file)).toBe("of-my-own");
  writeFileSync(`${folder.path}/mine`, "of-my-own");
  expect(readToken(`${folder.path}/mine`)).toBe("of-my-own");
});

testWith("mkfifo")("a pipe in the place of the token is refused, and nobody waits for it", () => {
  using folder = temporaryFolder();
  const file = configFiles(folder.path).token;
  expect(Bun.spawnSync(["mkfifo", file]).exitCode).toBe(0);
  expect(() => readToken(file)).toThrow("it is no file of at most");
});
