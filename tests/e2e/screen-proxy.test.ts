/** `svc screen proxy` of the compiled binary, with TigerVNC's viewer: whatever way leads to the host. */
import { expect, setDefaultTimeout } from "bun:test";
import { startTiger, TEXT, TIGER } from "../host/desktop/screen/tiger";
import { CONTINUOUS, FENCE, pixelsOf, TIGHT, view, withPointer } from "../host/desktop/screen/viewer";
import { openTerminal, PROGRAMS, startDisplay } from "../host/desktop/support";
import { post, testWith, until } from "../support";
import { pairOver, startProxy, WAYS } from "./screen-pair";

setDefaultTimeout(300_000);

const needed = { https: [], link: [], nats: ["nats-server"] } as const;

for (const way of WAYS)
  testWith(
    ...PROGRAMS,
    ...TIGER,
    ...needed[way],
  )(
    `over ${way}, a VNC viewer at the desk shows the screen of a host; what is typed into it arrives exactly`,
    async () => {
      await using display = await startDisplay();
      await using pair = await pairOver(way, display.env);
      await using terminal = openTerminal(display.env, "editor", "80x20+0+0");
      await using proxy = await startProxy(pair.desk, "lab one", "--control");
      await using tiger = await startTiger(proxy.port);
      await proxy.says("is connected");
      const state = async () =>
        (await (await pair.host.call("/screen/state")).json()) as { viewers: Array<{ control: boolean }> };
      await until("control", async () => (await state()).viewers[0]?.control);
      const window = await tiger.shows("TigerVNC|uses pointer");
      await tiger.click(window, 100, 100);
      await tiger.type(TEXT);
      await tiger.enter();
      expect(await terminal.typed(1)).toBe(`${TEXT}\n`);
      const { viewers } = await state();
      expect(viewers).toMatchObject([{ state: "open", carrier: way === "https" ? "proxy" : "channel" }]);
    },
  );

testWith(...PROGRAMS)(
  "a viewer at the desk of a linked host gets every pixel, and its end when a person at the host ends it",
  async () => {
    await using display = await startDisplay();
    await using pair = await pairOver("link", display.env);
    await using proxy = await startProxy(pair.desk, "lab one");
    const screen = async () => {
      const { data } = (await (await pair.host.call("/screenshot")).json()) as { data: string };
      return pixelsOf(data);
    };
    const viewers = async () => {
      const state = await (await pair.desk.call("/admin/hosts/lab%20one/screen/state")).json();
      return (state as { viewers: Array<{ id: string; route: string | null }> }).viewers;
    };

    using viewer = await view({ port: proxy.port });
    viewer.encodings(TIGHT, FENCE, CONTINUOUS);
    viewer.start();
    const pointed = async () => withPointer(await screen(), display.env);
    await viewer.shows(pointed);
    const before = await screen();
    await using _terminal = openTerminal(display.env, "editor", "80x20+0+0");
    await until("the terminal", async () => Buffer.compare(before, await screen()) !== 0);
    await viewer.shows(pointed);
    await until("the route", async () => (await viewers())[0]?.route?.startsWith("channel "));

    const [{ id } = { id: "" }] = await viewers();
    expect((await pair.host.call("/sessions/close", post({ id }))).status).toBe(200);
    await until("the end at the viewer", () => viewer.failure);
    expect(await viewers()).toEqual([]);
    await proxy.says("was ended");
  },
);
