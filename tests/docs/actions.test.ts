/** The action reference: it says what the table says, and its examples are accepted. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { actionReference } from "../../build/reference";
import { commandText } from "../../commands/commands";
import { describeCommand } from "../../src/host/runs/reference";
import { testServer, testService } from "../support";

test("docs/actions.md is up to date: it is what `npm run docs` writes", async () => {
  const written = readFileSync(join(import.meta.dir, "../../docs/actions.md"), "utf8");
  expect(written).toBe(await actionReference());
});

test("every command has an entry whose example passes the check, and a description of each parameter", async () => {
  await using host = testService({ allow_shell: true, allow_audit_clear: true });
  const executor = await host.service.executor();
  const { commands } = executor;
  expect(commands.size).toBeGreaterThan(40);
  for (const operation of commands.values()) {
    const { example, parameters } = await describeCommand(operation, true);
    const list = operation.within?.includes("AC_loop")
      ? [["AC_loop", { times: 1, body: [example] }]]
      : [example];
    expect((await executor.prepare(list)).actions, operation.command).toHaveLength(1);
    expect(parameters.filter(({ description }) => description === "")).toEqual([]);
  }
});

test("GET /commands/{name} answers with an entry, also without the prefix", async () => {
  await using host = await testServer();
  const named = await (await host.call("/commands/AC_write")).json();
  expect(named).toMatchObject({
    command: "AC_write",
    needs: ["input"],
    input: { required: ["write_string"], properties: { write_string: { type: "string", writeOnly: true } } },
  });
  expect(await (await host.call("/commands/write")).json()).toEqual(named);
  expect((await host.call("/commands/nonsense")).status).toBe(404);
});

test("an entry fits into 80 columns of a terminal, but for its example", async () => {
  await using host = testService();
  for (const operation of (await host.service.executor()).commands.values()) {
    const lines = commandText({ ...(await describeCommand(operation, true)), example: [] }).split("\n");
    // A name, a type and a default are not broken.
    expect(lines.filter((line) => line.length > 80 && !line.startsWith("  "))).toEqual([]);
  }
});
