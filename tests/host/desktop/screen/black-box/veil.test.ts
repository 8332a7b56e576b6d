/** Which windows the black box leaves out, and what it leaves black for them. */
import { describe, expect, test } from "bun:test";
import { createExclusion } from "../../../../../src/host/desktop/screen/black-box/exclusion";
import { createVeils } from "../../../../../src/host/desktop/screen/black-box/veil";
import { movableClock } from "../../../../support";
import { window, windowsOf } from "./support";

const PLACE = { x: 10, y: 10, width: 50, height: 40 };
const OTHER = { x: 80, y: 10, width: 50, height: 40 };

const veilsOf = (windows: ReturnType<typeof windowsOf>, exclude: readonly string[]) =>
  createVeils({
    ...{ watch: windows.watch, isExcluded: createExclusion(exclude), hasPatterns: exclude.length > 0 },
    areaOf: (place) => place,
  });

describe("a pattern", () => {
  const isOut = (pattern: string, title: string, program: string | null = null) =>
    createExclusion([pattern])({ title, program });

  test("is a whole title or program, with * and ?, in any case", () => {
    expect(isOut("*Bank*", "my bank - Browser")).toBe(true);
    expect(isOut("bank", "my bank")).toBe(false);
    expect(isOut("b?nk", "Bank")).toBe(true);
    expect(isOut("keepassxc", "Passwords", "KeePassXC")).toBe(true);
    expect(isOut("keepass", "Passwords", "KeePass.exe")).toBe(true);
    expect(isOut("*/secret/*", "edit /home/secret/a\nb")).toBe(true);
  });

  test("takes other signs as they are", () => {
    expect(isOut("a.b (1) [x] + $", "a.b (1) [x] + $")).toBe(true);
    expect(isOut("a.b", "axb")).toBe(false);
  });
});

test("the place of a window that is left out is black, and it is not named", async () => {
  const windows = windowsOf([window(1, "My bank", PLACE), window(2, "Notes", OTHER)]);
  const veil = await veilsOf(windows, ["*bank*"]).look();
  expect(veil).toMatchObject({ areas: [PLACE], dark: null, isNew: true });
  expect(veil.windows).toEqual([{ title: "Notes", program: "program", focused: false }]);
});

test("one that cannot be seen takes no place", async () => {
  const windows = windowsOf([window(1, "My bank", PLACE, { place: undefined })]);
  expect(await veilsOf(windows, ["*bank*"]).look()).toMatchObject({ areas: [], windows: [] });
});

test("its dialogs are left out too, and the menus and tips of its program", async () => {
  const nameless = { title: "", program: null };
  const windows = windowsOf([
    window(1, "My bank", PLACE, { owners: ["client 1"] }),
    window(2, "Print", OTHER, { dialogOf: 1, owners: ["client 1"] }),
    window(3, "", { x: 1, y: 1, width: 5, height: 5 }, { ...nameless, owners: ["client 1"] }),
    window(4, "", { x: 9, y: 9, width: 5, height: 5 }, { ...nameless, owners: ["client 9"] }),
    window(5, "Another of the program", { x: 0, y: 0, width: 1, height: 1 }, { owners: ["client 1"] }),
  ]);
  const veil = await veilsOf(windows, ["*bank*"]).look();
  expect(veil.areas).toEqual([PLACE, OTHER, { x: 1, y: 1, width: 5, height: 5 }]);
  expect(veil.windows.map(({ title }) => title)).toEqual(["Another of the program"]);
});

test("all of the screen is black where a window has no known place, and where none can be listed", async () => {
  const windows = windowsOf([window(1, "My bank", null)]);
  const veils = veilsOf(windows, ["*bank*"]);
  expect(await veils.look()).toMatchObject({ areas: "all", dark: expect.stringContaining("not known") });
  windows.set([window(2, "Notes", OTHER)]);
  windows.fault = "no window manager";
  const dark = "the windows cannot be listed: no window manager";
  expect(await veils.look()).toMatchObject({ areas: "all", dark, windows: [] });
  windows.fault = "";
  expect(await veils.look()).toMatchObject({ areas: [], dark: null });
});

test("all of the screen is black beside a window whose menus and dialogs are not known, and no window of its program is named", async () => {
  const windows = windowsOf(
    [
      window(1, "My bank", PLACE, { owners: ["process 1"] }),
      window(2, "Print", OTHER, { owners: ["process 1"] }),
      window(3, "Notes", OTHER, { owners: ["process 3"] }),
    ],
    false,
  );
  const veil = await veilsOf(windows, ["*bank*"]).look();
  expect(veil).toMatchObject({ areas: "all", dark: expect.stringContaining("menus and dialogs") });
  expect(veil.windows.map(({ title }) => title)).toEqual(["Notes"]);
  windows.set([window(3, "Notes", OTHER, { owners: ["process 3"] })]);
  expect(await veilsOf(windows, ["*bank*"]).look()).toMatchObject({ areas: [], dark: null });
});

test("a window that is left out and moves is said to have moved", async () => {
  const windows = windowsOf([window(1, "My bank", PLACE), window(2, "Notes", OTHER)]);
  const veils = veilsOf(windows, ["*bank*"]);
  expect(await veils.look()).toMatchObject({ hasMoved: false });
  windows.set([window(1, "My bank", PLACE), window(2, "Notes", PLACE)]);
  expect(await veils.look()).toMatchObject({ hasMoved: false });
  windows.set([window(1, "My bank", OTHER), window(2, "Notes", PLACE)]);
  expect(await veils.look()).toMatchObject({ hasMoved: true, isNew: false });
});

test("a place stays black for two seconds after its window has left it", async () => {
  using clock = movableClock();
  const windows = windowsOf([window(1, "My bank", PLACE)]);
  const veils = veilsOf(windows, ["*bank*"]);
  await veils.look();
  windows.set([window(1, "My bank", OTHER)]);
  expect(await veils.look()).toMatchObject({ areas: [OTHER, PLACE], isLingering: true, isNew: false });
  clock.advance(1_900);
  expect(await veils.look()).toMatchObject({ areas: [OTHER, PLACE], isLingering: true });
  clock.advance(200);
  expect(await veils.look()).toMatchObject({ areas: [OTHER], isLingering: false });
});

test("a window that gets such a title is said to be new", async () => {
  const windows = windowsOf([window(1, "Start page", PLACE)]);
  const veils = veilsOf(windows, ["*bank*"]);
  expect(await veils.look()).toMatchObject({ areas: [], isNew: false });
  windows.set([window(1, "My bank", PLACE)]);
  expect(await veils.look()).toMatchObject({ areas: [PLACE], isNew: true });
  expect(await veils.look()).toMatchObject({ areas: [PLACE], isNew: false });
});

test("where nothing is left out, titles are asked for at most every two seconds, and pictures need none", async () => {
  using clock = movableClock();
  const windows = windowsOf([window(1, "Notes", PLACE)]);
  const veils = veilsOf(windows, []);
  expect((await veils.look()).windows.map(({ title }) => title)).toEqual(["Notes"]);
  windows.set([window(1, "Mail", PLACE)]);
  expect((await veils.look()).windows.map(({ title }) => title)).toEqual(["Notes"]);
  clock.advance(2_001);
  expect((await veils.look()).windows.map(({ title }) => title)).toEqual(["Mail"]);
  clock.advance(2_001);
  windows.fault = "no window manager";
  expect(await veils.look()).toMatchObject({ areas: [], dark: null, windows: [] });
});
