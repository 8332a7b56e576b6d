/** What GTK 4 says otherwise, and programs that are drawn at twice their size: names, what shows, and where a click lands. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../../build/targets";
import { waitForUsable } from "../../../../src/host/desktop/elements/elements";
import { single } from "../../../../src/host/desktop/elements/gtk4";
import { parseLocator } from "../../../../src/host/desktop/elements/locator";
import { clickOn } from "../../../../src/host/desktop/elements/real";
import { scaleBetween } from "../../../../src/host/desktop/elements/toolkits";
import { temporaryFolder, testWith, until } from "../../../support";
import { forever } from "../support";
import { startSession } from "./support";

setDefaultTimeout(90_000);
const session = ["Xvfb", "openbox", "dbus-daemon"] as const;
const { signal } = new AbortController();
const patient = { timeout: 30, signal };
const LARGE = { screens: ["2560x1600x24"] };

type Session = Awaited<ReturnType<typeof startSession>>;
const use = ({ elements }: Session, line: string) => waitForUsable(elements, parseLocator(line), patient);
const click = async (at: Session, line: string) =>
  clickOn({ desktop: at.desktop, requester: forever, waiting: patient }, await use(at, line));
/** Starts a program at twice its size. */
const startTwice = (at: Session, ...command: string[]) =>
  at.start("env", "GDK_SCALE=2", "QT_SCALE_FACTOR=2", ...command);

describe("GTK 4:", () => {
  testWith(
    ...session,
    "/usr/bin/python3",
    "/usr/lib/x86_64-linux-gnu/libgtk-4.so.1",
  )("a field of GTK 4 is read and filled in, and one that shows dots is not read", async () => {
    await using at = await startSession();
    const { elements } = at;
    at.start("/usr/bin/python3", join(import.meta.dir, "programs/gtk4-fields.py"));
    const use = (nth: number) =>
      waitForUsable(elements, { role: "textbox", window: "Fields", nth }, { timeout: 20, signal });
    const fields = [await use(1), await use(2), await use(3), await use(4)];
    const texts = () =>
      elements.contents(
        fields.map(({ native_id }) => native_id),
        100,
      );
    expect(await texts()).toEqual([null, null, "ACME", "Grüße, 世界"]);
    for (const [nth, { native_id }] of fields.entries()) await elements.setText(native_id, `Text ${nth}`);
    expect(await texts()).toEqual([null, null, "Text 2", "Text 3"]);
    expect(JSON.stringify(await elements.tree({}, 100))).not.toContain("hunter");
  });

  testWith(...session, "gnome-calculator")(
    "what shows has one name and can be clicked, also in a menu",
    async () => {
      await using at = await startSession();
      const { elements, desktop } = at;
      at.start("gnome-calculator");
      for (const key of ["7", "×", "8"]) await click(at, `button ${JSON.stringify(key)}`);
      await click(at, 'button "="');
      const { lines } = await desktop.snapshots.answer(await desktop.snapshots.look({}), {
        ...{ share: null, scope: {}, most: 4_096 },
      });
      expect(lines[0]).toMatch(/^window "Calculator" app "gnome-calculator"/);
      for (const words of ['button "7"', 'button "π"', 'button "Undo"'])
        expect(lines.filter((line) => line.startsWith(` ${words}`))).toHaveLength(1);
      expect(lines.join("\n")).not.toMatch(/Gtk|Adw|Gizmo|"7 7"/);
      const results = await elements.find(parseLocator('textbox app "gnome-calculator"'), 10);
      const texts = await elements.contents(
        results.elements.map(({ native_id }) => native_id),
        100,
      );
      expect(texts).toContain("56");
      await elements.press((await use(at, 'button "Basic"')).native_id);
      await click(at, 'menuitemradio "Advanced"');
      expect((await use(at, 'button "Advanced"')).showing).toBe(true);
    },
  );

  testWith(...session, "gnome-text-editor")(
    "what is folded away is hidden, and is in no snapshot",
    async () => {
      await using at = await startSession();
      const { elements, desktop } = at;
      at.start("gnome-text-editor");
      await use(at, 'button "Open"');
      const { elements: retry } = await elements.find(parseLocator('button "Retry"'), 5);
      expect(retry.map(({ visible, showing }) => [visible, showing])).toEqual([[false, false]]);
      const { entries } = await desktop.snapshots.look({});
      expect(entries.map(({ words }) => words).join("\n")).not.toContain("Retry");
    },
  );
});

describe("at twice the size,", () => {
  testWith(...session, "zenity")("a button of GTK 3 is clicked where it is", async () => {
    await using at = await startSession(LARGE);
    const zenity = startTwice(at, "zenity", "--question", "--title=Order", "--text=Save?", "--ok-label=Save");
    const { bounds } = await use(at, 'button "Save"');
    expect(bounds?.[3]).toBeGreaterThan(50);
    await click(at, 'button "Save"');
    expect(await zenity.exited).toBe(0);
  });

  testWith(...session, "gnome-calculator")("a button of GTK 4 is clicked where it is", async () => {
    await using at = await startSession(LARGE);
    startTwice(at, "gnome-calculator");
    await click(at, 'button "7"');
    const { elements } = at;
    await until("the digit in the field", async () => {
      const fields = (await elements.find(parseLocator('textbox app "gnome-calculator"'), 10)).elements;
      return (
        await elements.contents(
          fields.map(({ native_id }) => native_id),
          10,
        )
      ).includes("7");
    });
  });

  testWith(...session, "chromium")("what is in a page of Chromium is clicked where it is", async () => {
    using folder = temporaryFolder();
    await using at = await startSession(LARGE);
    await at.elements.tree({}, 1);
    const page =
      "<title>Page</title><button style='margin:200px' onclick='document.title=`Pressed`'>Press</button>";
    at.start(
      ...["chromium", "--no-sandbox", "--disable-gpu", "--no-first-run", "--force-renderer-accessibility"],
      ...["--force-device-scale-factor=2", `--user-data-dir=${folder.path}`],
      `--app=data:text/html,${encodeURIComponent(page)}`,
    );
    await click(at, 'button "Press"');
    await use(at, 'window "Pressed"');
  });

  testWith(
    ...session,
    "java",
    "/usr/share/java/java-atk-wrapper.jar",
  )("a cell of Java is clicked where it is", async () => {
    using folder = temporaryFolder();
    await using at = await startSession(LARGE);
    const saved = join(folder.path, "order.txt");
    at.start(
      ...["java", "-Dsun.java2d.uiScale=2"],
      ...["-Djavax.accessibility.assistive_technologies=org.GNOME.Accessibility.AtkWrapper", "-cp"],
      ...[
        "/usr/share/java/java-atk-wrapper.jar",
        join(ROOT, "bench/desktop-tasks/sources/Orders.java"),
        saved,
      ],
    );
    await click(at, 'text "20" window "Orders"');
    await at.desktop.strike(["f2"], "tap", forever);
    await at.desktop.strike(["ctrl", "a"], "tap", forever);
    await at.desktop.type("31\n", forever);
    await at.elements.press((await use(at, 'button "Save" window "Orders"')).native_id);
    expect(await until("the saved rows", () => existsSync(saved) && readFileSync(saved, "utf8"))).toContain(
      "Beta=31",
    );
  });

  testWith(...session, "speedcrunch")("a menu of Qt 5 opens where it is clicked", async () => {
    await using at = await startSession(LARGE);
    await at.elements.tree({}, 1);
    startTwice(at, "speedcrunch");
    await click(at, 'menuitem "Session"');
    await until("the open menu", async () => {
      const { elements } = await at.elements.find(parseLocator('menuitem "Save..."'), 5);
      return elements.some(({ showing }) => showing);
    });
  });

  test("the scale is told by a window, and not by another", () => {
    const place = { x: 100, y: 50, width: 400, height: 300 };
    const drawn = (scale: number, more = {}) => ({
      ...{ x: 100 * scale, y: 50 * scale + 20, width: 400 * scale - 2, height: 300 * scale - 25, ...more },
    });
    expect([1, 1.25, 1.5, 2, 3].map((scale) => scaleBetween(place, drawn(scale)))).toEqual([
      1, 1.25, 1.5, 2, 3,
    ]);
    expect(scaleBetween(place, drawn(2, { x: 900 }))).toBeUndefined();
    expect(scaleBetween(place, drawn(2, { height: 1_200 }))).toBeUndefined();
  });
});

test("a name that GTK 4 says twice is said once", () => {
  const names = [
    "4 4",
    "_Retry Retry",
    "Discard… Discard…",
    "Save as Save as",
    "New tab (Ctrl+T)",
    "a ab",
    "×",
  ];
  expect(names.map(single)).toEqual(["4", "Retry", "Discard…", "Save as", "New tab (Ctrl+T)", "a ab", "×"]);
});
