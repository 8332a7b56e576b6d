/** Attack: ask for paths that do not exist, as `curl --path-as-is` sends them, to learn something or to guess tokens unseen. */
import { expect, test } from "bun:test";
import { serveBinary, TOKEN } from "../support";
import { statusOf } from "./raw";

test("an unknown path is 404 whatever the token, spends as a refused request, and is no guess", async () => {
  await using server = await serveBinary(["--rate-limit", "60", "--rate-burst", "12"]);
  const paths = ["/nope", "/dashboard/../x", "/dashboard/%2e%2e/x", "/dashboard/..\\x", "/health/"];
  for (const path of paths) {
    expect([path, await statusOf(server, path)]).toEqual([path, 404]);
    expect([path, await statusOf(server, path, "wrong")]).toEqual([path, 404]);
  }
  // Ten guesses would have locked this client out.
  expect(await statusOf(server, "/commands", TOKEN)).toBe(200);
  const later = [];
  while (later.at(-1) !== 429) later.push(await statusOf(server, "/nope", "wrong"));
  expect(later.length).toBeLessThan(30);
  expect(await statusOf(server, "/commands", TOKEN)).toBe(200);
});
