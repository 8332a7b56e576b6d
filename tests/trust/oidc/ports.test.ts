/** Cookies of a page: over https they are of one host and secure, and they are of no use to another port of it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { TestBrowser } from "./provider";
import { PROOF, pageOf, setUp } from "./support";

setDefaultTimeout(60_000);

test("over https each cookie is of this host alone, and goes over https alone", async () => {
  await using desk = await setUp({ tls: true });
  const browser = new TestBrowser();
  const begun = await browser.ask(`${desk.url}/oidc/login?page=${PROOF}`);
  const { answer } = await desk.signIn("alice", browser);
  const { port } = new URL(desk.url);
  const set = [...begun.headers.getSetCookie(), ...answer.headers.getSetCookie()];
  expect(set.map((one) => one.replace(/=[^;]*/, ""))).toEqual([
    `__Host-svc-flow-${port}; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax`,
    `__Host-svc-session-${port}; Path=/; Max-Age=36000; Secure; HttpOnly; SameSite=Strict`,
    `__Host-svc-signed-in-${port}; Path=/; Max-Age=36000; Secure; SameSite=Strict`,
    `__Host-svc-flow-${port}; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax`,
  ]);
  const own = pageOf(desk.url);
  expect((await browser.ask(`${desk.url}/token`, own)).status).toBe(200);
  // One that any program of the host could have set by http.
  const token = browser.cookies.get(desk.url)?.get(`__Host-svc-session-${port}`) ?? "";
  const plain = { ...Object(own.headers), cookie: `svc-session-${port}=${token}` };
  expect((await new TestBrowser().ask(`${desk.url}/token`, { headers: plain })).status).toBe(401);
  const out = await browser.ask(`${desk.url}/oidc/logout`, { ...own, method: "POST" });
  expect([out.status, browser.cookies.get(desk.url)?.size]).toEqual([200, 0]);
});

test("a cookie that another port of the host was sent is of no use there, whatever headers it sends", async () => {
  await using desk = await setUp();
  const { browser } = await desk.signIn("alice");
  const { port } = new URL(desk.url);
  // A browser sends it to every port of the host.
  const cookie = `svc-session-${port}=${browser.cookies.get(desk.url)?.get(`svc-session-${port}`)}`;
  const as = async (page: string) => {
    const headers = { cookie, "svc-page": page, origin: desk.url, "sec-fetch-site": "same-origin" };
    return (await fetch(`${desk.url}/token`, { headers })).status;
  };
  expect(await as(`${port} ${PROOF}`)).toBe(200);
  for (const page of [port, `${port} `, `${port} ${"q".repeat(43)}`])
    expect([page, await as(page)]).toEqual([page, 401]);
});

test("a sign-in that another port has begun with a proof of its own begins no session in the browser", async () => {
  await using desk = await setUp();
  const theirs = "t".repeat(43);
  const challenge = new Bun.CryptoHasher("sha256").update(theirs).digest("base64url");
  // They begin it, set its cookie for the host, and lead the browser to the provider.
  const browser = new TestBrowser();
  const begun = await browser.ask(`${desk.url}/oidc/login?page=${challenge}`);
  const callback = await browser.signIn(begun.headers.get("location") ?? "", "alice", desk.isBack);
  const back = await browser.ask(callback);
  // The page proves itself with what it has.
  const refused = await desk.land(browser, back);
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []]);
  // And the code counts once.
  const [, code = ""] = /#session=(.*)/.exec(back.headers.get("location") ?? "") ?? [];
  const body = JSON.stringify({ code, verifier: theirs });
  const init = { method: "POST", body, headers: { "content-type": "application/json" } };
  expect((await browser.ask(`${desk.url}/oidc/page`, init)).status).toBe(403);
});

test("a link to the beginning of a sign-in leads to the dashboard, which begins it", async () => {
  await using desk = await setUp();
  const answer = await fetch(`${desk.url}/oidc/login`, { redirect: "manual" });
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "../dashboard"]);
});
