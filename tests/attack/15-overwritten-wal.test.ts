// The attack: audit.db-wal cut off or overwritten under a running server, so that its rows are lost after a crash; and rows
// that hide that the clock went back.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary, post, serveBinary } from "../support";

describe("the next row is refused once the write-ahead log", () => {
  const attacks: Readonly<Record<string, (wal: string) => void>> = {
    "was emptied": (wal) => truncateSync(wal, 0),
    "was cut off": (wal) => truncateSync(wal, 32 + 2 * 4_120),
    "was overwritten": (wal) => writeFileSync(wal, readFileSync(wal).fill(7)),
  };
  for (const [what, attack] of Object.entries(attacks)) {
    test(what, async () => {
      await using server = await serveBinary();
      const change = () => server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
      for (let nth = 0; nth < 5; nth++) expect((await change()).status).toBe(200);
      attack(join(server.configDir, "audit.db-wal"));
      const refused = await change();
      expect([refused.status, await refused.text()]).toEqual([
        503,
        expect.stringContaining("overwritten or cut off"),
      ]);
      const report = await (await server.call("/diagnose?only=audit_chain")).text();
      expect(JSON.parse(report).ok).toBe(false);
    }, 180_000);
  }
});

test("once the index of the write-ahead log was deleted, the server writes no row more, also none of a command", async () => {
  await using server = await serveBinary();
  using host = installBinary();
  const svc = (...words: string[]) => host.run([...words, "--config-dir", server.configDir]);
  await server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
  rmSync(join(server.configDir, "audit.db-shm"));
  expect(await svc("audit", "log", "precious")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("replaced or removed"),
  });
  const refused = await server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
  expect([refused.status, await refused.text()]).toEqual([
    503,
    expect.stringContaining("replaced or removed"),
  ]);
  process.kill(server.pid);
  await server.exited;
  expect((await svc("audit", "log", "precious")).exitCode).toBe(0);
  expect((await svc("audit", "list", "--event-type", "precious", "--json")).stdout).toContain('"count":1');
  expect((await svc("audit", "verify")).stdout).toContain("Chain OK");
}, 180_000);

test("the clock is compared with the latest time in the log, not with that of the last row", async () => {
  using host = installBinary();
  for (let nth = 0; nth < 3; nth++) await host.run(["audit", "log", "test"]);
  using db = new Database(join(host.configDir, "audit.db"));
  db.run("UPDATE events SET ts = '2999-01-01T00:00:00.000000+00:00' WHERE id = 2");
  const { stdout, exitCode } = await host.run(["diagnose", "--only", "clock"]);
  // Rows that came after it have the present time: that is named, and is a failure no longer.
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("before the latest audit row (id 2)")]);
  db.run("UPDATE events SET ts = '2999-01-01T00:00:00.000000+00:00' WHERE id = 3");
  expect((await host.run(["diagnose", "--only", "clock"])).exitCode).toBe(1);
});
