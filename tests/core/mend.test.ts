/** Mend requests: small, whatever programs show. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { boundedMend, MAX_MEND, mendLines } from "../../src/core/mend";
import { mendIn } from "../../src/host/runs/mend";

const MEND = {
  expected: 'button "Save"',
  problem: "missing" as const,
  there: ['button "Store"'],
  windows: [],
};

test("a request in its run has 2 KB at most", () => {
  const texts = fc.array(fc.string({ unit: "binary", maxLength: 600 }), { maxLength: 40 });
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 2_000 }), texts, texts, (expected, there, windows) => {
      const mend = boundedMend({ expected, problem: "several", there, windows });
      const inRun = { step: 1_000, command: "AC_assert_element", ...mend };
      expect(Buffer.byteLength(JSON.stringify(inRun))).toBeLessThanOrEqual(MAX_MEND);
    }),
  );
});

test("the request of a run is that of the action that failed last, also of one inside another", () => {
  const failed = {
    command: "AC_press_element",
    ok: false,
    error: "x",
    detail: { mend: MEND },
    duration_ms: 1,
  };
  const fine = { command: "AC_sleep", ok: true, result: { mend: MEND }, duration_ms: 1 };
  const loop = {
    command: "AC_loop",
    ok: false,
    error: "x",
    detail: { outcomes: [fine, failed] },
    duration_ms: 1,
  };
  expect(mendIn([fine])).toBeUndefined();
  expect(mendIn([fine, loop])).toEqual({ step: 2, command: "AC_press_element", ...MEND });
  expect(mendIn([{ ...failed, detail: { mend: { expected: 1 } } }])).toBeUndefined();
});

test("a person reads what was expected, and what is there", () => {
  expect(mendLines({ step: 3, command: "AC_press_element", ...MEND })).toEqual([
    'step 3, AC_press_element: button "Save" is not there',
    "there is:",
    '  button "Store"',
  ]);
});
