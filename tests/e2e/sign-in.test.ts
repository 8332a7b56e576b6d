/** `svc login --sign-in` and `svc login --device` of the compiled binary, at a desk of it whose people sign in at a real provider of https. */
import { expect, setDefaultTimeout } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "../client/support";
import { BINARY, follow, serveBinary, temporaryFolder, testWith } from "../support";
import { CLIENT, SECRET, startProvider, TestBrowser } from "../trust/oidc/provider";
import { freePort } from "../trust/oidc/support";

setDefaultTimeout(120_000);

/** A desk that has the secret of its client from systemd, and knows the authority of its provider alone. */
async function setUp() {
  const folder = temporaryFolder();
  const { cert, key } = selfSigned(folder.path, "provider", "IP:127.0.0.1");
  const tls = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  const port = freePort();
  const callback = `https://127.0.0.1:${port}/oidc/callback`;
  const peer = await startProvider([callback], { tls });
  const credentials = join(folder.path, "credentials");
  mkdirSync(credentials);
  writeFileSync(join(credentials, "oidc_secret"), `${SECRET}\n`);
  const flags = ["--tls", "--oidc", peer.issuer, "--oidc-client", CLIENT, "--oidc-ca", cert];
  const desk = await serveBinary(["--port", `${port}`, ...flags], {
    env: { ...process.env, CREDENTIALS_DIRECTORY: credentials },
  });
  writeFileSync(join(desk.configDir, "oidc.json"), '{"*": {"scope": ["read"]}}');
  const { pin } = Object(await (await desk.call("/status")).json());
  const home = join(folder.path, "home");
  const env = { ...process.env, SVC_CONFIG_DIR: home, DISPLAY: "", WAYLAND_DISPLAY: "" };
  /** Begins a command of somebody at another machine. */
  const svc = (...words: string[]) => {
    const child = Bun.spawn([BINARY, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
    return { said: follow(child.stderr), out: follow(child.stdout), exited: child.exited };
  };
  return {
    ...{ desk, peer, svc },
    logIn: (way: string) => svc("login", desk.url, "--pin", `${pin}`, "--name", "lab", way),
    isBack: (address: string) => address.startsWith(callback),
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      peer[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** What the desk answers the command line with that has logged in. */
async function rights({ svc }: Pick<Awaited<ReturnType<typeof setUp>>, "svc">) {
  const listed = svc("--desk", "lab", "runs", "list");
  return [await listed.exited, await listed.said.whole];
}

testWith("openssl")("svc login --sign-in has the session that its person allows in a browser", async () => {
  await using here = await setUp();
  const { said, out, exited } = here.logIn("--sign-in");
  await said.says("go on there if it does");
  const [, address = "", code = ""] = /open\n {2}(\S+)\nThe page shows (\S+) then/.exec(said.text()) ?? [];
  const browser = new TestBrowser();
  const begun = await browser.ask(address);
  const callback = await browser.signIn(begun.headers.get("location") ?? "", "alice", here.isBack);
  const page = await (await browser.ask(callback)).text();
  expect(page).toContain(`<strong>${code}</strong>`);
  const back = (/href="(http:[^"]+)"/.exec(page)?.[1] ?? "").replaceAll("&#38;", "&");
  expect((await fetch(back)).status).toBe(200);
  expect([await exited, await out.whole]).toEqual([
    0,
    expect.stringMatching(/session: oidc:alice@example\.org~[0-9a-f]{32}\/\w{8} \(read\)/),
  ]);
  expect(await rights(here)).toEqual([0, ""]);
});

testWith("openssl")(
  "svc login --device has the session that its person allows on another device",
  async () => {
    await using here = await setUp();
    const { said, out, exited } = here.logIn("--device");
    await said.says("the code is");
    const [, address = ""] = /Open (\S+) and sign in/.exec(said.text()) ?? [];
    await new TestBrowser().signIn(address, "bob", () => false);
    expect([await exited, await out.whole]).toEqual([
      0,
      expect.stringMatching(/session: oidc:bob@example\.org~[0-9a-f]{32}\/\w{8} \(read\)/),
    ]);
    expect(await rights(here)).toEqual([0, ""]);
  },
);
