/** A person before the live screen: noVNC in Chromium, and what draws on the display meanwhile. */
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import type { Entrance } from "./rivals";

const PROGRAMS = join(import.meta.dir, "..", "programs");
const PAGE =
  '<!doctype html><body style="margin:0"><div id="screen"></div><script type="module" src="/page.js"></script>';

export type Scene = "still" | "small" | "large" | "full" | "scroll";

/** What draws on the display (`programs/screen-stage.ts`). */
export interface Stage extends AsyncDisposable {
  /** @returns how many pictures or lines the scene before had. */
  show(scene: Scene): Promise<number>;
}

export async function startStage(display: string): Promise<Stage> {
  const child = Bun.spawn([process.execPath, join(PROGRAMS, "screen-stage.ts")], {
    env: { ...process.env, DISPLAY: display },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  await lines.read();
  return {
    async show(scene) {
      child.stdin.write(`${scene}\n`);
      void child.stdin.flush();
      const { drawn } = JSON.parse((await lines.read()).value ?? "{}") as { readonly drawn: number };
      return drawn;
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await child.exited;
    },
  };
}

/** One person. */
export interface Viewer extends AsyncDisposable {
  connect(entrance: Entrance): Promise<void>;
  disconnect(): Promise<void>;
  /** Different pictures a second that the canvas shows. */
  framesPerSecond(scene: Scene, ms: number): Promise<number>;
  /** Milliseconds from each of `count` keys to the canvas, the shortest first. */
  keys(count: number): Promise<number[]>;
  screenshot(path: string): Promise<unknown>;
}

/** What the page (`programs/screen-page.js`) has for the bench. */
interface Window {
  connect(url: string, protocols: readonly string[]): Promise<void>;
  disconnect(): void;
  frames(what: string, ms: number): Promise<{ readonly frames: number; readonly seconds: number }>;
  keys(count: number): Promise<number[]>;
  readonly isReady: boolean;
}

/** @param takesH264 whether its browser decodes H.264 (default: true). */
export async function startViewer(takesH264 = true): Promise<Viewer> {
  const built = await Bun.build({
    entrypoints: [join(PROGRAMS, "screen-page.js")],
    target: "browser",
    minify: true,
  });
  const script = (await built.outputs[0]?.text()) ?? "";
  const browser = await chromium.launch({
    executablePath: Bun.which("chromium") ?? "chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/": () => new Response(PAGE, { headers: { "content-type": "text/html" } }),
      "/page.js": () => new Response(script, { headers: { "content-type": "text/javascript" } }),
    },
  });
  const page = await openPage(browser, server.url.href, takesH264);
  return {
    connect: ({ url, protocols }) =>
      page.evaluate(([to, offered]) => (globalThis as unknown as Window).connect(to, offered), [
        url,
        protocols,
      ] as const),
    disconnect: () => page.evaluate(() => (globalThis as unknown as Window).disconnect()),
    async framesPerSecond(scene, ms) {
      const { frames, seconds } = await page.evaluate(
        ([what, time]) => (globalThis as unknown as Window).frames(what, time),
        [scene === "scroll" ? "text" : "video", ms] as const,
      );
      return frames / seconds;
    },
    async keys(count) {
      const times = await page.evaluate((many) => (globalThis as unknown as Window).keys(many), count);
      return times.toSorted((a, b) => a - b);
    },
    screenshot: (path) => page.screenshot({ path }),
    async [Symbol.asyncDispose]() {
      await browser.close();
      await server.stop(true);
    },
  };
}

async function openPage(browser: Browser, url: string, takesH264: boolean): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_920, height: 1_080 } });
  // noVNC asks for H.264 where the browser has a decoder.
  if (!takesH264) await page.addInitScript("delete globalThis.VideoDecoder");
  await page.goto(url);
  await page.waitForFunction(() => (globalThis as unknown as Window).isReady);
  return page;
}
