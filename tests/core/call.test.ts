/** The audit row of a change names its subject. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { callOperation, subjectOf } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { field, secret } from "../../src/core/fields";
import { operation } from "../../src/core/operation";
import { notFound, unavailable } from "../../src/lib/errors";
import { operations } from "../../src/operations";
import { runActions, testService } from "../support";

const rename = operation({
  name: "name.set",
  summary: "Set a name",
  scope: "admin",
  changes: true,
  command: "AC_name_set",
  input: v.strictObject({
    name: field(v.string(), "Name"),
    token: field(v.optional(secret(v.string())), "Token"),
  }),
  output: v.null(),
  run: () => null,
});

test("a subject has the operation and its input, secrets hidden and long values cut", () => {
  const subject = subjectOf(rename, { name: "a".repeat(10_000), token: "not-for-the-log" });
  expect(subject).toMatch(/^name\.set name="a+… token="\*\*\*"$/);
  expect(subject.length).toBeLessThan(1_100);
});

test("a change leaves its row before it is made, in a run too", async () => {
  await using made = testService({ operations: [...operations, rename] });
  const { service } = made;
  await callOperation(service, rename, { name: "one" }, localCaller(service, "cli"));
  const report = await runActions(service, [["AC_name_set", { name: "two" }]]);
  const rows = await (await service.audit())?.list({ limit: 3 });
  const details = rows?.map(({ event_type, detail }) =>
    `${event_type}: ${detail}`.replace(/sha256:.*/, "sha256:…"),
  );
  expect(details).toEqual([
    `api: run=${report.run_id} name.set name="two"`,
    `api: run=${report.run_id} commands=AC_name_set args=sha256:…`,
    'cli: name.set name="one"',
  ]);
});

test("a read that reveals something has its row before it runs, and does not run without one", async () => {
  let read = 0;
  const { changes: _, ...reading } = rename;
  const run = () => {
    read += 1;
    return null;
  };
  const peek = operation({ ...reading, name: "secret.peek", reveals: true, run });
  const caller = localCaller({ audit: async () => null }, "cli");
  const announced: Array<[subject: string, reads: number]> = [];
  const announce = async (subject: string) => void announced.push([subject, read]);
  await callOperation({}, peek, { name: "one" }, { ...caller, announce });
  expect(announced).toEqual([['secret.peek name="one"', 0]]);
  const refusing = { ...caller, announce: () => Promise.reject(unavailable("the log is full")) };
  expect(callOperation({}, peek, { name: "two" }, refusing)).rejects.toThrow("the log is full");
  expect(read).toBe(1);
});

test("a loop of changes leaves a bounded number of rows", async () => {
  await using made = testService({ operations: [...operations, rename] });
  const { service } = made;
  const body = [["AC_name_set", { name: "again" }]];
  const report = await runActions(service, [["AC_loop", { times: 600, body }]]);
  expect(report.ok).toBe(true);
  const rows = (await (await service.audit())?.list({ limit: 1_000 })) ?? [];
  expect(rows).toHaveLength(502);
  expect(rows[0]?.detail).toBe(`run=${report.run_id} further actions of this run have no row`);
});

test("a change from the command line that fails leaves a second row with the outcome", async () => {
  await using made = testService();
  const { service } = made;
  const fails = operation({
    ...rename,
    run() {
      throw notFound("no such name");
    },
  });
  const failing = (kind: "cli" | "api") =>
    callOperation(service, fails, { name: "one" }, localCaller(service, kind));
  await expect(failing("cli")).rejects.toThrow("no such name");
  await expect(failing("api")).rejects.toThrow("no such name");
  const rows = await (await service.audit())?.list({ limit: 4 });
  expect(rows?.map(({ event_type, detail }) => `${event_type}: ${detail}`)).toEqual([
    'api: name.set name="one"',
    'cli: name.set name="one" -> failed:404',
    'cli: name.set name="one"',
  ]);
});
