/** What strangers send has the provider asked only so often, and is looked at under a name of this server alone. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { createPaces } from "../../../src/trust/oidc/paces";
import { movableClock, post } from "../../support";
import { TestBrowser } from "./provider";
import { setUp } from "./support";

setDefaultTimeout(60_000);

const tokensAsked = ({ asked }: { readonly asked: readonly string[] }) =>
  asked.filter((path) => path === "/token").length;

test("a device flow is asked about once in its interval, whoever asks how often", async () => {
  await using desk = await setUp();
  const { handle } = Object(await (await fetch(`${desk.url}/oidc/device`, post({}))).json());
  const answers = [];
  for (let nth = 0; nth < 20; nth++)
    answers.push(await (await fetch(`${desk.url}/oidc/device/token`, post({ handle }))).json());
  expect(answers[0]).toEqual({ session: null, slower: false });
  expect(answers.slice(1)).toEqual(Array(19).fill({ session: null, slower: true }));
  expect(tokensAsked(desk.peer)).toBe(1);
});

test("the flows of one client are asked about 60 times at once, and 120 times a minute", () => {
  using clock = movableClock();
  const paces = createPaces();
  const asked = () =>
    Array.from({ length: 200 }, (_, nth) => paces.mayAskDevice("stranger", `code-${nth}`, 5_000)).filter(
      Boolean,
    ).length;
  expect(asked()).toBe(60);
  clock.advance(30_000);
  expect(asked()).toBe(60);
  expect(paces.mayAskDevice("somebody else", "code", 5_000)).toBe(true);
});

test("a flow of which the provider wants to hear more rarely is asked about more rarely", () => {
  using clock = movableClock();
  const paces = createPaces();
  expect(paces.mayAskDevice("client", "code", 5_000)).toBe(true);
  paces.slowDevice("code");
  clock.advance(5_000);
  expect(paces.mayAskDevice("client", "code", 5_000)).toBe(false);
  clock.advance(5_000);
  expect(paces.mayAskDevice("client", "code", 5_000)).toBe(true);
  clock.advance(5_000);
  expect(paces.mayAskDevice("client", "code", 5_000)).toBe(false);
});

test("false codes of one client are handed to the provider 30 times at once, and then none", async () => {
  await using desk = await setUp();
  const browser = new TestBrowser();
  const statuses = [];
  for (let nth = 0; nth < 35; nth++) {
    const state = new URL(await desk.begin(browser)).searchParams.get("state") ?? "";
    const query = new URLSearchParams({ code: `false-${nth}`, state, iss: desk.peer.issuer });
    statuses.push((await browser.ask(`${desk.url}/oidc/callback?${query}`)).status);
  }
  expect(statuses).toEqual([...Array(30).fill(403), ...Array(5).fill(429)]);
  expect(tokensAsked(desk.peer)).toBe(30);
});

test("good answers take nothing of that", async () => {
  await using desk = await setUp({ groups: { "*": { scope: ["read"] } } });
  const paces = createPaces();
  for (let nth = 0; nth < 100; nth++) paces.answer("office")();
  expect(() => paces.answer("office")).not.toThrow();
  expect((await desk.signIn("alice")).answer.status).toBe(200);
});

test("a page that has pointed its own name at this server begins no device flow, and brings no code", async () => {
  await using desk = await setUp();
  const headers = { host: "evil.example", "content-type": "application/json" };
  for (const path of ["/oidc/device", "/oidc/device/token", "/oidc/token", "/oidc/page"])
    expect((await fetch(`${desk.url}${path}`, { ...post({}), headers })).status).toBe(421);
  expect((await fetch(`${desk.url}/oidc/callback`, { headers })).status).toBe(421);
  expect(desk.peer.asked).toEqual([]);
});
