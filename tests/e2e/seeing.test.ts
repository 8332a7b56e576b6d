/** Scripts that look at the screen, through the compiled binary: images beside the script, in the folder of images, in base64. */
import { expect, setDefaultTimeout } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import { openListener, PROGRAMS, startDisplay } from "../host/desktop/support";
import { installBinary, post, serveBinary, temporaryFolder, testWith, until } from "../support";

setDefaultTimeout(180_000);
const testOnDisplay = testWith(...PROGRAMS);

interface Result {
  readonly ok: boolean;
  readonly result?: Record<string, number | string>;
  readonly error?: string;
  readonly detail?: { readonly nearest?: Record<string, number> };
}

/** A display with a window of xev, `target`, and a server; what it is asked to do. */
async function setUp() {
  const display = await startDisplay();
  const listener = openListener(display.env, "target");
  const folder = temporaryFolder();
  const server = await serveBinary([], { env: display.env });
  const execute = async (...actions: readonly unknown[]): Promise<Result[]> => {
    const response = await server.call("/execute", post({ actions }));
    return ((await response.json()) as { outcomes: Result[] }).outcomes;
  };
  const shot = async (region: readonly number[]) => {
    const body = await (await server.call(`/screenshot?screen_region=${region}`)).json();
    return (body as { data: string }).data;
  };
  await execute(["AC_wait_window", ["target"]], ["AC_wait_still", { still: 0.3 }]);
  /** The title bar, which says `target`, and a piece of the window below it. */
  const corners = async () => {
    const [windows] = await execute(["AC_windows", { title_substring: "target" }]);
    const [{ x = 0, y = 0 } = {}] = (windows?.result ?? []) as unknown as Array<Record<"x" | "y", number>>;
    return [x, y, x + 90, y + 40] as const;
  };
  return {
    ...{ display, listener, folder, server, execute, shot, corners },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await listener[Symbol.asyncDispose]();
      await display[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

testOnDisplay("a script clicks in a window that has moved, by an image beside the script", async () => {
  await using host = await setUp();
  const { folder, execute, shot, corners, server } = host;
  const [x, y, right, bottom] = await corners();
  const base64 = await shot([x, y, right, bottom]);
  writeFileSync(join(folder.path, "title.png"), Buffer.from(base64, "base64"));
  await execute(
    ["AC_move_window", { title_substring: "target", x: 37, y: 211 }],
    ["AC_wait_still", { still: 0.3 }],
  );
  const path = join(folder.path, "click.json");
  writeFileSync(
    path,
    JSON.stringify([
      ["AC_locate_and_click", { image: "title.png", offset_y: 100, timeout: 5 }],
      ["AC_get_mouse_position"],
    ]),
  );
  const response = await server.call("/execute_file", post({ path }));
  const { outcomes } = (await response.json()) as { outcomes: Result[] };
  const [left, top] = await corners();
  expect([left, top]).not.toEqual([x, y]);
  const hit = { x: left, y: top, width: 90, height: 40, score: 1, center_x: left + 45, center_y: top + 20 };
  expect(outcomes.map(({ result }) => result as unknown)).toEqual([hit, [left + 45, top + 120]]);
  expect(await host.listener.strokes(2)).toEqual(["+button 1", "-button 1"]);

  // The same in base64, and from the folder of images, which svc makes for its owner alone.
  const [missing] = await execute(["AC_locate_image_center", { image: "title.png" }]);
  expect(missing?.error).toBe('image: there is no file "title.png"');
  const images = join(server.configDir, "images");
  expect(statSync(images).mode & 0o777).toBe(0o700);
  writeFileSync(join(images, "title.png"), Buffer.from(base64, "base64"));
  const found = await execute(
    ["AC_locate_image_center", { image: "title.png" }],
    ["AC_locate_image_center", { image: base64, region: [0, 0, 640, 800] }],
    ["AC_locate_all_image", { image: `data:image/png;base64,${base64}` }],
    ["AC_assert_image", { image: join(folder.path, "title.png"), scales: [0.5, 1] }],
  );
  expect(found.map(({ result }) => result as unknown)).toEqual([hit, hit, [hit], hit]);
  // A picture is never in the audit log: its digest is.
  const audit = JSON.stringify(await (await server.call("/audit/list?limit=200")).json());
  expect(audit).not.toContain(base64.slice(0, 40));
  expect(audit).toContain('desktop.locate_image_center image=\\"sha256:');
});

testOnDisplay(
  "what is not there fails with the best score and its place, and can be waited for",
  async () => {
    await using host = await setUp();
    const { execute, shot, corners } = host;
    const image = await shot(await corners());
    const [x, y] = await corners();
    const far = [0, 0, 300, 200];
    const results = await execute(
      ["AC_locate_image_center", { image, region: far }],
      ["AC_assert_image", { image, region: far, message: "no form" }],
      ["AC_wait_image", { image, region: far, timeout: 0.2, poll: 0.05 }],
      ["AC_wait_image_gone", { image, timeout: 0.2, poll: 0.05 }],
      ["AC_wait_image_gone", { image, region: far }],
      ["AC_if_image_found", { image, then: [["AC_screen_size"]], else: [["AC_sleep", [0]]] }],
      ["AC_if_image_found", { image, region: far, then: [["AC_screen_size"]], else: [["AC_sleep", [0]]] }],
      ["AC_locate_image_center", { image, region: [0, 0, 80, 800] }],
    );
    const score = /(?:the best score is 0\.\d+ at \d+, \d+, expected 0\.9|nothing comes near it)$/;
    expect(results[0]?.error).toMatch(/^the image is not on the screen: /);
    expect(results[0]?.error).toMatch(score);
    expect(results[0]?.detail?.nearest).toMatchObject({ width: 90, height: 40 });
    expect(results[1]?.error).toStartWith("no form: the image is not on the screen: ");
    expect(results[2]?.error).toMatch(/^the image did not appear within 0\.2 s: /);
    expect(results[3]?.error).toBe(`the image is still there after 0.2 s, at ${x}, ${y} with a score of 1`);
    expect(results.slice(4, 7).map(({ ok }) => ok)).toEqual([true, true, true]);
    const ran = results
      .slice(5, 7)
      .map(({ result }) =>
        (result as unknown as { outcomes: Array<{ command: string }> }).outcomes.map(
          ({ command }) => command,
        ),
      );
    expect(ran).toEqual([["AC_screen_size"], ["AC_sleep"]]);
    expect(results[7]?.error).toBe("image: its 90 x 40 pixels do not fit into the 80 x 800 of the region");

    // It appears while a run waits for it.
    await execute(["AC_minimize_window", { title_substring: "target" }], ["AC_wait_image_gone", { image }]);
    const waiting = execute(["AC_wait_image", { image, timeout: 60, poll: 0.05 }]);
    await until("the run to wait", async () => {
      const { runs } = (await (await host.server.call("/runs")).json()) as {
        runs: Array<{ status: string }>;
      };
      return runs.some(({ status }) => status === "running");
    });
    await execute(["AC_focus_window", { title_substring: "target" }]);
    expect((await waiting)[0]).toMatchObject({ ok: true, result: { width: 90, score: 1 } });
  },
);

testOnDisplay(
  "pixels have a color, the screen changes or is still, and an earlier screenshot shows where",
  async () => {
    await using host = await setUp();
    const { execute, shot, corners } = host;
    const [x, y] = await corners();
    const place = { x: x + 120, y: y + 150 };
    const before = await shot([0, 0, 1280, 800]);
    const [same, white] = await execute(["AC_screenshot_diff", { image: before }], ["AC_get_pixel", place]);
    expect(same?.result as unknown).toEqual({ changed_pixels: 0, changed_share: 0, changed_region: null });
    expect(white?.result).toEqual({ ...place, color: "#ffffff", red: 255, green: 255, blue: 255 });
    const late = await execute(
      ["AC_wait_pixel", { ...place, color: "#FFFFFF" }],
      ["AC_wait_pixel", { ...place, color: "#00ff00", timeout: 0.1 }],
      ["AC_wait_pixel", { x: 5_000, y: 5, color: "#00ff00" }],
      ["AC_wait_still", { still: 0.2, region: [0, 0, 100, 100] }],
      ["AC_wait_still", { still: 3, timeout: 0.3 }],
      ["AC_screenshot_diff", { image: before, region: [0, 0, 10, 10] }],
    );
    expect(late.map(({ ok, error }) => error ?? ok)).toEqual([
      true,
      `the pixel at ${place.x}, ${place.y} did not become #00ff00 within 0.1 s: it is #ffffff`,
      "x: expected 0 to 1279 but found 5000",
      true,
      "the screen was not still for 3 s within 0.3 s",
      "image: expected 10 x 10 pixels, as the screen there has, but found 1280 x 800",
    ]);
    const [, , difference] = await execute(
      ["AC_minimize_window", { title_substring: "target" }],
      ["AC_wait_pixel", { ...place, color: "#000000" }],
      ["AC_screenshot_diff", { image: before }],
    );
    const { changed_pixels = 0, changed_region } = difference?.result ?? {};
    expect(Number(changed_pixels)).toBeGreaterThan(30_000);
    const [left = 0, top = 0] = changed_region as unknown as number[];
    expect([left, top]).toEqual([x, y]);
  },
);

testOnDisplay(
  "svc locate prints where an image is, writes a picture of it, and exits with 1 where it is not",
  async () => {
    await using display = await startDisplay();
    await using _listener = openListener(display.env, "target");
    using machine = installBinary();
    const svc = (...words: readonly string[]) => machine.run(words, { env: display.env });
    await svc("desktop", "wait-window", "target");
    await svc("desktop", "wait-still", "--still", "0.3");
    await svc("screenshot", "--output", "part.png", "--region", "595,275,700,330");
    const found = await svc("locate", "part.png", "--output", "found.png");
    expect(found).toEqual({
      stdout: "X    Y    WIDTH  HEIGHT  SCORE   CENTER\n595  275  105    55      1.0000  647,302\n",
      stderr: "",
      exitCode: 0,
    });
    const marked = decode(readFileSync(join(machine.path, "found.png")));
    const pixel = (x: number, y: number) => [
      ...marked.data.slice((y * marked.width + x) * 3, (y * marked.width + x) * 3 + 3),
    ];
    expect([pixel(594, 274), pixel(700, 330)]).toEqual([
      [0xe0, 0x10, 0x30],
      [0xe0, 0x10, 0x30],
    ]);
    const none = await svc("locate", "part.png", "--region", "0,0,400,400");
    expect([none.stdout, none.exitCode]).toEqual(["not found\n", 1]);
    expect(none.stderr).toMatch(/(?:the best score is 0\.\d+ at \d+, \d+|nothing comes near it)\n$/);
    const json = await svc("locate", "part.png", "--json", "--all");
    expect(JSON.parse(json.stdout)).toMatchObject({
      found: true,
      matches: [{ x: 595, y: 275 }],
      nearest: null,
    });
    mkdirSync(join(machine.path, "config/images"), { recursive: true });
    expect(await svc("locate", "nope.png")).toMatchObject({ exitCode: 2 });
    await svc("screenshot", "--output", "plain.png", "--region", "0,0,50,50");
    expect((await svc("locate", "plain.png")).stderr).toContain(
      "image: expected a picture of something but found one plain colour",
    );
  },
);
