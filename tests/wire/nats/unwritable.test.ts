/** A bundle that cannot be written: the next attempt writes one of the same keys. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { makeNatsBundle } from "../../../src/desk/nats/operations/server";
import { testService } from "../../support";

test("svc nats can be run again after a folder that cannot be written", async () => {
  await using made = testService();
  const write = (output_dir: string) =>
    callOperation(
      made.service,
      makeNatsBundle,
      { operator: "lab", url: ["tls://nats.example.org"], output_dir },
      localCaller(made.service, "cli"),
    );
  const file = join(made.configDir, "file");
  writeFileSync(file, "");
  await expect(write(join(file, "bundle"))).rejects.toThrow("cannot be written to");
  expect(await write(join(made.configDir, "bundle"))).toMatchObject({
    desk: { name: "desk" },
    new_keys: false,
  });
});
