import { expect, test } from "bun:test";
import { callLocalServer } from "../../src/client/local-server";
import { listCommands } from "../../src/host/runs/operations/commands";
import { showRun } from "../../src/host/runs/operations/runs";
import { configFiles } from "../../src/lib/paths";
import { writeToken } from "../../src/trust/owner-token";
import { TOKEN, testServer, testService } from "../support";

test("the server gets the token of the file that it names, whatever SVC_TOKEN is here", async () => {
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

test("a refusal is the failure that the server answered with", async () => {
  await using host = await testServer();
  process.env.SVC_TOKEN = TOKEN;
  try {
    const asked = callLocalServer(host.configDir, showRun, { run_id: "no-such-run" });
    await expect(asked).rejects.toMatchObject({
      code: "not_found",
      message: "no such run, or it ended too long ago",
    });
  } finally {
    delete process.env.SVC_TOKEN;
  }
});

test("fails with a message when no server runs", async () => {
  await using made = testService();
  const asked = callLocalServer(made.configDir, listCommands, {});
  await expect(asked).rejects.toThrow("no server runs on");
});

test("a server that is refreshed accepts a rotated token, refuses the old one, and counts no wrong guess", async () => {
  await using made = testService();
  const server = await (await made.service.rest()).start({ port: 0, rate_limit: 0 });
  const old = server.token.current();
  const statusWith = async (token: string) =>
    (await fetch(`${server.url}/commands`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await statusWith(old)).toBe(200);
  const rotated = writeToken(configFiles(made.configDir).token);
  await made.service.refresh();
  expect(await statusWith(old)).toBe(401);
  expect(await statusWith(rotated)).toBe(200);
  const metrics = await made.service.metrics();
  expect((await metrics.requestTotals()).failed_auth).toBe(1);
});
