/** Sessions and sign-outs of a host whose clock was wrong for a while. */
import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { tokenStore } from "../../../src/trust/named-tokens";
import { beginSession } from "../../../src/trust/oidc/sessions";
import { revokeToken } from "../../../src/trust/operations/tokens";
import { createSignedOut, personDigest } from "../../../src/trust/signed-out";
import { until } from "../../support";
import { setUp } from "./support";

setDefaultTimeout(60_000);

const HOUR_MS = 3_600_000;
const YEAR_MS = 8_760 * HOUR_MS;

const time = Date.now.bind(Date);
/** The clock of this host, `ms` ahead. */
const ahead = (ms: number) => spyOn(Date, "now").mockImplementation(() => time() + ms);

/** Begins the session of a command line by a clock that is `ms` ahead. */
async function sessionBegun(desk: Awaited<ReturnType<typeof setUp>>, ms: number) {
  const store = tokenStore(configFiles(desk.configDir), silentLog);
  const person = { issuer: desk.peer.issuer, subject: "alice", label: "alice", sid: undefined };
  const rule = { scopes: ["read"], on: undefined } as const;
  using _clock = ahead(ms);
  const { token, name } = await beginSession(store, person, rule, { idleS: 3_600, lifeS: 36_000 });
  return {
    isKept: () => store.entries().some((one) => one.name === name),
    async status() {
      await desk.service.refresh();
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${desk.url}/token`, { headers })).status;
    },
  };
}

test("a session that began while the clock was ahead is none once it is right, and none again when its time has come", async () => {
  await using desk = await setUp();
  const session = await sessionBegun(desk, YEAR_MS);
  const right = await sessionBegun(desk, 0);
  expect(await session.status()).toBe(401);
  await until("its end", () => !session.isKept());
  {
    using _clock = ahead(YEAR_MS + 60_000);
    expect(await session.status()).toBe(401);
  }
  expect(await right.status()).toBe(200);
});

test("while the clock is behind that of the provider a session of before does not count, and it does once the clock is right", async () => {
  await using desk = await setUp({ background: false });
  desk.peer.shown.aheadS = HOUR_MS / 1_000;
  const session = await sessionBegun(desk, HOUR_MS);
  expect(await session.status()).toBe(401);
  await (await desk.service.signIn())?.endUnbegun();
  expect(session.isKept()).toBe(true);
  using _clock = ahead(HOUR_MS);
  expect(await session.status()).toBe(200);
});

test("who was signed out while the clock was ahead signs in again once it is right", async () => {
  await using desk = await setUp();
  const person = personDigest({ issuer: desk.peer.issuer, subject: "alice" });
  await createSignedOut(configFiles(desk.configDir), silentLog).note({ person, at: Date.now() + YEAR_MS });
  expect((await desk.signIn("alice")).answer.status).toBe(403);
  expect((await desk.signIn("alice")).answer.status).toBe(200);
});

test("a sign-out holds by the clock of the provider, which is asked for it, where this clock is behind", async () => {
  await using desk = await setUp();
  desk.peer.shown.aheadS = HOUR_MS / 1_000;
  const name = `oidc:_~${personDigest({ issuer: desk.peer.issuer, subject: "alice" })}`;
  await callOperation(desk.service, revokeToken, { name }, localCaller(desk.service, "api"));
  const { signed_out } = await Bun.file(configFiles(desk.configDir).signedOut).json();
  expect(Math.abs(Date.parse(signed_out[0].at) - Date.now() - HOUR_MS)).toBeLessThan(60_000);
});
