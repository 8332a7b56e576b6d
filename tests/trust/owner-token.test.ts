import { expect, test } from "bun:test";
import { configFiles } from "../../src/lib/paths";
import { ownToken, ownTokenFile, readToken, writeToken } from "../../src/trust/owner-token";
import { testServer, testService } from "../support";

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
