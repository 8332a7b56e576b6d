/** Flow commands do what the same program does in JavaScript. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runActions, testService } from "../../support";

type List = readonly Step[];
type Step =
  | { readonly kind: "mark" | "fail" | "break" | "continue" }
  | { readonly kind: "loop" | "retry"; readonly times: number; readonly body: List }
  | { readonly kind: "if"; readonly holds: boolean; readonly then: List; readonly else: List }
  | {
      readonly kind: "try";
      readonly body: List;
      readonly catch: List;
      readonly finally: List;
      readonly reraise: boolean;
    };

/** Lists of steps, those to leave a loop with only inside one. */
function lists(depth: number, inLoop: boolean): fc.Arbitrary<List> {
  const plain = fc.constantFrom<Step>({ kind: "mark" }, { kind: "mark" }, { kind: "fail" });
  const leaving = inLoop ? [fc.constantFrom<Step>({ kind: "break" }, { kind: "continue" })] : [];
  if (depth === 0) return fc.array(fc.oneof(plain, ...leaving), { maxLength: 3 });
  const inside = lists(depth - 1, inLoop);
  const times = fc.integer({ min: 1, max: 3 });
  const nested = [
    fc.record({ kind: fc.constant("loop" as const), times, body: lists(depth - 1, true) }),
    fc.record({ kind: fc.constant("retry" as const), times, body: inside }),
    fc.record({ kind: fc.constant("if" as const), holds: fc.boolean(), then: inside, else: inside }),
    fc.record({
      kind: fc.constant("try" as const),
      body: inside,
      catch: inside,
      finally: inside,
      reraise: fc.boolean(),
    }),
  ];
  return fc.array(fc.oneof(plain, ...leaving, ...nested), { maxLength: 3 });
}

const actionsOf = (list: List): unknown[] => list.map(actionOf);

function actionOf(step: Step): unknown {
  switch (step.kind) {
    case "mark":
      return ["AC_set_var", { name: "marks", value: "${marks}x" }];
    case "fail":
      return ["AC_if_var", { name: "nobody_set_this", value: 1 }];
    case "break":
    case "continue":
      return [`AC_${step.kind}`];
    case "loop":
      return ["AC_loop", { times: step.times, body: actionsOf(step.body) }];
    case "retry":
      return ["AC_retry", { max_attempts: step.times, backoff: 0, body: actionsOf(step.body) }];
    case "if": {
      const branches = { then: actionsOf(step.then), else: actionsOf(step.else) };
      return ["AC_if_var", { name: "yes", value: step.holds, ...branches }];
    }
    case "try": {
      const inside = {
        body: actionsOf(step.body),
        catch: actionsOf(step.catch),
        finally: actionsOf(step.finally),
      };
      return ["AC_try", { ...inside, reraise: step.reraise }];
    }
  }
}

class Failed extends Error {}
class Left extends Error {
  constructor(readonly how: "break" | "continue") {
    super();
  }
}

/** The marks that `list` leaves in JavaScript, and whether each of its steps was good. */
function inJavaScript(list: List): { marks: number; oks: boolean[] } {
  let marks = 0;
  const all = (steps: List) => {
    for (const step of steps) one(step);
  };
  const tried = (steps: List): unknown => {
    try {
      all(steps);
      return undefined;
    } catch (thrown) {
      return thrown;
    }
  };
  const one = (step: Step): void => {
    switch (step.kind) {
      case "mark":
        marks++;
        return;
      case "fail":
        throw new Failed();
      case "break":
      case "continue":
        throw new Left(step.kind);
      case "loop":
        for (let turn = 0; turn < step.times; turn++) {
          const thrown = tried(step.body);
          if (thrown instanceof Failed) throw thrown;
          if (thrown instanceof Left && thrown.how === "break") return;
        }
        return;
      case "retry":
        for (let attempt = 1; ; attempt++) {
          const thrown = tried(step.body);
          if (thrown instanceof Left) throw thrown;
          if (!thrown) return;
          if (attempt === step.times) throw thrown;
        }
      case "if":
        all(step.holds ? step.then : step.else);
        return;
      case "try": {
        const body = tried(step.body);
        const caught = body instanceof Failed ? tried(step.catch) : undefined;
        const clean = tried(step.finally);
        // Unlike in JavaScript, a failure is never lost to a break or continue.
        const failed = [step.reraise ? body : undefined, caught, clean].find(
          (thrown) => thrown instanceof Failed,
        );
        const left = [clean, caught, body].find((thrown) => thrown instanceof Left);
        if (failed ?? left) throw failed ?? left;
      }
    }
  };
  const oks = list.map((step) => tried([step]) === undefined);
  return { marks, oks };
}

test("any program ends as in JavaScript", async () => {
  await using host = testService({ audit: false });
  await fc.assert(
    fc.asyncProperty(lists(3, false), async (list) => {
      const variables = { marks: "", yes: true };
      const { outcomes } = await runActions(
        host.service,
        [...actionsOf(list), ["AC_set_var", ["end", "${marks}"]]],
        {
          variables,
        },
      );
      const marks = `${outcomes.at(-1)?.result}`.length;
      expect({ marks, oks: outcomes.slice(0, -1).map(({ ok }) => ok) }).toEqual(inJavaScript(list));
    }),
    { numRuns: 300 },
  );
}, 180_000);
