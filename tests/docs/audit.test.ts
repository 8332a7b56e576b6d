/** `docs/audit.md`: its verifier in Python agrees with svc. */
import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeExport } from "../../src/host/audit/export";
import { event, testLog } from "../host/audit/support";
import { testWith } from "../support";

const page = readFileSync(join(import.meta.dir, "../../docs/audit.md"), "utf8");
const program = /```python\n(.*?)```/s.exec(page)?.[1] ?? "";

testWith("python3")(
  "the verifier in Python agrees with svc, on a whole export and on an edited one",
  async () => {
    await using made = await testLog("audit-foreign.db");
    for (const detail of [
      '\u0000\u001f\u007f\u2028/\\"',
      "🦊 \ud83e é",
      "\b\f\n\r\t",
      "",
      "x".repeat(1_000_000),
    ]) {
      await made.log.append(event({ detail }));
    }
    const file = join(dirname(made.path), "export.jsonl");
    const verify = async () => {
      const child = Bun.spawn(["python3", "-c", program, file], { stdout: "pipe", stderr: "pipe" });
      return [(await child.stdout.text()) + (await child.stderr.text()), await child.exited];
    };
    await writeExport(file, made.log.exported());
    expect(await verify()).toEqual(["Chain OK (45 rows)\n", 0]);
    writeFileSync(file, readFileSync(file, "utf8").replace('"id":43,', '"id":44,'));
    expect(await verify()).toEqual(["Chain broken at row id 44\n", 1]);
    await writeExport(file, made.log.exported());
    writeFileSync(file, readFileSync(file, "utf8").replace("🦊", "🐺"));
    expect(await verify()).toEqual(["Chain broken at row id 42\n", 1]);
  },
);
