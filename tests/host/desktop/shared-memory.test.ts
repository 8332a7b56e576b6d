/** Memory that display servers map, too: they may do with it what they like, but for taking it away. On Linux. */
import { afterEach, expect, test as runnerTest } from "bun:test";
import { closeSync, fstatSync, ftruncateSync, writeSync } from "node:fs";
import { createMemory } from "../../../src/host/desktop/shared-memory";

const test = runnerTest.skipIf(process.platform !== "linux");
const SIZE = 3 * 4_096;
const opened: number[] = [];
afterEach(() => {
  for (const fd of opened.splice(0)) closeSync(fd);
});

function memory() {
  const made = createMemory(SIZE);
  if (!made) throw new Error("there is no memory");
  opened.push(made.fd);
  return made;
}

test("what is written by the descriptor is in the memory, which is empty at first, and stays once it is closed", () => {
  const { fd, bytes } = memory();
  expect(bytes).toHaveLength(SIZE);
  expect(bytes.every((byte) => byte === 0)).toBe(true);
  writeSync(fd, Buffer.from("picture"), 0, 7, SIZE - 7);
  closeSync(opened.pop() ?? -1);
  expect(Buffer.from(bytes.subarray(SIZE - 7)).toString()).toBe("picture");
});

test("nobody who has the descriptor makes it smaller or larger", () => {
  const { fd, bytes } = memory();
  for (const size of [0, SIZE - 4_096, SIZE + 4_096])
    expect(() => ftruncateSync(fd, size)).toThrow("operation not permitted");
  expect(fstatSync(fd).size).toBe(SIZE);
  expect(bytes[SIZE - 1]).toBe(0);
});
