/** Combo boxes by their labels, what opens and closes, and what is scrolled away, in real programs of five toolkits. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../../build/targets";
import { waitForUsable } from "../../../../src/host/desktop/elements/elements";
import { parseLocator, printLocator } from "../../../../src/host/desktop/elements/locator";
import { clickOn, select } from "../../../../src/host/desktop/elements/real";
import { locatedAt } from "../../../../src/host/desktop/elements/unique";
import { temporaryFolder, testWith, until } from "../../../support";
import { forever } from "../support";
import { startSession } from "./support";

setDefaultTimeout(120_000);
const session = ["Xvfb", "openbox", "dbus-daemon"] as const;
const BRIDGE = "/usr/share/java/java-atk-wrapper.jar";
const PYQT = "/usr/lib/python3/dist-packages/PyQt5";
/** More items than the window is high. */
const WAYS = Array.from({ length: 12 }, (_, nth) => `Way ${nth + 1}`).join("!");
const { signal } = new AbortController();
const patient = { timeout: 60, signal };

type Session = Awaited<ReturnType<typeof startSession>>;
const use = ({ elements }: Session, line: string) => waitForUsable(elements, parseLocator(line), patient);
const click = async (at: Session, line: string) =>
  clickOn({ desktop: at.desktop, requester: forever, waiting: patient }, await use(at, line));
const choose = async (at: Session, line: string, item: string) =>
  at.elements.select((await use(at, line)).native_id, item);
const expand = async (at: Session, line: string, open: boolean) =>
  at.elements.expand((await use(at, line)).native_id, open);

/** The Swing window of the desktop tasks. */
const startJava = (at: Session, file: string) =>
  at.start(
    ...["java", "-Djavax.accessibility.assistive_technologies=org.GNOME.Accessibility.AtkWrapper", "-cp"],
    ...[BRIDGE, join(ROOT, "bench/desktop-tasks/sources/Orders.java"), file],
  );

/** Qt registers only where somebody has asked before. */
async function startQt(at: Session) {
  await at.elements.tree({}, 1);
  return at.start("/usr/bin/python3", join(import.meta.dir, "programs/choices.py"));
}

const PAGE = `<title>Choices</title><label>Shipping <select><option>Post<option>Courier<option>Pickup</select></label>
<details><summary>More</summary><p>Hidden words</p></details><div style="height:3000px"></div>
<button onclick="document.title=document.querySelector('select').value">Save at the end</button>`;

function startChromium(at: Session, folder: string) {
  writeFileSync(join(folder, "page.html"), PAGE);
  const noSandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return at.start(
    ...["chromium", ...noSandbox, "--force-renderer-accessibility", `--user-data-dir=${folder}/profile`],
    ...["--no-first-run", "--disable-gpu", "--password-store=basic", "--disable-background-networking"],
    `--app=file://${folder}/page.html`,
  );
}

describe("a combo box", () => {
  testWith(...session, "yad")(
    "of GTK 3 is found by its label, also at a place, and opens and closes",
    async () => {
      await using at = await startSession();
      const fields = ["--field=Customer", "--field=Sent by:CB"];
      const yad = at.start(
        "yad",
        "--form",
        "--title=Order",
        ...fields,
        "--button=Save:0",
        "old",
        `Mail!Post!Fax!${WAYS}`,
      );
      const box = await use(at, 'combobox "Sent by"');
      const found = await locatedAt(at.elements, box.center?.[0] ?? 0, box.center?.[1] ?? 0);
      expect(found && [printLocator(found.locator), found.unique]).toEqual(['combobox "Sent by"', true]);
      const { entries } = await at.desktop.snapshots.look({});
      expect(entries.map(({ words }) => words)).toContain('combobox "Sent by" = "Mail"');
      expect((await use(at, 'combobox "Mail"')).native_id).toBe(box.native_id);
      await expand(at, 'combobox "Sent by"', true);
      // The list is longer than the window.
      const { center } = await until("the open list", async () => {
        const way = await use(at, 'menuitem "Way 8"');
        return way.showing && way;
      });
      const item = await locatedAt(at.elements, center?.[0] ?? 0, center?.[1] ?? 0);
      expect(item && printLocator(item.locator)).toBe('menuitem "Way 8"');
      await expand(at, 'combobox "Sent by"', false);
      await choose(at, 'combobox "Sent by"', "Fax");
      await at.elements.press((await use(at, 'button "Save"')).native_id);
      expect(await yad.stdout.text()).toBe("old|Fax|\n");
    },
  );

  testWith(
    ...session,
    "java",
    BRIDGE,
  )("of Java is found by the label beside it", async () => {
    await using at = await startSession();
    using folder = temporaryFolder();
    const file = join(folder.path, "order.txt");
    startJava(at, file);
    await expand(at, 'combobox "Shipping"', true);
    await expand(at, 'combobox "Shipping"', false);
    await choose(at, 'combobox "Shipping"', "Courier");
    await expect(choose(at, 'combobox "Shipping"', "Courer")).rejects.toThrow(
      'there is no item "Courer"; there is "Courier"',
    );
    await at.elements.press((await use(at, 'button "Save"')).native_id);
    await until(
      "the order",
      async () => (await Bun.file(file).exists()) && (await Bun.file(file).text()) !== "",
    );
    expect(await Bun.file(file).text()).toStartWith(",false,Courier\n");
  });

  testWith(...session, PYQT)(
    "of Qt 5 is found by its label; what is scrolled away comes to be clicked",
    async () => {
      await using at = await startSession();
      const qt = await startQt(at);
      // Of a secret it tells how long it is, and nothing else.
      await at.elements.setText((await use(at, 'textbox "PIN"')).native_id, "hunter4711");
      // By its program it marks an item, and does not choose it.
      await expect(choose(at, 'combobox "Shipping"', "Pickup")).rejects.toThrow("did not select it");
      const hands = { desktop: at.desktop, requester: forever, waiting: patient };
      await select(hands, await use(at, 'combobox "Shipping"'), "Pickup");
      await at.elements.scrollTo((await use(at, 'button "Save at the end"')).native_id);
      await click(at, 'button "Save at the end"');
      const lines: string[] = [];
      for await (const piece of qt.stdout) {
        lines.push(...new TextDecoder().decode(piece).trim().split("\n"));
        if (lines.includes("saved")) break;
      }
      expect(lines).toEqual(["pin hunter4711", "chosen Pickup", "saved"]);
    },
  );

  testWith(...session, "chromium")(
    "of a page is chosen from; its parts open, and scroll to the screen",
    async () => {
      await using at = await startSession();
      using folder = temporaryFolder();
      startChromium(at, folder.path);
      await choose(at, 'combobox "Shipping"', "Pickup");
      await expand(at, 'button "More"', true);
      expect((await use(at, 'text "Hidden words"')).visible).toBe(true);
      await expand(at, 'button "More"', false);
      await at.elements.scrollTo((await use(at, 'button "Save at the end"')).native_id);
      await click(at, 'button "Save at the end"');
      await use(at, 'window contains "Pickup"');
    },
  );
});

describe("what is scrolled away comes to the screen", () => {
  testWith(...session, "zenity")("in a list of GTK 3, and is clicked there", async () => {
    await using at = await startSession();
    const rows = Array.from({ length: 60 }, (_, nth) => `Fruit ${nth}`);
    const zenity = at.start("zenity", "--list", "--title=Fruit", "--height=250", "--column=Fruit", ...rows);
    const far = await use(at, 'cell "Fruit 55"');
    await at.elements.scrollTo(far.native_id);
    await click(at, 'cell "Fruit 55"');
    await at.elements.press((await use(at, 'button "OK"')).native_id);
    expect(await zenity.stdout.text()).toBe("Fruit 55\n");
  });
});
