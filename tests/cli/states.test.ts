/** `svc states`, as the owner of a host calls it. */
import { expect, test } from "bun:test";
import { SLEEP, stateHost } from "../host/state/support";
import { runToEnd, SVC } from "../support";

test("what desks have applied is listed, and forgotten by its name", async () => {
  await using host = stateHost();
  const svc = (...args: string[]) => runToEnd([...SVC, "states", ...args, "--config-dir", host.configDir]);
  expect((await svc("list")).stdout).toBe("no desk has applied a state here\n");
  await host.apply({ name: "lab", scripts: { rest: { actions: SLEEP } } });
  expect((await svc("list")).stdout).toMatch(/^STATE +BY .*\nlab +owner +\S+ +[0-9a-f]{12} +1 +0 +0\n$/);
  const forgotten = await svc("forget", "lab");
  expect(forgotten).toMatchObject({
    stdout: "lab manages nothing here any more; what it has put here stays\n",
    exitCode: 0,
  });
  expect(await host.states()).toEqual([]);
  const again = await svc("forget", "lab");
  expect(again.stderr).toContain("no state is named lab here");
  expect(again.exitCode).toBe(1);
});
