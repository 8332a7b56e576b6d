/** The live screen of the compiled binary, in the dashboard in Chromium: a real display, and programs that are typed into. */
import { expect } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Page } from "playwright-core";
import { connect as connectToX } from "../../src/host/desktop/x11/connection";
import { browserTest, openPage, useBrowser } from "../browser";
import { openCinema, picture, psnr, rgbOf } from "../host/desktop/screen/moving";
import { openTerminal, PROGRAMS, SIZE, startDisplay } from "../host/desktop/support";
import { serveBinary, TOKEN, until } from "../support";

const test = browserTest(...PROGRAMS);
const browser = useBrowser();

/** What only some keyboards have, and what none has. */
const TEXT = `Hello, noVNC (42)! a/b\\c "q" @#`;
const OTHERS = "äöüß€ 漢字 жя";

/** A display with a terminal, a server, and what opens its page. */
async function setUp() {
  const display = await startDisplay();
  const terminal = openTerminal(display.env, "target");
  const server = await serveBinary(["--rate-limit", "0"], { env: display.env });
  return {
    ...{ display, terminal, server },
    look: (url = server.url, options: Parameters<typeof openPage>[2] = {}) =>
      openPage(browser, `${url}/dashboard#live`, { token: TOKEN, ...options }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await terminal[Symbol.asyncDispose]();
      await display[Symbol.asyncDispose]();
    },
  };
}

/** A network between the browser and the server, which can be cut. */
async function networkTo(port: number) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const inner = connect(port, "127.0.0.1");
    for (const socket of [client, inner]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    client.pipe(inner).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
    },
  };
}

/** Whether a key is down on the display, as its own server has it. */
async function hasKeyDown(env: NodeJS.ProcessEnv): Promise<boolean> {
  const { need, close } = await connectToX(env, () => {});
  const keys = await need.QueryKeymap();
  close();
  return keys.some((byte) => byte !== 0);
}

async function takeControl(page: Page, how?: string): Promise<void> {
  await page.getByRole("button", { name: "Take control" }).click();
  if (how !== undefined) {
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(how).check();
    await dialog.getByRole("button", { name: "Take control" }).click();
  }
  await page.getByText("you control").waitFor();
}

/** Where the window of the terminal is, as the page shows it. */
async function terminalOn(page: Page): Promise<[number, number]> {
  const box = await page.locator(".live-stage canvas").boundingBox();
  if (!box) throw new Error("expected a picture");
  const scale = box.width / SIZE.width;
  return [box.x + 150 * scale, box.y + 120 * scale];
}

const clickTerminal = async (page: Page) => page.mouse.click(...(await terminalOn(page)));

/** noVNC says on the console why a connection ended. */
const besides = (complaints: readonly string[]) =>
  complaints.filter((text) => !/WebSocket|net::ERR|Failed when connect|Failed while conn/.test(text));

test("text that is typed arrives exactly, and nothing of who only looks", async () => {
  await using host = await setUp();
  await using tab = await host.look();
  const { page } = tab;
  await page.getByText("view only").waitFor();
  await clickTerminal(page);
  await page.keyboard.type("not this");
  await takeControl(page);
  await clickTerminal(page);
  await page.keyboard.type(TEXT);
  await page.keyboard.insertText(OTHERS);
  await page.keyboard.press("Enter");
  expect(await host.terminal.typed(1)).toBe(`${TEXT}${OTHERS}\n`);
  await page.getByRole("button", { name: "Type text…" }).click();
  await page.getByLabel("Text", { exact: true }).fill(`${OTHERS}${TEXT}\n`);
  await page.getByRole("dialog").getByRole("button", { name: "Type" }).click();
  expect(await host.terminal.typed(2)).toBe(`${TEXT}${OTHERS}\n${OTHERS}${TEXT}\n`);
  expect(besides(tab.complaints)).toEqual([]);
});

/** A part of the screen that is looked at. */
const PART = { x: 96, y: 96, width: 128, height: 96 };

/** Red, green and blue of that part, as the canvas shows it. */
async function shownOn(page: Page): Promise<Uint8Array> {
  const { x, y, width, height } = PART;
  const rgba = await page.evaluate<number[]>(
    `[...document.querySelector(".live-stage canvas").getContext("2d").getImageData(${x}, ${y}, ${width}, ${height}).data]`,
  );
  return Uint8Array.from(rgba.filter((_, at) => at % 4 !== 3));
}

/** That part of a picture of all of the screen. */
function partOf(pixels: Int32Array): Int32Array {
  const part = new Int32Array(PART.width * PART.height);
  for (let row = 0; row < PART.height; row++) {
    const from = (PART.y + row) * SIZE.width + PART.x;
    part.set(pixels.subarray(from, from + PART.width), row * PART.width);
  }
  return part;
}

/** The picture with that part in place of its own. */
function withPart(pixels: Int32Array, part: Int32Array): Int32Array {
  for (let row = 0; row < PART.height; row++) {
    const to = (PART.y + row) * SIZE.width + PART.x;
    pixels.set(part.subarray(row * PART.width, (row + 1) * PART.width), to);
  }
  return pixels;
}

test("a video is decoded as H.264, is nearly what is drawn, and exactly that when it rests", async () => {
  await using host = await setUp();
  // All pictures have this part alike: it looks the same at any time.
  const still = partOf(picture(SIZE, 0));
  const pictures = Array.from({ length: 8 }, (_, nth) => withPart(picture(SIZE, nth), still));
  using cinema = await openCinema(host.display.env, SIZE, pictures);
  await cinema.draw(0);
  await using tab = await host.look();
  const { page } = tab;
  await page.getByText("view only").waitFor();
  // As text: the DOM is not among the types of the tests.
  await page.evaluate(`{
    const { decode } = VideoDecoder.prototype;
    globalThis.decoded = 0;
    VideoDecoder.prototype.decode = function (chunk) {
      globalThis.decoded += 1;
      return decode.call(this, chunk);
    };
  }`);
  let last = 0;
  await until("thirty pictures of a video", async () => {
    for (let nth = 0; nth < 5; nth++) {
      await cinema.draw(++last);
      await Bun.sleep(30);
    }
    return (await page.evaluate<number>("decoded")) >= 30 || undefined;
  });
  const wanted = rgbOf(still);
  await cinema.draw(++last);
  const seen = psnr(await shownOn(page), wanted);
  expect(seen).toBeGreaterThan(28);
  expect(seen).toBeLessThan(Infinity);
  await until(
    "the same without loss",
    async () => psnr(await shownOn(page), wanted) === Infinity || undefined,
  );
  // That it is read back here is no fault of the page.
  expect(besides(tab.complaints).filter((text) => !text.includes("willReadFrequently"))).toEqual([]);
});

test("control goes from one viewer to another on purpose, and each sees the other", async () => {
  await using host = await setUp();
  await using first = await host.look();
  await takeControl(first.page);
  await using second = await host.look();
  await second.page.getByText("uses pointer and keyboard.").waitFor();
  const rows = first.page.getByRole("table", { name: "Viewers of this screen" }).getByRole("row");
  await rows.nth(2).waitFor();
  expect(await rows.count()).toBe(3);
  await takeControl(second.page, "Take it away from the viewer");
  await first.page.getByText("view only").waitFor();
  await clickTerminal(first.page);
  await first.page.keyboard.type("no longer");
  await clickTerminal(second.page);
  await second.page.keyboard.type("now");
  await second.page.keyboard.press("Enter");
  expect(await host.terminal.typed(1)).toBe("now\n");
  expect([...besides(first.complaints), ...besides(second.complaints)]).toEqual([]);
});

test("after a cut the picture is there again by itself", async () => {
  await using host = await setUp();
  await using between = await networkTo(Number(new URL(host.server.url).port));
  await using tab = await host.look(`http://127.0.0.1:${between.port}`);
  const { page } = tab;
  await page.getByText("view only").waitFor();
  const viewers = async () =>
    ((await (await host.server.call("/screen/state")).json()) as { viewers: { id: string }[] }).viewers;
  const [before] = await viewers();
  between.cut();
  await until("another viewer", async () => {
    const [now] = await viewers();
    return now !== undefined && now.id !== before?.id;
  });
  await page.getByText("view only").waitFor();
  expect(await page.locator(".live-frozen").count()).toBe(0);
  expect(besides(tab.complaints)).toEqual([]);
});

test("a viewer that is closed on the host says so, and does not come back by itself", async () => {
  await using host = await setUp();
  await using tab = await host.look();
  const { page } = tab;
  await page.getByText("view only").waitFor();
  const { sessions } = (await (await host.server.call("/sessions")).json()) as { sessions: { id: string }[] };
  const init = { method: "POST", headers: { "content-type": "application/json" } };
  const [session] = sessions;
  const closed = await host.server.call("/sessions/close", {
    ...init,
    body: JSON.stringify({ id: session?.id }),
  });
  expect(closed.status).toBe(200);
  await page.getByRole("button", { name: "Look again" }).waitFor();
  await page.locator(".live-notes .notice.error").waitFor();
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByText("view only").waitFor();
  expect(besides(tab.complaints)).toEqual([]);
});

test("a recording is made and downloaded from the page", async () => {
  await using host = await setUp();
  await using tab = await host.look();
  const { page } = tab;
  await page.getByText("view only").waitFor();
  await page.getByRole("button", { name: "Record", exact: true }).click();
  const stop = page.getByRole("button", { name: "Stop recording" });
  await stop.waitFor();
  const downloading = page.waitForEvent("download");
  await stop.click();
  const download = await downloading;
  expect(download.suggestedFilename()).toEndWith(".webm");
  await page.getByRole("button", { name: "Record", exact: true }).waitFor();
  expect(besides(tab.complaints)).toEqual([]);
});

test("a key that is held when the network is cut goes up on the host, and the page comes again by itself", async () => {
  await using host = await setUp();
  await using between = await networkTo(Number(new URL(host.server.url).port));
  await using tab = await host.look(`http://127.0.0.1:${between.port}`);
  const { page } = tab;
  await takeControl(page);
  await page.keyboard.down("Shift");
  await until("the key to be down", () => hasKeyDown(host.display.env));
  between.cut();
  await until("the key to be up", async () => !(await hasKeyDown(host.display.env)));
  await page.getByText("view only").waitFor();
});

test("when the server is killed, no key stays down, and the page comes again once there is another one", async () => {
  await using host = await setUp();
  await using tab = await host.look();
  const { page } = tab;
  await takeControl(page);
  await page.keyboard.down("Shift");
  await until("the key to be down", () => hasKeyDown(host.display.env));
  process.kill(host.server.pid, "SIGKILL");
  await page.getByText("The stream was cut.").waitFor();
  await until("the key to be up", async () => !(await hasKeyDown(host.display.env)));
  await page.keyboard.up("Shift");
  const { port } = new URL(host.server.url);
  await using _another = await serveBinary(["--rate-limit", "0", "--port", port], { env: host.display.env });
  await page.getByText("view only").waitFor();
  await takeControl(page);
  await clickTerminal(page);
  await page.keyboard.type("here again");
  await page.keyboard.press("Enter");
  expect(await host.terminal.typed(1)).toBe("here again\n");
});

test("a finger clicks, and what the keyboard of a phone composes arrives", async () => {
  await using host = await setUp();
  await using tab = await host.look(host.server.url, { hasTouch: true });
  const { page } = tab;
  await page.getByText("view only").waitFor();
  await page.getByRole("button", { name: "Take control" }).tap();
  await page.getByText("you control").waitFor();
  await page.touchscreen.tap(...(await terminalOn(page)));
  await page.getByRole("button", { name: "Keyboard", exact: true }).tap();
  const ime = await page.context().newCDPSession(page);
  for (const text of ["に", "にほ", "日本"])
    await ime.send("Input.imeSetComposition", {
      text,
      selectionStart: text.length,
      selectionEnd: text.length,
    });
  await ime.send("Input.insertText", { text: "日本" });
  await page.keyboard.insertText("é!");
  await page.keyboard.press("Enter");
  expect(await host.terminal.typed(1)).toBe("日本é!\n");
  expect(besides(tab.complaints)).toEqual([]);
});
