/**
 * Chromium as a person would use it, and what it has to complain about while it is used.
 */
import { afterAll, beforeAll } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from "playwright-core";
import { deadline } from "../src/lib/deadline";
import { type ServerProcess, serveSource, testWith } from "./support";

/** What Chromium says of what it drops where an address of this machine comes or goes, as a network namespace may bring. */
const NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED";
/** What it says where that happens again while it repeats the request. */
const TOO_MANY_RETRIES = "net::ERR_TOO_MANY_RETRIES";
/** How often a page is opened, at most, where that happens. */
const MAX_LOADS = 5;

/** For a step on a page: then the error says what was waited for. */
const STEP_LIMIT_MS = 40_000;
/** For a test. */
const TEST_LIMIT_MS = 60_000;
/**
 * For the runner, which a test never meets: at its limit the runner ends every child process, the browser and the servers
 * of later tests among them.
 */
const RUNNER_LIMIT_MS = 90_000;

/** `testWith` for a test in Chromium. One that hangs fails alone. */
export function browserTest(...programs: string[]): (title: string, body: () => Promise<void>) => void {
  const test = testWith("chromium", ...programs);
  const late = () => {
    throw new Error(`took longer than ${TEST_LIMIT_MS / 1_000} s`);
  };
  return (title, body) => test(title, () => deadline(body(), { ms: TEST_LIMIT_MS, late }), RUNNER_LIMIT_MS);
}

/** What opens contexts: a browser, or one that comes back. */
export type Contexts = Pick<Browser, "newContext">;

/**
 * The browser of a test file, to call at its top level: started for the first context, again when it is gone, and closed
 * after the last test.
 */
export function useBrowser(launch: () => Promise<Browser> = launchBrowser): Contexts {
  let running: Promise<Browser> | undefined;
  const start = () => {
    running = launch();
    return running;
  };
  afterAll(async () => {
    await (await running)?.close();
  });
  return {
    async newContext(options) {
      const browser = (await running?.catch(() => undefined)) ?? (await start());
      try {
        return await browser.newContext(options);
      } catch (error) {
        if (browser.isConnected()) throw error;
        return await (await start()).newContext(options);
      }
    },
  };
}

/** A server that the tests of a file share. */
type SharedHost = Pick<ServerProcess, "url" | "token" | "configDir" | "call">;

/**
 * A server for the pages of a test file, to call at its top level: started before the first test, and ended after the last. It answers
 * requests at any rate.
 */
export function useHost(): SharedHost {
  let running: ServerProcess | undefined;
  const started = () => {
    if (!running) throw new Error("the server of this file is not started yet");
    return running;
  };
  beforeAll(async () => {
    running = await serveSource(["--rate-limit", "0"]);
  });
  afterAll(() => running?.[Symbol.asyncDispose]());
  return {
    get url() {
      return started().url;
    },
    get token() {
      return started().token;
    },
    get configDir() {
      return started().configDir;
    },
    call: (path, init) => started().call(path, init),
  };
}

/** Close it afterwards. */
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

/** The names of the pages of the dashboard. */
export const PAGES = Array.from(
  readFileSync(join(import.meta.dir, "../dashboard/pages.js"), "utf8").matchAll(/name: "(\w+)"/g),
  ([, name = ""]) => name,
);

/** Has `page` see that its tab is hidden, or visible again. */
export const hide = (page: Page, hidden: boolean) =>
  page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"))`);

/** What axe-core complains about on a page (https://github.com/dequelabs/axe-core). */
interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>;
}

/** @param isSerious whether only those that it calls serious or critical count. @returns a line for each. */
export async function violationsOn(page: Page, isSerious = false): Promise<string[]> {
  await page.evaluate(await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text());
  const { violations } = await page.evaluate<{ violations: AxeViolation[] }>("axe.run()");
  return violations
    .filter(({ impact }) => !isSerious || impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((one) => `${one.html} ${one.failureSummary}`).join("; ")}`);
}

/** The requests of a tab, but for its stream of events, which does not end. */
interface Requests {
  readonly underWay: Set<Request>;
  count: number;
}

const requestsOf = new WeakMap<Page, Requests>();

/** Resolves when no request is under way, and none has been made for `quietMs` milliseconds. */
export async function settled(page: Page, quietMs = 500): Promise<void> {
  const requests = requestsOf.get(page);
  let before = -1;
  while (requests && (requests.underWay.size > 0 || requests.count !== before)) {
    before = requests.count;
    await Bun.sleep(quietMs);
  }
}

/** A tab with a session of its own. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  /** Errors on the console, uncaught errors, violations of the policy and requests that left `origin`. */
  readonly complaints: string[];
}

interface SessionOptions extends BrowserContextOptions {
  /** Of a session that is signed in already. */
  readonly token?: string;
}

/** @param origin of the server; a request to any other is a complaint. */
export async function openTab(
  browser: Contexts,
  origin: string,
  { token, ...options }: SessionOptions = {},
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
  page.setDefaultTimeout(STEP_LIMIT_MS);
  page.on("console", (message) => {
    // No fault of the page.
    if ([NETWORK_CHANGED, TOO_MANY_RETRIES].some((one) => message.text().includes(one))) return;
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
  const requests: Requests = { underWay: new Set(), count: 0 };
  requestsOf.set(page, requests);
  page.on("request", (request) => {
    if (new URL(request.url()).pathname.endsWith("/events")) return;
    requests.underWay.add(request);
    requests.count += 1;
  });
  for (const event of ["requestfinished", "requestfailed"] as const) {
    page.on(event as "requestfinished", (request) => requests.underWay.delete(request));
  }
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

interface PageOptions extends SessionOptions {
  /** The token is typed into the form, as a person does. */
  readonly typed?: string;
  /** Is called before the page is loaded, to set routes and a clock. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/**
 * A tab that is signed in and shows the page at `address` of a dashboard or an API explorer. Where Chromium drops a part of it because the network
 * has changed, which leaves it blank, it is opened anew, in a tab of its own.
 */
export async function openPage(browser: Contexts, address: string, options: PageOptions): Promise<Tab> {
  for (let nth = 1; ; nth++) {
    const tab = await openTab(browser, new URL(address).origin, options);
    const dropped = dropOf(tab.page);
    try {
      await Promise.race([show(tab.page, address, options), dropped]);
      return tab;
    } catch (error) {
      const isDropped = String(error).includes(NETWORK_CHANGED);
      if (!isDropped || nth === MAX_LOADS) throw error;
      await tab[Symbol.asyncDispose]();
    }
  }
}

async function show(page: Page, address: string, { typed, prepare }: PageOptions): Promise<void> {
  await prepare?.(page);
  await page.goto(address);
  if (typed) await signIn(page, typed);
  await page.locator(".panel, .opblock").first().waitFor();
}

/** Rejects when Chromium drops a request of the page because the network has changed. */
function dropOf(page: Page): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  page.on("requestfailed", (request) => {
    if (request.failure()?.errorText === NETWORK_CHANGED) reject(new Error(NETWORK_CHANGED));
  });
  return promise;
}

/** Fills in the form of the page that `page` is on. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}
