/** Passkeys in Chromium, with the authenticator that its protocol has for tests. */
import { expect } from "bun:test";
import { askServer } from "../../src/host/approvals/elsewhere";
import { browserTest, openPage, useBrowser } from "../browser";
import { type ServerProcess, SOURCE, serveSource, TOKEN, until } from "../support";

const test = browserTest();
const browser = useBrowser();

/** Asks beside the server of `host`, until that ends. @returns the id, once the server has it. */
async function askIn(host: ServerProcess, what: string): Promise<string> {
  const caller = { grant: { name: "night-shift", scopes: ["admin" as const] }, client: null };
  const { signal } = new AbortController();
  askServer(host.configDir, { what, detail: "sees all", caller, signal }).catch(() => {});
  return until("the question", async () => {
    const { approvals } = (await (await host.call("/approvals")).json()) as {
      approvals: Array<{ id: string; what: string }>;
    };
    return approvals.find((one) => one.what === what)?.id;
  });
}

/** The page of approvals at a name, which is what browsers give passkeys to, with a security key that is touched at once. */
async function approvalsPage(host: ServerProcess, isVerified = true) {
  const url = host.url.replace("127.0.0.1", "localhost");
  const tab = await openPage(browser, `${url}/dashboard#approvals`, { token: TOKEN });
  const session = await tab.page.context().newCDPSession(tab.page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "usb", hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: isVerified, automaticPresenceSimulation: true },
    },
  });
  return Object.assign(tab, {
    setVerified: (on: boolean) =>
      session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: on }),
  });
}

async function register({ page }: Awaited<ReturnType<typeof approvalsPage>>, name: string) {
  await page.getByRole("button", { name: "Register…" }).click();
  const dialog = page.getByRole("dialog", { name: "Register a passkey" });
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByRole("button", { name: "Register" }).click();
  await page.getByRole("row", { name: new RegExp(name) }).waitFor();
}

test("a person registers a passkey and allows with it what waits; the command line shows who has signed it", async () => {
  await using host = await serveSource(["--passkey-for", "approvals"]);
  const id = await askIn(host, "look at the screen");
  await using tab = await approvalsPage(host);
  const { page } = tab;
  const allow = async () => {
    await page.getByRole("button", { name: `Allow… ${id}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Allow" }).click();
  };
  await allow();
  await page.getByText("register one first, on the page Approvals").waitFor();
  await register(tab, "yubikey");
  await allow();
  await page.getByRole("row", { name: /look at the screen.*allowed.*by the host’s own token/ }).waitFor();

  const svc = (...args: string[]) =>
    Bun.spawn([...SOURCE, ...args, "--json", "--config-dir", host.configDir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  const verified = svc("approvals", "verify", id);
  expect(await verified.stdout.json()).toMatchObject({
    ...{
      ok: true,
      what: "approvals.allow",
      holder: null,
      origin: host.url.replace("127.0.0.1", "localhost"),
    },
  });
  expect(await verified.exited).toBe(0);
  // The refusals that ask for a passkey are answers as well.
  expect(tab.complaints.filter((one) => !one.includes("403"))).toEqual([]);
});

test("an authenticator that does not verify its person allows nothing", async () => {
  await using host = await serveSource(["--passkey-for", "approvals"]);
  const id = await askIn(host, "look at the screen");
  await using tab = await approvalsPage(host);
  const { page } = tab;
  await register(tab, "phone");
  await tab.setVerified(false);
  await page.getByRole("button", { name: `Allow… ${id}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Allow" }).click();
  await page.getByText("Nothing was signed").waitFor();
  const { approvals } = (await (await host.call("/approvals")).json()) as {
    approvals: Array<{ state: string }>;
  };
  expect(approvals.map(({ state }) => state)).toEqual(["waiting"]);
});

test("who has a passkey touches it to remove it, and it is gone", async () => {
  await using host = await serveSource();
  await using tab = await approvalsPage(host);
  const { page } = tab;
  await register(tab, "yubikey");
  await page.getByRole("button", { name: "Remove… yubikey" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No passkeys").waitFor();
});

test("svc approvals allow leads to the page, and goes on once the person has allowed it there", async () => {
  await using host = await serveSource(["--passkey-for", "approvals"]);
  const id = await askIn(host, "look at the screen");
  const { DISPLAY: _, WAYLAND_DISPLAY: __, ...env } = process.env;
  const command = Bun.spawn([...SOURCE, "approvals", "allow", id, "--config-dir", host.configDir], {
    ...{ env, stdio: ["ignore", "pipe", "pipe"] },
  });
  const said = command.stderr.getReader();
  const first = new TextDecoder().decode((await said.read()).value);
  expect(first).toContain(`${host.url.replace("127.0.0.1", "localhost")}/dashboard#approvals`);
  await using tab = await approvalsPage(host);
  const { page } = tab;
  await register(tab, "yubikey");
  await page.getByRole("button", { name: `Allow… ${id}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Allow" }).click();
  expect(await command.stdout.text()).toBe(`${id} allowed: look at the screen\n`);
  expect(await command.exited).toBe(0);
});
