import { expect, test } from "bun:test";
import { endTree } from "../../src/lib/process-group";

/** What a program is sent while `killer` ends its tree. */
async function signalsOf(killer: readonly string[]): Promise<unknown[]> {
  const sent: unknown[] = [];
  await endTree({ kill: (signal) => void sent.push(signal) }, killer);
  return sent;
}

test("a program is killed alone where the program that ends its tree fails, or is missing", async () => {
  expect(await signalsOf(["false"])).toEqual(["SIGKILL"]);
  expect(await signalsOf(["/nowhere/taskkill"])).toEqual(["SIGKILL"]);
});

test("a program whose tree was ended is left alone", async () => {
  expect(await signalsOf(["true"])).toEqual([]);
});
