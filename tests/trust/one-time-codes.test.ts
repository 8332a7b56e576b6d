/** One-time codes, for which the dashboard gets the token of the owner. */
import { expect, spyOn, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { askOwner } from "../../src/client/owner";
import { configFiles } from "../../src/lib/paths";
import { CODE_LIFE_S, createOneTimeCodes } from "../../src/trust/one-time-codes";
import { makeOneTimeCode } from "../../src/trust/operations/one-time-code";
import { post, serveSvc, TOKEN } from "../support";

test("a code works once", () => {
  const codes = createOneTimeCodes();
  const code = codes.make();
  expect([codes.take(code), codes.take(code)]).toEqual([true, false]);
});

test("a code does not work any more after its life", () => {
  const codes = createOneTimeCodes();
  const code = codes.make();
  const late = performance.now() + CODE_LIFE_S * 1_000;
  using clock = spyOn(performance, "now").mockReturnValue(late);
  expect(codes.take(code)).toBe(false);
  expect(clock).toHaveBeenCalled();
});

test("the oldest of many codes ends first", () => {
  const codes = createOneTimeCodes();
  const first = codes.make();
  const others = Array.from({ length: 16 }, () => codes.make());
  expect([codes.take(first), others.every((code) => codes.take(code))]).toEqual([false, true]);
});

test("over HTTP, a code is exchanged once for the owner's token, and the page that held it is removed", async () => {
  await using host = await serveSvc();
  const file = configFiles(host.configDir).codePage;
  writeFileSync(file, "");
  const { code = "" } = (await askOwner(host.configDir, makeOneTimeCode, {}))?.answer ?? {};
  const send = () => fetch(`${host.url}/sign-in`, post({ code }));
  const first = await send();
  expect([first.status, await first.json(), existsSync(file)]).toEqual([200, { token: TOKEN }, false]);
  const second = await send();
  expect([second.status, await second.text()]).toEqual([
    403,
    expect.stringContaining("has been used, or is over"),
  ]);
});

test("a wrong code leaves no row in the audit log, and the page of the owner where it is", async () => {
  await using host = await serveSvc();
  const file = configFiles(host.configDir).codePage;
  writeFileSync(file, "");
  const signIns = async () => {
    const { rows } = (await (await host.call("/audit/list?limit=1000")).json()) as {
      rows: Array<{ detail: string }>;
    };
    return rows.filter(
      ({ detail }) => detail.includes("started dashboard.sign_in") || detail.includes("dashboard.sign_in ->"),
    ).length;
  };
  for (let nth = 0; nth < 20; nth++)
    await (await fetch(`${host.url}/sign-in`, post({ code: `wrong-${nth}` }))).text();
  expect([await signIns(), existsSync(file)]).toEqual([0, true]);

  const { code = "" } = (await askOwner(host.configDir, makeOneTimeCode, {}))?.answer ?? {};
  expect((await fetch(`${host.url}/sign-in`, post({ code }))).status).toBe(200);
  expect(await signIns()).toBe(1);
});
