/** What a program on the accessibility bus says that means harm: it costs its own elements alone. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as dbus from "@jellybrick/dbus-next";
import { socketIn } from "../../../../src/host/desktop/bus-address";
import type { Accessibles } from "../../../../src/host/desktop/elements/accessible";
import { accessibles } from "../../../../src/host/desktop/elements/accessible";
import { type Bus, isRef } from "../../../../src/host/desktop/elements/bus";
import { openBus } from "../../../../src/host/desktop/elements/open-bus";
import { outlineOf } from "../../../../src/host/desktop/elements/outline";
import type { Ref } from "../../../../src/host/desktop/elements/ref";
import { type Place, type Roots, type Search, search } from "../../../../src/host/desktop/elements/search";
import { readTree } from "../../../../src/host/desktop/elements/tree";
import { temporaryFolder, testWith, until } from "../../../support";
import { PROGRAMS, startSession } from "./support";

test.each([
  ["unix:path=/run/user/1000/at-spi/bus_0,guid=7f", "unix:path=/run/user/1000/at-spi/bus_0"],
  ["unix:abstract=/tmp/dbus-1,guid=7f", "unix:abstract=/tmp/dbus-1"],
  ["tcp:host=10.0.0.1,port=22;unix:guid=7f,path=/run/bus", "unix:path=/run/bus"],
  ["unixexec:path=/bin/sh,argv1=-c,arg1=id", undefined],
  ["UNIXEXEC:path=/bin/sh", undefined],
  ["unix:path=8080", undefined],
  ["unix:socket=8080,path=/run/bus", "unix:path=/run/bus"],
  [`unix:path=/${"x".repeat(2_000)}`, undefined],
  ["", undefined],
])("of the address %s a socket is used alone", (said, used) => {
  expect(socketIn(said)).toBe(used as string);
});

test.each([
  [":1.5", "/org/a11y/atspi/accessible/7", true],
  ["org.a11y.atspi.Registry", "/", true],
  [":1 5", "/a", false],
  [":1.5\n", "/a", false],
  ["", "/a", false],
  [`:1.${"5".repeat(300)}`, "/a", false],
  [":1.5", "/a/", false],
  [":1.5", "/a b", false],
  [":1.5", `/${"a".repeat(2_000)}`, false],
])("%j at %s is an element: %p", (bus, path, isOne) => {
  expect(isRef({ bus, path })).toBe(isOne);
});

test("children that cannot be asked are left out, and the others are listed", async () => {
  const bus = {
    get: async () => 3,
    call: async () => [
      [
        ["not a name", "/a"],
        [":1.5", "/b"],
        [":1.5", "no path"],
      ],
    ],
  } as Partial<Bus> as Bus;
  expect(await accessibles(bus).children({ bus: ":1.5", path: "/" })).toEqual([{ bus: ":1.5", path: "/b" }]);
});

const PANEL = 39;
const ref = (path: string): Ref => ({ bus: ":1.5", path });
const placeOf = (path: string): Place => ({
  ...{ ref: ref(path), program: { ref: ref("/"), name: "hostile", pid: 1 }, window: "Hostile" },
});

/** A program whose elements hold what `children` says, and how often it was asked. */
function programOf(children: (path: string) => string[]) {
  let asked = 0;
  const ask = {
    matches: async () => undefined,
    role: async () => PANEL,
    async children({ path }) {
      asked++;
      return children(path).map(ref);
    },
  } as Pick<Accessibles, "matches" | "role" | "children"> as Accessibles;
  return { below: search({} as Roots, ask).below, asked: () => asked };
}

test("an element that holds itself is looked at once", async () => {
  const { below, asked } = programOf(() => ["/w", "/a"]);
  expect((await below(ref("/w"), undefined, 20_000)).map(({ path }) => path)).toEqual(["/a"]);
  expect(asked()).toBe(2);
});

test("no more of a wide tree is listed than is looked at", async () => {
  // Three hundred children of each: 27 million on the third level.
  const { below, asked } = programOf((path) => Array.from({ length: 300 }, (_, nth) => `${path}x${nth}`));
  const found = await below(ref("/w"), undefined, 20_000);
  expect(asked()).toBeLessThanOrEqual(20_000);
  expect(found.length).toBeLessThanOrEqual(20_000);
});

/** What is read of a program that has `name` on every element, each of which holds `children`. */
async function readOf(name: string, children: (path: string) => string[]) {
  const ask = { children: async ({ path }) => children(path).map(ref) } as Pick<
    Accessibles,
    "children"
  > as Accessibles;
  const look = {
    places: async () => ({ places: [placeOf("/w")], deaf: [] }),
    look: async (at) => ({ ...at, role: PANEL, name, bounds: undefined, has: () => false }),
  } as Pick<Search, "places" | "look"> as Search;
  return readTree({ ask, look }, {}, 5_000, placeOf);
}

test("a tree without an end is read to some depth", async () => {
  const { windows, more } = await readOf("x", (path) => [`${path}x`]);
  let levels = 0;
  for (let at = windows[0]; at; at = at.children[0]) levels++;
  expect([levels, more]).toEqual([200, true]);
});

test("an answer has so much text of a program, and no more", async () => {
  const name = "x".repeat(2_000);
  const { windows, more } = await readOf(name, (path) =>
    path === "/w" ? Array.from({ length: 4_000 }, (_, nth) => `/w/${nth}`) : [],
  );
  const texts = windows[0]?.children.map(({ seen }) => seen.name).join("") ?? "";
  expect([texts.length <= 2_000_000, texts.length > 1_000_000, more]).toEqual([true, true, true]);
});

test("a deep tree is an outline in time that grows with it", () => {
  const element = { role: "panel", name: "x", native_role: "panel", enabled: true, visible: true };
  let branch: object = { element, children: [] };
  for (let level = 0; level < 200; level++) branch = { element, children: [branch] };
  expect(outlineOf({ windows: [branch], more: false, deaf: [] } as never)).toHaveLength(201);
});

testWith("dbus-daemon")("a program that says it is found by a command has none started", async () => {
  using folder = temporaryFolder();
  const made = join(folder.path, "made");
  const flags = ["--session", "--nofork", "--print-address"];
  const daemon = Bun.spawn(["dbus-daemon", ...flags], { stdio: ["ignore", "pipe", "ignore"] });
  const { value } = await daemon.stdout.getReader().read();
  const address = new TextDecoder().decode(value).trim();
  const program = dbus.sessionBus({ busAddress: address });
  const connected = Promise.withResolvers<void>();
  program.once("connect", () => connected.resolve());
  await connected.promise;
  const asked: string[] = [];
  program.addMethodHandler((message) => {
    asked.push(`${message.member}`);
    const isWhere = message.member === "GetApplicationBusAddress";
    const answer = isWhere ? `unixexec:path=/usr/bin/touch,arg1=${made}` : true;
    program.send(dbus.Message.newMethodReturn(message, isWhere ? "s" : "b", [answer]));
    return true;
  });
  const bus = await openBus({ ...process.env, AT_SPI_BUS_ADDRESS: address }, "looks");
  const button = { bus: `${program.name}`, path: "/button" };
  expect(await bus.change(button, "org.a11y.atspi.Action", "DoAction", "i", [0])).toEqual([true]);
  expect(asked).toEqual(["GetApplicationBusAddress", "DoAction"]);
  expect(existsSync(made)).toBe(false);
  bus.close();
  program.disconnect();
  daemon.kill();
  await daemon.exited;
});

const ROOT = "/org/a11y/atspi/accessible/root";
const WINDOW = 69;

/** A program on the accessibility bus of a session that answers each question after so many milliseconds, with two children of each. */
async function slowProgram(session: string, pauseMs: number) {
  const asking = dbus.sessionBus({ busAddress: session });
  const where = { destination: "org.a11y.Bus", path: "/org/a11y/bus", interface: "org.a11y.Bus" };
  const address = await asking.call(new dbus.Message({ ...where, member: "GetAddress" }));
  const program = dbus.sessionBus({ busAddress: socketIn(`${address?.body[0]}`) ?? "" });
  const connected = Promise.withResolvers<void>();
  program.once("connect", () => connected.resolve());
  await connected.promise;
  const answers: Readonly<Record<string, (message: dbus.Message) => [string, unknown]>> = {
    Get: ({ body }) => [
      "v",
      body[1] === "ChildCount" ? new dbus.Variant("i", 2) : new dbus.Variant("s", "x"),
    ],
    GetChildren: () => ["a(so)", ["/1", "/2"].map((path) => [`${program.name}`, path])],
    GetRole: () => ["u", WINDOW],
    GetState: () => ["au", [0, 0]],
  };
  program.addMethodHandler((message) => {
    const [signature, value] = answers[`${message.member}`]?.(message) ?? ["s", ""];
    const answer = dbus.Message.newMethodReturn(message, signature, [value]);
    setTimeout(() => program.send(answer), pauseMs);
    return true;
  });
  const socket = { interface: "org.a11y.atspi.Socket", member: "Embed", signature: "(so)" };
  const own = [program.name, ROOT];
  await program.call(
    new dbus.Message({ destination: "org.a11y.atspi.Registry", path: ROOT, ...socket, body: [own] }),
  );
  return {
    [Symbol.dispose]() {
      program.disconnect();
      asking.disconnect();
    },
  };
}

testWith(...PROGRAMS)(
  "a program that takes long for each answer keeps nobody from the buttons of others",
  async () => {
    await using at = await startSession();
    at.start("zenity", "--question", "--title=Order", "--text=x", "--ok-label=Save");
    const save = { role: "button", name: "Save" };
    await until("the window", async () => (await at.elements.find(save, 1)).elements[0]);
    // Less than after which a call is late.
    using _slow = await slowProgram(`${at.env.DBUS_SESSION_BUS_ADDRESS}`, 1_200);
    // Whatever is asked of it, the process that asks is not ended with what others ask.
    const [button] = (await at.elements.find(save, 1)).elements;
    const looked = at.elements.at(button?.center?.[0] ?? 0, button?.center?.[1] ?? 0).catch(() => []);
    for (let times = 0; times < 2; times++) {
      const { elements, deaf } = await at.elements.find(save, 5);
      expect([elements.map(({ name }) => name), deaf.length]).toEqual([["Save"], 1]);
    }
    await looked;
  },
  60_000,
);
