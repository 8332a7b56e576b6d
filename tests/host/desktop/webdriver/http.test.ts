/** WebDriver over HTTP: refusals, in the form of the standard. */
import { describe, expect, test } from "bun:test";
import { post, testServer } from "../../../support";
import { makeToken } from "../../mcp/support";

const session = (capabilities: object) => post({ capabilities: { alwaysMatch: capabilities } });
const errorIn = async (response: Response) => {
  const { value } = (await response.json()) as { value: { error: string; message: string } };
  return [response.status, value.error, value.message];
};

describe("WebDriver over HTTP", () => {
  test("makes a session, uses it and ends it", async () => {
    await using host = await testServer();
    const made = await host.call("/webdriver/session", session({}));
    const { value } = (await made.json()) as { value: { sessionId: string; capabilities: object } };
    expect([made.status, value.capabilities]).toMatchObject([200, { browserName: "svc" }]);
    const at = `/webdriver/session/${value.sessionId}`;
    expect(await (await host.call(`${at}/timeouts`, post({ implicit: 50 }))).json()).toEqual({ value: null });
    expect(await (await host.call(`${at}/timeouts`)).json()).toMatchObject({ value: { implicit: 50 } });
    expect(await (await host.call(at, { method: "DELETE" })).json()).toEqual({ value: null });
    expect(await errorIn(await host.call(`${at}/timeouts`))).toMatchObject([
      404,
      "invalid session id",
      expect.any(String),
    ]);
  });

  test.each([
    ["/webdriver/session", session({ browserName: "chrome" }), 500, "session not created"],
    ["/webdriver/session", session({ nonsense: 1 }), 400, "invalid argument"],
    ["/webdriver/session/x/element", post({}), 404, "invalid session id"],
    ["/webdriver/session/x/nothing", post({}), 404, "unknown command"],
    ["/webdriver/session/x/screenshot", post({}), 405, "unknown method"],
    ["/webdriver/status?x=1", {}, 400, "unknown error"],
  ] as const)("answers %s as the standard has errors", async (path, init, status, error) => {
    await using host = await testServer();
    expect((await errorIn(await host.call(path, init))).slice(0, 2)).toEqual([status, error]);
  });

  test("is for the token that made the session alone", async () => {
    await using host = await testServer();
    const token = await makeToken(host.configDir, "other", ["admin"]);
    const made = await host.call("/webdriver/session", session({}));
    const { value } = (await made.json()) as { value: { sessionId: string } };
    const authorization = `Bearer ${token}`;
    const asked = await host.call(`/webdriver/session/${value.sessionId}/timeouts`, {
      headers: { authorization },
    });
    expect(await errorIn(asked)).toMatchObject([404, "invalid session id", expect.any(String)]);
  });

  test("needs screen for a session, and operate for one on another host", async () => {
    await using host = await testServer();
    const withScope = async (name: string, scope: "read" | "screen", capabilities: object) => {
      const token = await makeToken(host.configDir, name, [scope]);
      const init = session(capabilities);
      const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
      return errorIn(await host.call("/webdriver/session", { ...init, headers }));
    };
    expect(await withScope("one", "read", {})).toMatchObject([
      500,
      "unknown error",
      expect.stringContaining("needs screen"),
    ]);
    expect(await withScope("two", "screen", { "svc:host": "lab" })).toMatchObject([
      500,
      "unknown error",
      expect.stringContaining("needs operate"),
    ]);
  });
});
