/** How the suites report: `ok <name>`, or `not ok <name> <why>`, a line each. */
export function checks() {
  const report = (ok, name, why = "") => console.log(`${ok ? "ok" : "not ok"} ${name} ${why}`.trim());
  return {
    /** Runs a check, which holds where it answers true. */
    async check(name, test) {
      try {
        const answer = await test();
        report(answer === true, name, answer === true ? "" : JSON.stringify(answer));
      } catch (error) {
        report(false, name, `${error?.name} ${`${error?.message}`.split("\n")[0]}`);
      }
    },
    /** Whether `work` fails with that error, or with a message that the expression fits. */
    async fails(expected, work) {
      try {
        await work();
      } catch (error) {
        return expected instanceof RegExp ? expected.test(`${error}`) : error instanceof expected;
      }
      return false;
    },
    /** Whether `test` becomes true within 10 seconds. */
    async until(test) {
      for (
        const end = performance.now() + 10_000;
        performance.now() < end;
        await new Promise((next) => setTimeout(next, 30))
      ) {
        if (await test()) return true;
      }
      return false;
    },
  };
}
