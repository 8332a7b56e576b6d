/** Variables of hosts, in front of the list of each. */
import { expect, test } from "bun:test";
import { variablesFor } from "../../../src/wire/job/variables";

test("a value for all hosts that one has of its own is not written for thousands before it is too much", () => {
  const labels = Array.from({ length: 2_000 }, (_, nth) => `lab-${nth}`);
  const variables_by_host = Object.fromEntries(
    labels.map((label, nth) => [label, nth === 0 ? { a: 1 } : {}]),
  );
  const began = performance.now();
  expect(() => variablesFor(labels, { variables: { a: "x".repeat(900_000) }, variables_by_host })).toThrow(
    "expected at most 33554432 bytes in all, but found more in the first 39 hosts",
  );
  expect(performance.now() - began).toBeLessThan(1_000);
});

test("each host gets its own value, and the others that of all", () => {
  const { own, count } = variablesFor(["a", "b"], {
    variables: { size: 1, colour: "red" },
    variables_by_host: { a: { size: 2 }, b: {} },
  });
  expect(own).toEqual([
    '["AC_set_var",{"name":"size","value":2}]',
    '["AC_set_var",{"name":"size","value":1}]',
  ]);
  expect([count(0), count(1)]).toEqual([2, 2]);
});
