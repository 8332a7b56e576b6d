// The attack: a trigger in audit.db that drops rows of a running server, or an index that hides them, while everything says
// that the log is whole.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { mutilateIndex } from "../host/audit/support";
import { installBinary, post, serveBinary } from "../support";

test("a trigger that mutes rows stops changes, and fails verification and diagnosis", async () => {
  await using server = await serveBinary();
  const change = () => server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
  expect((await change()).status).toBe(200);
  using db = new Database(join(server.configDir, "audit.db"));
  db.run("CREATE TRIGGER mute BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END");

  const refused = await change();
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining("trigger mute")]);
  const named = { ok: false, reason: expect.stringContaining("trigger mute") };
  expect(await (await server.call("/audit/verify")).json()).toMatchObject(named);
  expect(await (await server.call("/diagnose?only=audit_chain")).json()).toMatchObject({
    ok: false,
    checks: [{ detail: expect.stringContaining("trigger mute") }],
  });

  db.run("DROP TRIGGER mute");
  expect((await change()).status).toBe(200);
}, 180_000);

test("an index that hides rows from lists fails verification and diagnosis", async () => {
  using host = installBinary();
  for (const type of ["visible", "hidden"]) await host.run(["audit", "log", type]);
  const listed = async () => (await host.run(["audit", "list", "--event-type", "hidden", "--json"])).stdout;
  const hidden = '"event_type":"hidden"';
  expect(await listed()).toContain(hidden);
  mutilateIndex(join(host.configDir, "audit.db"), "idx_events_type", "event_type", "event_type = 'hidden'");
  expect(await listed()).not.toContain(hidden);
  for (const command of [
    ["audit", "verify"],
    ["diagnose", "--only", "audit_chain"],
  ]) {
    const { exitCode, stdout } = await host.run(command);
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("index idx_events_type")]);
  }
}, 180_000);
