/** A server at which people sign in at a real provider. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JWK } from "jose";
import { post, temporaryFolder, testServer } from "../../support";
import { AGENT, CLIENT, SECRET, startProvider, TestBrowser } from "./provider";

/** What a page proves itself with, and its digest. */
export const PROOF = "p".repeat(43);
export const CHALLENGE = new Bun.CryptoHasher("sha256").update(PROOF).digest("base64url");

const GROUPS = {
  "lab-admins": { scope: ["desk"] },
  viewers: { scope: ["read"], on: "tag:lab" },
};

/** A port that nobody listens on. */
export function freePort(): number {
  const server = Bun.serve({ port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  server.stop(true);
  return port;
}

interface SetUp {
  readonly service?: Record<string, unknown>;
  readonly groups?: object;
  readonly keys?: JWK[];
  /** Whether it knows its address in browsers (`--oidc-url`), and takes access tokens of the agent. */
  readonly knowsUrl?: boolean;
  /** Whether it speaks https. */
  readonly tls?: boolean;
  /** Whether it does what a server does besides answering, such as a look each second at what has ended (default: yes). */
  readonly background?: boolean;
  /** Of the provider. */
  readonly provider?: Omit<NonNullable<Parameters<typeof startProvider>[1]>, "keys" | "backchannel">;
}

/** Close it afterwards. */
export async function setUp(options: SetUp = {}) {
  const port = freePort();
  const url = `${options.tls ? "https" : "http"}://127.0.0.1:${port}`;
  const peer = await startProvider([`${url}/oidc/callback`], {
    ...options.provider,
    backchannel: `${url}/oidc/backchannel-logout`,
    ...(options.keys && { keys: options.keys }),
  });
  const secrets = temporaryFolder();
  const secretFile = join(secrets.path, "secret");
  writeFileSync(secretFile, `${SECRET}\n`);
  const desk = await testServer({
    port,
    tls: options.tls ?? false,
    service: {
      oidc: peer.issuer,
      oidc_client: CLIENT,
      oidc_secret_file: secretFile,
      ...(options.knowsUrl && { oidc_url: url, oidc_agents: [AGENT] }),
      ...options.service,
    },
  });
  if (options.background ?? true) await desk.service.runJobs();
  writeFileSync(join(desk.configDir, "oidc.json"), JSON.stringify(options.groups ?? GROUPS));
  const isBack = (address: string) => address.startsWith(`${url}/oidc/callback`);
  /** Begins to sign in as a page does. @returns the address of the provider. */
  const begin = async (browser: TestBrowser) => {
    const begun = await browser.ask(`${url}/oidc/login?page=${CHALLENGE}`);
    return begun.headers.get("location") ?? "";
  };
  /** Ends it as a page does, for the answer to the callback. */
  const land = async (browser: TestBrowser, back: Response) => {
    const [, code] = /#session=([\w-]+)$/.exec(back.headers.get("location") ?? "") ?? [];
    if (code === undefined) return back;
    return browser.ask(`${url}/oidc/page`, post({ code, verifier: PROOF }));
  };
  return {
    ...desk,
    url,
    peer,
    isBack,
    begin,
    land,
    /** Signs in as a page does. */
    async signIn(account: string, browser = new TestBrowser()) {
      const callback = await browser.signIn(await begin(browser), account, isBack);
      const back = await browser.ask(callback);
      return { browser, callback, back, answer: await land(browser, back) };
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
  headers: { "svc-page": `${new URL(url).port} ${PROOF}`, "sec-fetch-site": "same-origin" },
});
