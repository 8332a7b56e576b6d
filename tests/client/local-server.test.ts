import { expect, test } from "bun:test";
import { callLocalServer, localToken, localTokenFile } from "../../src/client/local-server";
import { configFiles } from "../../src/lib/paths";
import { listCommands } from "../../src/runs/operations/commands";
import { showRun } from "../../src/runs/operations/runs";
import { readToken, rotateToken } from "../../src/trust/owner-token";
import { TOKEN, testServer, testService } from "../support";

test("the server is asked with the token of the file that it says it uses, whatever SVC_TOKEN is here", async () => {
  await using made = testService();
  await (await made.service.rest()).start({ port: 0 });
  process.env.SVC_TOKEN = "the-token-of-another-host";
  try {
    const { count } = await callLocalServer(made.configDir, listCommands, {});
    expect(count).toBeGreaterThan(10);
  } finally {
    delete process.env.SVC_TOKEN;
  }
});

test("what it refuses is told in its words", async () => {
  await using host = await testServer();
  process.env.SVC_TOKEN = TOKEN;
  try {
    const asked = callLocalServer(host.configDir, showRun, { run_id: "no-such-run" });
    await expect(asked).rejects.toThrow(`the server at ${host.server.url}, asked for runs.show: HTTP 404: `);
  } finally {
    delete process.env.SVC_TOKEN;
  }
});

test("the token of a server is that of the file that it says it uses, else that of its folder", async () => {
  await using made = testService();
  expect(localToken(made.configDir)).toBeUndefined();
  rotateToken(configFiles(made.configDir).token);
  expect(localToken(made.configDir)).toBe(readToken(configFiles(made.configDir).token));
  const tokenFile = `${made.configDir}/elsewhere`;
  await (await made.service.rest()).start({ port: 0, token_file: tokenFile });
  expect(localToken(made.configDir)).toBe(readToken(tokenFile));
  expect(localTokenFile(made.configDir)).toBe(tokenFile);
});

test("a server that was given its token has no file of it, whatever lies in its folder", async () => {
  await using host = await testServer();
  rotateToken(configFiles(host.configDir).token);
  expect(localTokenFile(host.configDir)).toBeNull();
  expect(localTokenFile(host.configDir, "/a/token")).toBe("/a/token");
});

test("without a server it is said so", async () => {
  await using made = testService();
  const asked = callLocalServer(made.configDir, listCommands, {});
  await expect(asked).rejects.toThrow("no server runs on");
});
