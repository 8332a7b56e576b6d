import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runToEnd, temporaryFolder } from "./support";

const index = join(import.meta.dir, "../src/index.ts");
const examples = [...readFileSync(index, "utf8").matchAll(/ \* ```ts\n(.*?) \* ```/gs)].map(([, code = ""]) =>
  code.replaceAll(/^ \* ?/gm, ""),
);

test("the API's comments have examples", () => expect(examples.length).toBeGreaterThanOrEqual(2));

for (const [nth, code] of examples.entries()) {
  test(`example ${nth + 1} prints what its comments say`, async () => {
    using folder = temporaryFolder();
    const script = join(folder.path, "example.ts");
    const configDir = JSON.stringify(join(folder.path, "config"));
    writeFileSync(
      script,
      code.replace('"svc"', JSON.stringify(index)).replace('"/tmp/svc-example"', configDir),
    );
    const said = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map(([, text]) => text);
    const { stdout, stderr } = await runToEnd([process.execPath, script]);
    expect({ printed: stdout.trim().replaceAll(/\s+/g, " "), stderr }).toEqual({
      printed: said.join(" "),
      stderr: "",
    });
  });
}
