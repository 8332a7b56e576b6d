import { expect, test } from "bun:test";
import { listCommands } from "../../src/executor/operations";
import { callLocalServer } from "../../src/rest/local";
import { testService } from "../support";

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

test("without a server it is said so", async () => {
  await using made = testService();
  const asked = callLocalServer(made.configDir, listCommands, {});
  await expect(asked).rejects.toThrow("no server runs on");
});
