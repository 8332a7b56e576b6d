/** What a build leaves out of packages. */
import { expect, test } from "bun:test";
import { leftOutPlugin } from "../../build/left-out";
import { temporaryFolder } from "../support";

test("a schema in a build checks values, and has no interface for other libraries", async () => {
  using folder = temporaryFolder();
  const { outputs } = await Bun.build({
    entrypoints: [Bun.resolveSync("valibot", import.meta.dir)],
    target: "bun",
    outdir: folder.path,
    plugins: [leftOutPlugin],
  });
  const v: typeof import("valibot") = await import(outputs[0]?.path ?? "");
  const schema = v.strictObject({ name: v.pipe(v.string(), v.maxLength(3)) });
  expect(v.safeParse(schema, { name: "abc" }).success).toBe(true);
  expect(v.safeParse(schema, { name: "abcd" }).success).toBe(false);
  expect(Object.hasOwn(schema, "~standard")).toBe(false);
});
