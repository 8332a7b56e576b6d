/** A server at which people sign in at a real provider. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JWK } from "jose";
import { temporaryFolder, testServer } from "../../support";
import { CLIENT, SECRET, startProvider, TestBrowser } from "./provider";

const GROUPS = {
  "lab-admins": { scope: ["desk"] },
  viewers: { scope: ["read"], on: "tag:lab" },
};

/** A port that nobody listens on. */
function freePort(): number {
  const server = Bun.serve({ port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  server.stop(true);
  return port;
}

/** Close it afterwards. */
export async function setUp(
  options: {
    readonly service?: Record<string, unknown>;
    readonly groups?: object;
    readonly keys?: JWK[];
    /** Whether it knows its address in browsers (`--oidc-url`). */
    readonly knowsUrl?: boolean;
  } = {},
) {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const peer = await startProvider([`${url}/oidc/callback`], {
    backchannel: `${url}/oidc/backchannel-logout`,
    ...(options.keys && { keys: options.keys }),
  });
  const secrets = temporaryFolder();
  const secretFile = join(secrets.path, "secret");
  writeFileSync(secretFile, `${SECRET}\n`);
  const desk = await testServer({
    port,
    service: {
      oidc: peer.issuer,
      oidc_client: CLIENT,
      oidc_secret_file: secretFile,
      ...(options.knowsUrl && { oidc_url: url }),
      ...options.service,
    },
  });
  await desk.service.runJobs();
  writeFileSync(join(desk.configDir, "oidc.json"), JSON.stringify(options.groups ?? GROUPS));
  const isBack = (address: string) => address.startsWith(`${url}/oidc/callback`);
  return {
    ...desk,
    url,
    peer,
    isBack,
    /** Signs in as a page does. */
    async signIn(account: string, browser = new TestBrowser()) {
      const begun = await browser.ask(`${url}/oidc/login`);
      const address = begun.headers.get("location") ?? "";
      const callback = await browser.signIn(address, account, isBack);
      return { browser, callback, answer: await browser.ask(callback) };
    },
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      peer[Symbol.dispose]();
      secrets[Symbol.dispose]();
    },
  };
}

/** What a page of the server at `url` sends with each request. */
export const pageOf = (url: string): RequestInit => ({
  headers: { "svc-page": new URL(url).port, "sec-fetch-site": "same-origin" },
});
