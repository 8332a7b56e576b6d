/** The page of the live screen in Chromium, in front of a stand-in of a host with a screen. */
import { afterAll, beforeAll, expect } from "bun:test";
import { browserTest, openPage, useBrowser } from "../browser";
import { serveSource, TOKEN, until } from "../support";
import { standIn, viewer } from "./rfb-stand-in";

const test = browserTest();
const browser = useBrowser();
let server: Awaited<ReturnType<typeof serveSource>>;
beforeAll(async () => {
  server = await serveSource(["--rate-limit", "0"]);
});
afterAll(() => server[Symbol.asyncDispose]());

const openLive = (host: { readonly url: string }, options: Parameters<typeof openPage>[2] = {}) =>
  openPage(browser, `${host.url}/dashboard#live`, { token: TOKEN, ...options });

/** noVNC says on the console why a connection ended. */
const besides = (complaints: readonly string[]) =>
  complaints.filter((text) => !/WebSocket|Failed when connect|Failed while connected/.test(text));

/** `+a`, `-a` for each character. */
const typed = (...keys: string[]) => keys.flatMap((key) => [`+${key}`, `-${key}`]);

test("a ticket opens the stream, and nothing is sent to the host before a person takes control", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host);
  const { page } = tab;
  const canvas = page.locator(".live-stage canvas");
  await page.getByText("view only").waitFor();
  expect(host.offered).toEqual(["svc.rfb, ticket.secret-1"]);
  await canvas.click();
  await page.keyboard.type("nothing");
  expect(await page.getByRole("button", { name: "Type text…" }).isDisabled()).toBe(true);
  expect(host.sent).toEqual([]);

  await page.getByRole("button", { name: "Take control" }).click();
  await page.getByText("you control").waitFor();
  expect(host.controls).toEqual([{ viewer: "v1", action: "take", run: "wait" }]);
  await page.keyboard.type("aB");
  // What an input method composes arrives as text.
  await page.keyboard.insertText("漢ü");
  await page.keyboard.press("Backspace");
  const keys = typed("a", "B", "0x1006f22", "0xfc", "0xff08");
  await until("the keys", () => host.sent.length >= keys.length);
  expect(host.sent).toEqual(keys);

  await page.keyboard.press("Shift+Escape");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Keyboard");
  await page.getByRole("button", { name: "Release control" }).click();
  await page.getByText("view only").waitFor();
  const before = host.sent.length;
  await canvas.click();
  expect(host.sent.slice(before).filter((one) => !one.startsWith("-"))).toEqual([]);
  expect(besides(tab.complaints)).toEqual([]);
});

test("a person points at something, gets what names it, and the host is sent nothing", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host);
  const { page } = tab;
  const canvas = page.locator(".live-stage canvas");
  await page.getByRole("button", { name: "Take control" }).click();
  await page.getByText("you control").waitFor();
  await page.getByRole("switch", { name: "Pick" }).click();
  const sent = host.sent.length;
  await canvas.click();
  await page.getByText(/^Nothing has a name at \d+, \d+\.$/).waitFor();
  host.element = { locator: 'button "OK"', unique: true, element: { bounds: [80, 50, 160, 100] } };
  await canvas.click();
  await page.getByText("names this alone").waitFor();
  expect(await page.locator(".live-picked code").textContent()).toBe('button "OK"');
  const [picture, mark] = [await canvas.boundingBox(), await page.locator(".live-stage .cut").boundingBox()];
  expect((mark?.width ?? 0) / (picture?.width ?? 1)).toBeCloseTo(0.5, 1);
  host.element = { ...host.element, unique: false };
  await canvas.click();
  await page.getByText("names others as well").waitFor();
  expect(host.sent.slice(sent).filter((one) => one !== "pointer 0")).toEqual([]);
  await page.getByRole("switch", { name: "Pick" }).click();
  expect(await page.locator(".live-picked").textContent()).toBe("");
  await canvas.click();
  await until("the click", () => host.sent.includes("pointer 1"));
});

test("a host that keeps what its screen shows says so; its time line shows pictures of then, and plays", async () => {
  await using host = standIn(server.url);
  host.black_box = "on";
  await using tab = await openLive(host);
  const { page } = tab;
  await page.getByText("What this screen shows is kept by the black box of its host.").waitFor();
  await page.getByRole("button", { name: "Look back" }).click();
  await page.getByRole("img", { name: /^The screen at / }).waitFor();
  expect(host.looked).toEqual(["2026-06-01T10:00:06.000Z"]);

  const line = page.getByRole("slider", { name: "Time" });
  await line.press("Home");
  await until("the first picture", () => host.looked.at(-1) === "2026-06-01T10:00:00.000Z");
  await page.getByRole("button", { name: "Play" }).click();
  await until("the last picture", () => host.looked.at(-1) === "2026-06-01T10:00:06.000Z");
  expect(host.looked.slice(-3)).toEqual([2, 4, 6].map((second) => `2026-06-01T10:00:0${second}.000Z`));

  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("paused").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("this screen is kept").waitFor();
  expect(besides(tab.complaints)).toEqual([]);
});

test("keys that a browser keeps, and a text that is typed for a person, go to the host", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host);
  const { page } = tab;
  await page.getByRole("button", { name: "Take control" }).click();
  await page.getByText("you control").waitFor();
  await page.getByRole("button", { name: "Keys", exact: true }).click();
  await page.getByRole("button", { name: "Ctrl+Alt+Del" }).click();
  const [ctrl, alt, del] = ["0xffe3", "0xffe9", "0xffff"];
  const chord = [`+${ctrl}`, `+${alt}`, `+${del}`, `-${del}`, `-${alt}`, `-${ctrl}`];
  await until("the chord", () => host.sent.length >= chord.length);
  expect(host.sent.splice(0)).toEqual(chord);
  const hold = page.getByRole("button", { name: "Alt", exact: true });
  await hold.click();
  expect(await hold.getAttribute("aria-pressed")).toBe("true");
  await page.getByRole("button", { name: "F4", exact: true }).click();
  await hold.click();
  await until("Alt+F4", () => host.sent.length >= 4);
  expect(host.sent.splice(0)).toEqual([`+${alt}`, ...typed("0xffc1"), `-${alt}`]);

  await page.getByRole("button", { name: "Type text…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Text").fill('H"@#\n東');
  await dialog.getByRole("button", { name: "Type" }).click();
  const keys = typed("H", '"', "@", "#", "0xff0d", "0x1006771");
  await until("the text", () => host.sent.length >= keys.length);
  expect(host.sent).toEqual(keys);
  expect(besides(tab.complaints)).toEqual([]);
});

test("a cut stream is opened again by itself with a new ticket, without control", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host);
  const { page } = tab;
  await page.getByRole("button", { name: "Take control" }).click();
  await page.getByText("you control").waitFor();
  host.greets = false;
  host.connections[0]?.cut();
  await page.getByText("The stream was cut.").waitFor();
  // The last picture stays meanwhile.
  await page.locator(".live-frozen canvas").waitFor();
  await until("another connection", () => host.connections.length > 1);
  host.connections[1]?.greet();
  await page.getByText("view only").waitFor();
  expect(host.offered.slice(0, 2)).toEqual(["svc.rfb, ticket.secret-1", "svc.rfb, ticket.secret-2"]);
  expect(await page.locator(".live-frozen").count()).toBe(0);
  expect(besides(tab.complaints)).toEqual([]);
});

test("what a host says against a view, and what the page does about it, are two sentences", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host, {
    async prepare(page) {
      const busy = { status: 503, json: { error: "no display is there yet" } };
      await page.route("**/screen/ticket", (route) => route.fulfill(busy));
    },
  });
  await tab.page.getByText("no display is there yet. Trying again…").waitFor();
});

test("a view that was ended says why, and begins again only when a person asks for it", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host);
  const { page } = tab;
  await page.getByText("view only").waitFor();
  host.connections[0]?.close(4_001, "ended by token ann");
  await page.getByText("ended by token ann").waitFor();
  expect(host.connections.length).toBe(1);
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByText("view only").waitFor();
  expect(host.connections.length).toBe(2);
  expect(besides(tab.complaints)).toEqual([]);
});

test("a viewer that waits for a person says how that one allows it", async () => {
  await using host = standIn(server.url);
  host.greets = false;
  await using tab = await openLive(host);
  const { page } = tab;
  await until("the viewer", () => host.viewers.length > 0);
  host.viewers = host.viewers.map((one) => ({ ...one, state: "waiting", approval_id: "9f1c2e4a" }));
  await page.getByText("svc approvals allow 9f1c2e4a").waitFor();
  await page.getByText("waiting for a person").waitFor();
  // Its place at the host is kept, whatever the network of the browser says meanwhile.
  await page.evaluate("dispatchEvent(new Event('online'))");
  await page.evaluate("fetch('screen/state')");
  host.viewers = host.viewers.map((one) => ({ ...one, state: "open", approval_id: null }));
  host.connections[0]?.greet();
  await page.getByText("view only").waitFor();
  expect(host.offered).toEqual(["svc.rfb, ticket.secret-1"]);
  expect(besides(tab.complaints)).toEqual([]);
});

test("who uses pointer and keyboard is shown, and is waited for or interrupted on purpose", async () => {
  await using host = standIn(server.url);
  const who = "run 9f1c2e4a (rest 10.0.0.7)";
  host.input = { kind: "run", id: "9f1c2e4a", who, since: null };
  const { promise: free, resolve: end } = Promise.withResolvers<void>();
  host.takes = () => free;
  await using tab = await openLive(host);
  const { page } = tab;
  await page.getByText(`${who} uses pointer and keyboard.`).waitFor();
  await page.getByRole("button", { name: "Take control" }).click();
  const dialog = page.getByRole("dialog", { name: "Pointer and keyboard are in use" });
  await dialog.getByLabel("Wait until they are free").waitFor();
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  expect(host.controls).toEqual([]);

  await page.getByRole("button", { name: "Take control" }).click();
  await dialog.getByLabel("Cancel the run").check();
  await dialog.getByRole("button", { name: "Take control" }).click();
  await until("the request", () => host.controls.length > 0);
  expect(host.controls).toEqual([{ viewer: "v1", action: "take", run: "cancel" }]);
  host.viewers = host.viewers.map((one) => ({ ...one, wants_control: true }));
  await page.getByText("This viewer waits for them.").waitFor();
  host.input = null;
  end();
  await page.getByText("you control").waitFor();
  expect(besides(tab.complaints)).toEqual([]);
});

test("Stop ends the lease of an agent; who takes control is told that it ends", async () => {
  await using host = standIn(server.url);
  const who = "lease 9f1c2e4a (claude-code)";
  await using tab = await openLive(host);
  const { page } = tab;
  await page.getByText("view only").waitFor();
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  expect(await stop.count()).toBe(0);
  host.input = { kind: "program", id: null, who, since: null };
  await page.getByText(`${who} uses pointer and keyboard.`).waitFor();
  await page.getByRole("button", { name: "Take control" }).click();
  const dialog = page.getByRole("dialog", { name: "An agent uses pointer and keyboard" });
  await dialog.getByText("Its lease ends at once when you take control.").waitFor();
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  await stop.click();
  await until("the end", () => host.stopped.length > 0);
  expect(host.stopped).toEqual(["9f1c2e4a"]);
  await stop.waitFor({ state: "detached" }).catch(() => stop.waitFor({ state: "hidden" }));
  expect(besides(tab.complaints)).toEqual([]);
});

test("text goes both ways over the clipboard, and the picture of now is downloaded", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host);
  const { page } = tab;
  await page.getByRole("button", { name: "Take control" }).click();
  await page.getByText("you control").waitFor();
  await page.getByRole("button", { name: "Clipboard" }).click();
  host.connections[0]?.copy("from the h\u00f6st");
  const text = page.getByLabel("Clipboard of the host");
  await until("the text of the host", async () => (await text.inputValue()) === "from the h\u00f6st");
  await text.fill("to the host");
  await page.getByRole("button", { name: "Send to the host" }).click();
  await until("the text", () => host.texts.length > 0);
  expect(host.texts).toEqual(["to the host"]);
  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "Picture" }).click();
  const bytes = await Bun.file((await (await downloaded).path()) ?? "").bytes();
  expect(Buffer.from(bytes.subarray(1, 4)).toString()).toBe("PNG");
  expect(besides(tab.complaints)).toEqual([]);
});

test("a person who may only look is offered no control", async () => {
  await using host = standIn(server.url);
  await using tab = await openLive(host, {
    async prepare(page) {
      await page.route("**/token", (route) =>
        route.fulfill({ json: { name: "guard", scopes: ["screen"], expires: null } }),
      );
    },
  });
  const { page } = tab;
  await page.getByText("view only").waitFor();
  for (const name of ["Take control", "Keys", "Type text…", "Clipboard"])
    expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
  expect(besides(tab.complaints)).toEqual([]);
});

test("the overview names who looks at the screen and who controls it, and ends a viewer", async () => {
  await using host = standIn(server.url);
  host.viewers.push(viewer("ann", { control: true, carrier: "proxy" }), viewer("eve"));
  await using tab = await openPage(browser, `${host.url}/dashboard#overview`, { token: TOKEN });
  const panel = tab.page.getByRole("table", { name: "Viewers of this screen" });
  await panel.getByRole("row", { name: /viewer ann VNC viewer .* controls/ }).waitFor();
  await panel.getByRole("row", { name: /viewer eve WebSocket .* looks/ }).waitFor();
  await panel.getByRole("button", { name: "End viewer ann" }).click();
  await until("the end", () => host.closed.length > 0);
  await panel.getByRole("row", { name: /viewer ann/ }).waitFor({ state: "detached" });
  expect(host.closed).toEqual(["ann"]);
  expect(tab.complaints).toEqual([]);
});
