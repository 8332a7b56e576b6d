/** What a build leaves out of packages. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { EXTENSIONS, leftOutPlugin } from "../../build/left-out";
import { ROOT } from "../../build/targets";
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

test("each extension of the X protocol that svc asks for is in a build", async () => {
  const folder = join(ROOT, "src", "host", "desktop");
  const asked: string[] = [];
  for await (const path of new Bun.Glob("**/*.ts").scan({ cwd: folder, absolute: true })) {
    if (path.endsWith(".d.ts")) continue;
    const text = await Bun.file(path).text();
    asked.push(...[...text.matchAll(/\bclient\.require\("([a-z-]+)"/g)].flatMap(([, name]) => name ?? []));
  }
  expect(asked).toContain("xtest");
  const missing = asked.filter((name) =>
    EXTENSIONS.test(join(ROOT, "node_modules/x11/lib/ext", `${name}.js`)),
  );
  expect(missing).toEqual([]);
});
