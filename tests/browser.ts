/**
 * Chromium as a person would use it, and what it has to complain about while it is used.
 */
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** One a test file; close it afterwards. */
export function launchBrowser(executablePath = Bun.which("chromium") ?? "chromium"): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A tab with a session of its own. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  /** Errors on the console, uncaught errors, violations of the policy and requests that left `origin`. */
  readonly complaints: string[];
}

/**
 * @param origin of the server; a request to any other is a complaint.
 * @param token of a session that is signed in already.
 */
export async function openTab(
  browser: Browser,
  origin: string,
  { token, ...options }: BrowserContextOptions & { token?: string } = {},
): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: "reduce",
    ...options,
  });
  const complaints: string[] = [];
  await context.exposeBinding("complain", (_source, text: string) => complaints.push(text));
  // As text: the DOM is not among the types of the tests.
  await context.addInitScript(`addEventListener("securitypolicyviolation", (event) => {
    complain(["policy:", event.violatedDirective, event.blockedURI, event.sample].join(" "));
  })`);
  if (token) await context.addInitScript(`sessionStorage.setItem("svc-token", ${JSON.stringify(token)})`);
  const page = await context.newPage();
  // Shorter than a test may take: then the error says what was waited for.
  page.setDefaultTimeout(40_000);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.stack ?? error.message}`));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== "data:" && url.protocol !== "blob:") {
      complaints.push(`request: ${request.url()}`);
    }
  });
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Fills in the form of the page that `page` is on. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}
