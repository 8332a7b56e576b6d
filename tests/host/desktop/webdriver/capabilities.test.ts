/** What clients ask of a new session. */
import { describe, expect, test } from "bun:test";
import { capabilitiesIn, PLATFORM } from "../../../../src/host/desktop/webdriver/capabilities";
import { answerTo } from "../../../../src/wire/webdriver/errors";

const errorOf = (work: () => unknown) => {
  try {
    work();
  } catch (thrown) {
    const { value } = answerTo(thrown) ?? {};
    return value as { error: string; message: string };
  }
  throw new Error("it did not fail");
};
const asked = (alwaysMatch: object, ...firstMatch: object[]) => ({
  capabilities: { alwaysMatch, ...(firstMatch.length > 0 && { firstMatch }) },
});

test("the first alternative that this host can be is taken", () => {
  const answer = capabilitiesIn(
    asked({ "svc:input": "real" }, { browserName: "firefox" }, { platformName: PLATFORM }),
  );
  expect(answer).toMatchObject({ "svc:input": "real", platformName: PLATFORM, "svc:idleTimeout": 300 });
});

test("capabilities of other makers are left to them", () => {
  expect(capabilitiesIn(asked({ "wdio:maxInstances": 3, "se:name": "x" }))).toMatchObject({
    "svc:input": "program",
  });
});

describe("a session is refused", () => {
  test.each([
    [{ browserName: "chrome" }, "session not created", 'browserName: expected "svc" or none'],
    [{ platformName: "amiga" }, "session not created", "platformName: this host is"],
    [{ nonsense: 1 }, "invalid argument", '"nonsense" is no capability of svc'],
    [{ "svc:nonsense": 1 }, "invalid argument", '"svc:nonsense" is no capability of svc'],
    [{ "svc:idleTimeout": 0 }, "invalid argument", "svc:idleTimeout"],
    [{ "svc:desktop": "a screen" }, "invalid argument", "svc:desktop"],
  ])("for %p", (capabilities, error, message) => {
    const answer = errorOf(() => capabilitiesIn(asked(capabilities)));
    expect([answer.error, answer.message]).toEqual([error, expect.stringContaining(message)]);
  });

  test("for more capabilities than are compared", () => {
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, nth) => [`a:${nth}`, nth]));
    expect(errorOf(() => capabilitiesIn(asked(many)))).toMatchObject({ error: "invalid argument" });
    expect(errorOf(() => capabilitiesIn(asked({}, {}, many)))).toMatchObject({ error: "invalid argument" });
  });

  test("for a body without capabilities", () => {
    expect(errorOf(() => capabilitiesIn({ desiredCapabilities: {} })).error).toBe("invalid argument");
  });
});
