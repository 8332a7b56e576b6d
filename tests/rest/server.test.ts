import { expect, test } from "bun:test";
import { testServer } from "../support";

test("health is exactly {status: ok} and needs no token", async () => {
  await using host = await testServer();
  const response = await fetch(`${host.server.url}/health`);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"status":"ok"}');
});

test("an unknown path is 401 without a token and 404 with one", async () => {
  await using host = await testServer();
  expect((await fetch(`${host.server.url}/nope`)).status).toBe(401);
  expect((await host.call("/nope")).status).toBe(404);
});
