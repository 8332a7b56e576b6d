/**
 * Loaded by the runner before all tests, once it has built the binary: the child processes of svc (`lib/child.ts`) are started from that, as
 * where svc is installed. From the source tree, each would load and compile its modules first.
 */
import { mock } from "bun:test";
import { join } from "node:path";

const binary = join(import.meta.dir, "..", "dist", "svc");

mock.module("../src/lib/self-command", () => ({
  selfCommand: (args: readonly string[]): string[] => [binary, ...args],
}));
