/**
 * The backend of macOS and Windows, as far as Linux can test it: its addons have the same functions here, and the rest of it
 * is the same. What is each system's own (`native/macos.ts`, `native/windows.ts`) does not run here.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { compile } from "../../../build/compile";
import { hostTarget, packagesFor } from "../../../build/targets";
import type { Backend } from "../../../src/host/desktop/backend";
import { compose, type Tile } from "../../../src/host/desktop/native/screen";
import { focusByTitle, waitForTitle } from "../../../src/host/desktop/windows";
import { temporaryFolder, testWith } from "../../support";
import { desktopOn, forever, openListener, PROGRAMS, SIZE, startDisplay } from "./support";

setDefaultTimeout(180_000);
const testOnDisplay = testWith(...PROGRAMS);

/** A program that prints what `use` returns on a native backend. */
function scriptFor(use: (backend: Backend) => Promise<unknown>): string {
  const module = join(import.meta.dir, "../../../src/host/desktop/native/backend.ts");
  return `
    import { createNativeBackend } from ${JSON.stringify(module)};
    import robot from ${JSON.stringify(Bun.resolveSync("robotjs", import.meta.dir))};
    // On Linux, robotjs prefers the display :0 to $DISPLAY.
    robot.setXDisplayName(process.env.DISPLAY);
    const platform = { wheelStep: 1, typeCharacter: (c) => robot.unicodeTap(c.charCodeAt(0)), async focus() {} };
    const use = ${use};
    const result = await use(await createNativeBackend(platform)).catch((error) => ({ thrown: error.message }));
    console.log(JSON.stringify(result ?? null));`;
}

/** Runs `use` on a native backend in a process that sees `env`; what it returned. */
async function onBackend(env: NodeJS.ProcessEnv, use: (backend: Backend) => Promise<unknown>) {
  const child = Bun.spawn([process.execPath, "-e", scriptFor(use)], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const result: unknown = JSON.parse(await child.stdout.text());
  return result;
}

const NOWHERE = {
  "linux-x64": null,
  "linux-arm64": null,
  "linux-x64-musl": null,
  "darwin-x64": null,
  "darwin-arm64": null,
  "windows-x64": null,
};

testOnDisplay("reports the size, and moves the pointer only to places on the desktop", async () => {
  await using display = await startDisplay({ managed: false });
  const found = await onBackend(display.env, async (backend) => [
    await backend.desktop(),
    await backend.monitors(),
    await backend.move({ x: 30, y: 40 }),
    await backend.move({ x: 50 }),
    await backend.move({ x: 1280 }).catch((error) => error.message),
  ]);
  const whole = { x1: 0, y1: 0, x2: SIZE.width, y2: SIZE.height };
  const refusal = "x: expected 0 to 1279 but found 1280";
  expect(found).toEqual([whole, [whole], { x: 30, y: 40 }, { x: 50, y: 40 }, refusal]);
});

testOnDisplay("buttons, wheel and keys strike the window under the pointer", async () => {
  await using display = await startDisplay();
  await using made = desktopOn(display.env);
  await using listener = openListener(display.env, "native");
  const query = { title_substring: "native", case_sensitive: true, timeout: 10, poll: 0.02 };
  await waitForTitle(made.desktop, query, forever);
  await focusByTitle(made.desktop, query, forever);
  await onBackend(display.env, async (backend) => {
    await backend.click({ x: 700, y: 420 }, "right", "tap");
    await backend.scroll({}, "down", 2);
    await backend.strike(["ctrl", "S"], "tap");
    await backend.strike(["alt"], "press");
    await backend.strike(["alt"], "release");
    await backend.type("a\n");
  });

  expect(await listener.strokes(18)).toEqual([
    ...["+button 3", "-button 3", "+button 5", "-button 5", "+button 5", "-button 5"],
    ...["+key Control_L", "+key Shift_L", "+key S", "-key S", "-key Control_L", "-key Shift_L"],
    ...["+key Alt_L", "-key Alt_L", "+key a", "-key a", "+key Return", "-key Return"],
  ]);
});

testOnDisplay("a key that the platform does not have is refused", async () => {
  await using display = await startDisplay({ managed: false });
  const found = await onBackend(display.env, async (backend) => backend.strike(["pause"], "tap"));
  expect(found).toEqual({ thrown: "this platform has no key pause" });
});

testOnDisplay("the addons are found in a binary, where there is no node_modules", async () => {
  using folder = temporaryFolder();
  const entry = join(folder.path, "entry.ts");
  await Bun.write(
    entry,
    scriptFor(async (backend) => [await backend.move({ x: 3, y: 4 }), await backend.monitors()]),
  );
  const onLinux = (name: string, file: string) => ({
    loader: `${name}/index.js`,
    files: { ...NOWHERE, [hostTarget()]: file },
  });
  const table = {
    robotjs: onLinux("robotjs", "robotjs/prebuilds/linux-x64/node.napi.glibc.node"),
    "node-screenshots": onLinux(
      "node-screenshots",
      "node-screenshots-linux-x64-gnu/node-screenshots.linux-x64-gnu.node",
    ),
  };
  await using packages = await packagesFor(hostTarget());
  const binary = await compile(packages, { folder: folder.path, name: "native", entry, table });
  await using display = await startDisplay({ managed: false });
  const child = Bun.spawn([binary], { cwd: "/", env: display.env, stdio: ["ignore", "pipe", "inherit"] });
  expect(JSON.parse(await child.stdout.text())).toEqual([
    { x: 3, y: 4 },
    [{ x1: 0, y1: 0, x2: SIZE.width, y2: SIZE.height }],
  ]);
});

/** A monitor of one colour. */
function tile(place: Tile["place"], scale: number, colour: number): Tile {
  const [width, height] = [(place.x2 - place.x1) * scale, (place.y2 - place.y1) * scale];
  return { width, height, redAt: 0, place, pixels: new Uint8Array(width * height * 4).fill(colour) };
}

describe("a picture of several monitors:", () => {
  const left = tile({ x1: -4, y1: 0, x2: 0, y2: 4 }, 1, 1);
  const main = tile({ x1: 0, y1: 0, x2: 4, y2: 2 }, 2, 2);
  const rows = (region: Tile["place"], tiles: readonly Tile[]) => {
    const { width, height, pixels } = compose(tiles, region);
    return Array.from({ length: height }, (_, y) =>
      Array.from({ length: width }, (_, x) => pixels[(y * width + x) * 4]).join(""),
    );
  };

  test("one monitor keeps its own pixels", () => {
    expect(rows({ x1: -2, y1: 1, x2: 0, y2: 3 }, [left])).toEqual(["11", "11"]);
    expect(rows({ x1: 1, y1: 0, x2: 3, y2: 1 }, [main])).toEqual(["2222", "2222"]);
  });

  test("monitors stand side by side in the pixels of the sharpest, and nothing is shown as black", () => {
    expect(rows({ x1: -1, y1: 1, x2: 1, y2: 3 }, [left, main])).toEqual(["1122", "1122", "1100", "1100"]);
  });

  test("each pixel comes from its own place", () => {
    const place = { x1: 10, y1: 20, x2: 13, y2: 22 };
    const pixels = Uint8Array.from({ length: 24 }, (_, at) => Math.floor(at / 4));
    const numbered: Tile = { width: 3, height: 2, redAt: 0, place, pixels };
    expect(rows({ x1: 11, y1: 20, x2: 13, y2: 22 }, [numbered])).toEqual(["12", "45"]);
  });
});
