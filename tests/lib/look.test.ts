import { expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { look, lookThrough } from "../../src/lib/look";
import { temporaryFolder } from "../support";

test("nothing is below a file, through a link to one, or at a link that leads nowhere", () => {
  using home = temporaryFolder();
  const at = (name: string) => join(home.path, name);
  writeFileSync(at("file"), "x");
  symlinkSync(at("file"), at("link"));
  symlinkSync(at("nowhere"), at("dangling"));
  for (const find of [look, lookThrough]) {
    expect([find(at("file"))?.isFile(), find(at("missing"))]).toEqual([true, undefined]);
    expect([find(at("file/below")), find(at("link/below/it"))]).toEqual([undefined, undefined]);
  }
  expect([look(at("dangling"))?.isSymbolicLink(), lookThrough(at("dangling"))]).toEqual([true, undefined]);
  symlinkSync(at("loop"), at("loop"));
  expect(() => look(at("loop/x"))).toThrow("ELOOP");
});

test("all other modules look by way of this one", async () => {
  const source = join(import.meta.dir, "..", "..", "src");
  const own: string[] = [];
  for await (const name of new Glob("**/*.ts").scan(source))
    if ((await Bun.file(join(source, name)).text()).includes("throwIfNoEntry")) own.push(name);
  expect(own).toEqual(["lib/look.ts"]);
});
