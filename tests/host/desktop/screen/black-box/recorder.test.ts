/** The recorder of the black box: what it keeps, what it never does, and what is left where its process is killed. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KIND, textEntriesIn, tileEntriesIn } from "../../../../../src/host/desktop/screen/black-box/entries";
import { findTexts, momentAt } from "../../../../../src/host/desktop/screen/black-box/reading";
import { readSealedFile } from "../../../../../src/host/desktop/screen/black-box/sealed-file";
import { filesOf, segmentsIn } from "../../../../../src/host/desktop/screen/black-box/segments";
import { temporaryFolder, until } from "../../../../support";
import {
  BLUE,
  colourAt,
  contentOf,
  GREEN,
  KEY,
  paintedScreen,
  RED,
  recorderOf,
  SIZE,
  soon,
  window,
  windowsOf,
} from "./support";

const CORNER = { x: 0, y: 0, width: 100, height: 100 };

const textsOf = (folder: string) =>
  segmentsIn(folder).flatMap(({ path }) =>
    Array.from(readSealedFile(filesOf(path).texts, KEY, "texts")).flatMap(textEntriesIn),
  );

const now = () => Date.now();

test("the picture of each moment is there again", async () => {
  using folder = temporaryFolder();
  const place = { folder: folder.path, key: KEY };
  const times: number[] = [];
  {
    await using made = recorderOf(folder.path);
    for (const colour of [RED, GREEN]) {
      made.painted.paint(colour);
      const picture = await soon(`the colour ${colour}`, () => {
        made.recorder.state();
        const found = momentAt(place, now());
        if (colourAt(found, 10, 10) !== colour) throw new Error("not yet");
        return found;
      });
      expect(picture).toMatchObject(SIZE);
      times.push(now());
    }
    made.painted.paint(BLUE, CORNER);
    await soon("the corner", () => {
      made.recorder.state();
      if (colourAt(momentAt(place, now()), 10, 10) !== BLUE) throw new Error("not yet");
    });
    const at = now();
    times.push(at);
    // It ends later than that.
    await until("the next millisecond", () => now() > at);
  }
  expect(times.map((at) => colourAt(momentAt(place, at), 10, 10))).toEqual([RED, GREEN, BLUE]);
  const last = momentAt(place, times.at(-1) ?? 0);
  expect([colourAt(last, 99, 99), colourAt(last, 100, 100)]).toEqual([BLUE, GREEN]);
});

test("what has changed is kept alone, not the whole screen", async () => {
  using folder = temporaryFolder();
  await using made = recorderOf(folder.path);
  await soon("the first picture", () => {
    made.recorder.state();
    return momentAt({ folder: folder.path, key: KEY }, now());
  });
  made.painted.paint(RED, { x: 64, y: 64, width: 20, height: 10 });
  const sizes = await until("the change", () => {
    made.recorder.state();
    const { path = "" } = segmentsIn(folder.path)[0] ?? {};
    const records = Array.from(readSealedFile(filesOf(path).tiles, KEY, "tiles"));
    const areas = records.flatMap((record) =>
      [...tileEntriesIn(record)].filter(({ kind }) => kind === KIND.areas),
    );
    return areas.length > 1 && areas.map(({ body }) => body.readUInt16LE(8) * body.readUInt16LE(10));
  });
  expect(sizes.at(-1)).toBeLessThanOrEqual(64 * 64);
});

test("what is there is on disk within five seconds, without an end", async () => {
  using folder = temporaryFolder();
  await using made = recorderOf(folder.path);
  made.painted.paint(GREEN);
  const began = performance.now();
  // As after `kill -9`: nothing more is written.
  await soon("the colour", () => {
    if (colourAt(momentAt({ folder: folder.path, key: KEY }, now()), 10, 10) !== GREEN)
      throw new Error("not yet");
  });
  expect(performance.now() - began).toBeLessThan(5_000);
});

test.concurrent("a window that is left out is in no picture and no text, before and after it moves", async () => {
  using folder = temporaryFolder();
  const windows = windowsOf([window(1, "My bank", CORNER, { focused: true }), window(2, "Notes", null)]);
  windows.set([window(1, "My bank", CORNER), window(2, "Notes", { x: 100, y: 0, width: 50, height: 50 })]);
  const painted = paintedScreen();
  painted.paint(GREEN);
  painted.paint(RED, CORNER);
  const moved = { ...CORNER, x: 100, y: 50 };
  {
    await using made = recorderOf(folder.path, { painted, windows, exclude: ["*bank*"] });
    await soon("a picture", () => {
      made.recorder.state();
      return momentAt({ folder: folder.path, key: KEY }, now());
    });
    windows.set([window(1, "My bank", moved)]);
    painted.paint(RED, moved);
    painted.paint(GREEN, CORNER);
    await soon("the place that it has left", () => {
      made.recorder.state();
      if (colourAt(momentAt({ folder: folder.path, key: KEY }, now()), 10, 10) !== GREEN)
        throw new Error("not yet");
    });
  }
  const pictures = [...contentOf(folder.path)];
  expect(pictures.length).toBeGreaterThan(1);
  for (const { pixels } of pictures) expect(new Int32Array(pixels.buffer).includes(RED)).toBe(false);
  expect(JSON.stringify(textsOf(folder.path))).not.toContain("bank");
  expect(JSON.stringify(textsOf(folder.path))).toContain("Notes");
}, 30_000);

test.concurrent("what a window showed just before it got a title that is left out is taken back", async () => {
  using folder = temporaryFolder();
  const painted = paintedScreen();
  painted.paint(GREEN);
  const windows = windowsOf([window(1, "Start page", CORNER)]);
  {
    await using _made = recorderOf(folder.path, { painted, windows, exclude: ["*bank*"] });
    await soon("a picture", () => momentAt({ folder: folder.path, key: KEY }, now()));
    painted.paint(RED, CORNER);
    // The picture is taken, and the title comes after it.
    await Bun.sleep(700);
    windows.set([window(1, "My bank", CORNER)]);
    painted.paint(RED + 1, CORNER);
    await Bun.sleep(700);
    painted.paint(BLUE, { x: 150, y: 100, width: 20, height: 20 });
    await soon("another change", () => {
      if (colourAt(momentAt({ folder: folder.path, key: KEY }, now()), 160, 110) !== BLUE)
        throw new Error("not yet");
    });
  }
  for (const { pixels } of contentOf(folder.path)) {
    const all = new Int32Array(pixels.buffer);
    expect([all.includes(RED), all.includes(RED + 1)]).toEqual([false, false]);
  }
}, 30_000);

test.concurrent("of a window that is left out nothing is kept while others lie over it and it moves below them", async () => {
  using folder = temporaryFolder();
  const place = { folder: folder.path, key: KEY };
  const painted = paintedScreen();
  painted.paint(GREEN);
  const above = { x: 60, y: 60, width: 60, height: 60 };
  const windows = windowsOf();
  const steps = [0, 20, 40, 60].map((x) => ({ x, y: x / 2, width: 100, height: 80 }));
  const dialog = { x: 120, y: 10, width: 40, height: 30 };
  {
    await using made = recorderOf(folder.path, { painted, windows, exclude: ["*bank*"] });
    for (const at of steps) {
      windows.set([
        window(1, "My bank", at, { owners: ["client 1"] }),
        window(2, "Notes", above),
        // Its own dialog has another title.
        window(3, "Question", dialog, { dialogOf: 1 }),
      ]);
      painted.paint(GREEN);
      painted.paint(RED, at);
      painted.paint(RED, dialog);
      painted.paint(BLUE, above);
      // Two looks a second.
      await Bun.sleep(600);
      made.recorder.state();
    }
    // What lies over it is seen again once it has gone.
    windows.set([window(2, "Notes", above)]);
    painted.paint(GREEN);
    painted.paint(BLUE, above);
    await soon("the window above", () => {
      made.recorder.state();
      if (colourAt(momentAt(place, now()), 70, 70) !== BLUE) throw new Error("not yet");
    });
  }
  const pictures = [...contentOf(folder.path)];
  expect(pictures.length).toBeGreaterThan(1);
  for (const { pixels } of pictures) expect(new Int32Array(pixels.buffer).includes(RED)).toBe(false);
  expect(JSON.stringify(textsOf(folder.path))).not.toMatch(/bank|Question/);
}, 30_000);

test("no pixel can be read in the files, and nothing is opened with another key", async () => {
  using folder = temporaryFolder();
  const place = { folder: folder.path, key: KEY };
  const painted = paintedScreen();
  // A pattern that no compression and no chance makes.
  for (let x = 0; x < SIZE.width; x++)
    painted.paint((x * 0x01_2345) & 0xff_ffff, { x, y: 0, width: 1, height: SIZE.height });
  {
    await using made = recorderOf(folder.path, { painted });
    await soon("a picture", () => {
      made.recorder.state();
      return momentAt(place, now());
    });
  }
  const parts = segmentsIn(folder.path).flatMap(({ path }) =>
    Array.from(readSealedFile(filesOf(path).tiles, KEY, "tiles")).flatMap((record) =>
      [...tileEntriesIn(record)].filter(({ kind }) => kind === KIND.areas).map(({ body }) => body),
    ),
  );
  expect(parts.length).toBeGreaterThan(0);
  const files = readdirSync(folder.path).map((name) => readFileSync(join(folder.path, name)));
  for (const body of parts) {
    const [compressed, pixels] = [
      body.subarray(-64),
      new Uint8Array(new Int32Array([0x01_2345, 0x02_468a]).buffer),
    ];
    for (const bytes of files) expect([bytes.indexOf(compressed), bytes.indexOf(pixels)]).toEqual([-1, -1]);
  }
  const wrong = { folder: folder.path, key: "cd".repeat(32) };
  expect(() => momentAt(wrong, now())).toThrow("another key");
  const query = { text: "a", from: 0, to: Number.MAX_SAFE_INTEGER, most: 10 };
  expect(findTexts(wrong, query)).toMatchObject({ found: [], unread: segmentsIn(folder.path).length });
});

test("nothing of titles and texts can be read in the files", async () => {
  using folder = temporaryFolder();
  const windows = windowsOf([window(1, "The title in plain words", CORNER, { focused: true })]);
  const texts = {
    problem: null,
    read: async () => [{ window: "The title in plain words", program: "p", texts: ["Error 0x80070005"] }],
    forget() {},
    close() {},
  };
  {
    await using made = recorderOf(folder.path, { windows, texts });
    made.painted.paint(RED);
    await until("the text", () => {
      made.recorder.state();
      const query = { text: "0x80070005", from: 0, to: Number.MAX_SAFE_INTEGER, most: 10 };
      return findTexts({ folder: folder.path, key: KEY }, query).found.length > 0;
    });
  }
  const names = readdirSync(folder.path);
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) {
    const bytes = readFileSync(join(folder.path, name)).toString("latin1");
    expect(`${name}\n${bytes}`).not.toMatch(/plain words|80070005|title/);
  }
});

test("after its end, nothing is shown of later", async () => {
  using folder = temporaryFolder();
  {
    await using made = recorderOf(folder.path);
    await soon("a picture", () => {
      made.recorder.state();
      return momentAt({ folder: folder.path, key: KEY }, now());
    });
  }
  const later = now() + 5_000;
  expect(() => momentAt({ folder: folder.path, key: KEY }, later)).toThrow("paused");
  expect(() => momentAt({ folder: folder.path, key: KEY }, 1_000)).toThrow("it begins at");
});

test("a screen of another size begins another picture", async () => {
  using folder = temporaryFolder();
  await using made = recorderOf(folder.path);
  made.painted.resize({ width: 90, height: 70 }, BLUE);
  const picture = await soon("the other screen", () => {
    made.recorder.state();
    const found = momentAt({ folder: folder.path, key: KEY }, now());
    if (found.width !== 90) throw new Error("not yet");
    return found;
  });
  expect(picture).toMatchObject({ width: 90, height: 70 });
  expect(colourAt(picture, 89, 69)).toBe(BLUE);
});

test("all segments together stay within the size", async () => {
  using folder = temporaryFolder();
  const painted = paintedScreen();
  const maxBytes = 200_000;
  await using made = recorderOf(folder.path, { painted, options: { maxBytes } });
  for (let nth = 0; nth < 8; nth++) {
    const noise = Math.floor(Math.random() * 0xff_ffff);
    for (let y = 0; y < SIZE.height; y++)
      for (let x = 0; x < SIZE.width; x += 8)
        painted.paint((noise * (x + 1) * (y + 1)) & 0xff_ffff, { x, y, width: 8, height: 1 });
    await Bun.sleep(520);
    made.recorder.state();
    const bytes = segmentsIn(folder.path).reduce((sum, one) => sum + one.bytes, 0);
    expect(bytes).toBeLessThanOrEqual(maxBytes);
  }
  expect(segmentsIn(folder.path).length).toBeGreaterThan(1);
}, 30_000);

test("a folder that cannot be written ends it", async () => {
  const made = recorderOf("/dev/null/black-box");
  made.painted.paint(RED);
  await expect(made.recorder.over).rejects.toThrow();
});
