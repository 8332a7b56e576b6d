/** What asks for the time, and may. */
import { expect, test } from "bun:test";
import { asksIn, faultsOf } from "../../build/wall-clock";

test.each([
  ["Date.now() - started", 1],
  ["{ now = Date.now }", 1],
  ["new Date()", 1],
  ["new Date().getTime()", 1],
  ["Date()", 1],
  ["new Date().toISOString()", 0],
  ["new Date(at).getTime() - Date.parse(text)", 0],
  ["performance.now() - started", 0],
])("%s asks for the time %d times", (text, count) => {
  expect(asksIn(text)).toBe(count);
});

test("a file that asks more often than it has reasons is named, and so is one that asks no longer", () => {
  const faults = faultsOf(new Map([["src/desk/link/link.ts", 3]]));
  expect(faults[0]).toContain("link/link.ts asks 3 times for the time, of 2 with a reason");
  expect(faults).toContainEqual(
    expect.stringContaining("nats/kept-connection.ts asks 0 times for the time, and is listed"),
  );
  expect(faultsOf(new Map([["src/new/file.ts", 1]]))[0]).toContain("new/file.ts asks 1 times");
});
