import { expect } from "bun:test";
import { join } from "node:path";
import { testWith } from "../support";

testWith("prlimit")("a server that may open nothing more makes a change all the same", async () => {
  const program = [process.execPath, join(import.meta.dir, "hold-back-without-descriptor.ts")];
  const child = Bun.spawn(["prlimit", "--nofile=128:128", ...program], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 30_000,
  });
  expect(await child.stdout.json()).toEqual(["done", "done"]);
});
